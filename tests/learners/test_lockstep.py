"""Networks that are trained in lockstep end where each would end alone."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from gradapt.domains import Interpolated
from gradapt.learners.torch_lessons import Lesson
from gradapt.learners.torch_lockstep import Lockstep
from gradapt.learners.torch_samples import Stored
from gradapt.learners.torch_training import Adam, Recipe, Trainer
from gradapt.networks import mlp

RECIPE = Recipe(epochs=3, batch_size=32, optimiser=Adam(3e-3, 1e-3))


def network(seed, dtype=torch.float32, device="cpu"):
    torch.manual_seed(seed)
    return mlp(6, 3, hidden=(16, 16)).to(device, dtype)


def lesson(number, n, *, dtype=torch.float32, device="cpu", weighted=False, soft=False, epochs=3):
    """Samples, labels and weights that no other training has; every second one's are interpolated."""
    rng = np.random.default_rng(number)
    labels = rng.integers(0, 3, n)
    x = torch.from_numpy(rng.normal(size=(n, 6)) + labels[:, None] + number).to(device, dtype)
    samples = Stored(x)
    if number % 2:
        samples = Interpolated.of(x, x.flip(0), np.arange(n), rng.permutation(n), 0.3)
    targets = torch.from_numpy(rng.dirichlet(np.ones(3), n) if soft else labels).to(device)
    weights = torch.from_numpy(rng.uniform(0.0, 2.0, n)).to(device, dtype) if weighted else None
    rows = torch.from_numpy(rng.permutation(n)).to(device)
    return Lesson(samples, rows, targets.to(dtype) if soft else targets, weights, number, epochs)


def alone(module, own, recipe=RECIPE):
    trained = deepcopy(module)
    n_epochs = Trainer(trained, recipe).train(
        own.samples, own.rows, own.labels, own.weights, seed=own.seed, epochs=own.epochs
    )
    return trained, n_epochs


def together(modules, lessons, recipe=RECIPE, slots=8, capture=None):
    """All of them, as many at a time as there are slots."""
    lockstep = Lockstep(modules[0], recipe, slots, capture=capture)
    waiting, found = list(zip(modules, lessons, strict=True)), {}
    while waiting or lockstep.members:
        while waiting and lockstep.room:
            lockstep.begin(*waiting.pop(0))
        for own, trained in lockstep.advance():
            found[own.seed] = trained
    return [found[own.seed] for own in lessons]


def largest_difference(one, two):
    """Relative to the largest weight of each tensor."""
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return max(float((a - b).abs().max() / a.abs().max().clamp_min(1e-12)) for a, b in pairs)


# Full and ragged last batches, a single sample left over, fewer samples than a batch, more and fewer epochs.
SIZES = (96, 100, 65, 20, 129, 96, 70)
EPOCHS = (3, 3, 2, 5, 1, 4, 3)


@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize(("weighted", "soft"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("slots", [8, 3])
def test_together_is_alone(dtype, most, weighted, soft, slots):
    """With fewer slots than trainings, one that ends leaves its slot to another in the middle."""
    modules = [network(10 + number, dtype) for number in range(len(SIZES))]
    lessons = [
        lesson(number, n, dtype=dtype, weighted=weighted, soft=soft, epochs=epochs)
        for number, (n, epochs) in enumerate(zip(SIZES, EPOCHS, strict=True))
    ]
    before = [deepcopy(module) for module in modules]
    state = torch.get_rng_state()
    found = together(modules, lessons, slots=slots)
    assert torch.equal(state, torch.get_rng_state())
    for module, unchanged, own, trained in zip(modules, before, lessons, found, strict=True):
        assert largest_difference(module, unchanged) == 0
        expected, _ = alone(module, own)
        assert largest_difference(expected, trained) < most
        assert largest_difference(module, trained) > 1e-2

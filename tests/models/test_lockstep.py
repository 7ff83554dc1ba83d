"""Networks that are trained in lockstep end where each would end alone."""

from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from driftfit.domains import Interpolated
from driftfit.models.networks import conv_net, mlp
from driftfit.models.torch.adam import FusedAdam
from driftfit.models.torch.desks import Desk, Epoch
from driftfit.models.torch.lessons import Lesson
from driftfit.models.torch.lockstep import Lockstep, can_stack, fitting_slots
from driftfit.models.torch.pool import TrainerPool
from driftfit.models.torch.samples import Stored
from driftfit.models.torch.stacks import Stack
from driftfit.models.torch.training import Adam, EarlyStopping, Recipe, Trainer

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
@pytest.mark.parametrize(("slots", "held"), [(8, True), (3, True), (3, False)])
def test_together_is_alone(dtype, most, weighted, soft, slots, held, monkeypatch):
    """With fewer slots than trainings, one that ends leaves its slot to another in the middle."""
    if not held:
        monkeypatch.setattr("driftfit.models.torch.desks._HELD_BYTES", 0)
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


def test_together_is_alone_with_the_optimiser_of_a_gpu():
    recipe = replace(RECIPE, optimiser=partial(FusedAdam, lr=3e-3, weight_decay=1e-3))
    modules = [network(10 + number) for number in range(len(SIZES))]
    lessons = [lesson(number, n) for number, n in enumerate(SIZES)]
    assert can_stack(modules[0], recipe, (6,))
    for module, own, trained in zip(modules, lessons, together(modules, lessons, recipe, slots=3), strict=True):
        assert largest_difference(alone(module, own, recipe)[0], trained) < 1e-5
        assert largest_difference(alone(module, own)[0], trained) < 1e-5


def test_each_stops_early_by_itself():
    """A high learning rate overfits some of the trainings before others."""
    recipe = Recipe(epochs=30, batch_size=16, optimiser=Adam(3e-2, 0.0), early_stopping=EarlyStopping(2, 0.25))
    modules = [network(number, torch.float64) for number in range(4)]
    lessons = [lesson(number, 60 + 9 * number, dtype=torch.float64, epochs=30) for number in range(4)]
    n_epochs = set()
    for module, own, trained in zip(modules, lessons, together(modules, lessons, recipe, slots=3), strict=True):
        expected, count = alone(module, own, recipe)
        n_epochs.add(count)
        assert largest_difference(expected, trained) < 1e-9
    assert len(n_epochs) > 1
    assert max(n_epochs) < 30


def test_what_can_go_in_lockstep():
    plain = mlp(6, 3, hidden=(4,))
    assert can_stack(plain, RECIPE, (6,))
    assert can_stack(nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Sequential(nn.Flatten(), plain)), RECIPE, (6,))
    assert not can_stack(nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Linear(3, 3)), RECIPE, (6,))
    assert not can_stack(plain, RECIPE, (2, 6))
    assert not can_stack(conv_net(8, 3, n_conv=1, hidden=(4,)), RECIPE, (1, 8, 8))
    assert not can_stack(nn.Sequential(nn.Linear(6, 3), nn.Tanh()), RECIPE, (6,))
    assert not can_stack(nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3, affine=False)), RECIPE, (6,))
    for other in ({"rho": 0.1}, {"mixup": 0.5}, {"batch_size": None}, {"optimiser": torch.optim.SGD}):
        assert not can_stack(plain, replace(RECIPE, **other), (6,))
    plain.fc1[0].weight.requires_grad_(False)
    assert not can_stack(plain, RECIPE, (6,))


def test_slots_are_as_many_as_there_is_room_for():
    assert fitting_slots(nn.Linear(4, 2), RECIPE, 100) == 32
    assert fitting_slots(nn.Linear(2**16, 2**10), RECIPE, 100) < 10


def learn_in_turns(pool, recipe, numbers, n_trainings=3):
    """Functions that train one network after the other, each from the one before."""

    def chain(number):
        module = network(number)
        for step in range(n_trainings):
            module = pool.trained(module, recipe, lesson(number + 10 * step, 50 + number), 3)
        return module

    return [lambda number=number: chain(number) for number in numbers]


def in_company(pool, tasks, most=None):
    """What each function returned or raised."""
    return {number: result if error is None else error for number, result, error in pool.together(tasks, most)}


@pytest.mark.parametrize("most", [None, 2])
def test_functions_whose_trainings_meet_in_a_pool(most):
    pool = TrainerPool()
    expected = [task() for task in learn_in_turns(pool, RECIPE, range(4))]
    # A pool is used again and again; what was stacked before is at hand.
    for _ in range(2):
        found = in_company(pool, learn_in_turns(pool, RECIPE, range(4)), most)
        assert sorted(found) == [0, 1, 2, 3]
        assert all(0 < largest_difference(expected[number], found[number]) < 1e-4 for number in found)
    # And nobody is in company afterwards.
    assert largest_difference(expected[0], learn_in_turns(pool, RECIPE, [0])[0]()) == 0


def test_trainings_that_cannot_be_stacked_are_what_they_are_alone():
    pool, recipe = TrainerPool(), replace(RECIPE, rho=0.05)
    expected = [task() for task in learn_in_turns(pool, recipe, range(2))]
    for number, module in in_company(pool, learn_in_turns(pool, recipe, range(2))).items():
        assert largest_difference(expected[number], module) == 0


def test_those_that_train_alone_come_first_and_change_nothing_else():
    pool, sharp = TrainerPool(), replace(RECIPE, rho=0.05)
    expected = [task() for recipe in (sharp, RECIPE) for task in learn_in_turns(pool, recipe, range(2))]
    tasks = [task for recipe in (sharp, RECIPE) for task in learn_in_turns(pool, recipe, range(2))]
    found = list(pool.together(tasks))
    assert [number // 2 for number, *_ in found] == [0, 0, 1, 1]
    for number, module, error in found:
        assert error is None
        assert largest_difference(expected[number], module) < 1e-4


def test_a_function_that_fails_leaves_the_others_alone():
    pool = TrainerPool()

    def fails():
        pool.trained(network(0), RECIPE, lesson(0, 50), 3)
        raise ValueError("broken")

    found = in_company(pool, [*learn_in_turns(pool, RECIPE, [1]), fails])
    assert isinstance(found[1], ValueError)
    assert largest_difference(learn_in_turns(pool, RECIPE, [1])[0](), found[0]) < 1e-4


def test_a_training_that_fails_is_told_to_everybody_who_waits():
    pool = TrainerPool()
    broken = replace(lesson(5, 50), labels=torch.full((50,), 7))
    tasks = [*learn_in_turns(pool, RECIPE, [1]), lambda: pool.trained(network(0), RECIPE, broken, 3)]
    found = in_company(pool, tasks)
    assert all(isinstance(found[number], IndexError | RuntimeError) for number in (0, 1))
    # The next company begins afresh.
    found = in_company(pool, learn_in_turns(pool, RECIPE, [1]))
    assert largest_difference(learn_in_turns(pool, RECIPE, [1])[0](), found[0]) < 1e-4


def test_rows_behind_an_epoch_are_there_in_the_samples_of_whoever_has_the_slot():
    def epoch(n, batches):
        size = 4
        places = torch.arange(batches * size).reshape(batches, size) % n
        ones = torch.ones(batches, size)
        return Epoch(places, torch.zeros(batches, size, dtype=torch.int64), ones, ones, [], [size] * batches)

    desk = Desk(Stack(mlp(6, 3, hidden=(16,), dropout=0.0), 2), epoch(50, 10))
    desk.forms_at_once = True  # as on a GPU, where steps that are only captured look up to three batches ahead
    for n, batches in ((50, 10), (5, 1)):
        everything = torch.arange(n)
        desk.put_down(1, Interpolated(torch.ones(n, 6), torch.ones(n, 6), everything, everything, 0.5))
        desk.lay_out(1, epoch(n, batches))
    assert int(desk._pairs[:, 1].max()) < 5

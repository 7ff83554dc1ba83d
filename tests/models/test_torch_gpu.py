"""The GPU agrees with the CPU, and the captured step with the plain one. Run where there is a GPU."""

import gc
import weakref
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from driftfit.domains import Interpolated
from driftfit.models.networks import conv_net, mlp
from driftfit.models.torch.draws import Draws
from driftfit.models.torch.lessons import Lesson
from driftfit.models.torch.lockstep import Lockstep
from driftfit.models.torch.samples import Stored, logits
from driftfit.models.torch.stacks import Batches, Stack
from driftfit.models.torch.training import Adam, Recipe, Trainer
from driftfit.transport import Exact, transport

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

RECIPE = Recipe(3, 64, Adam(1e-3))
# Largest difference of logits after three epochs in float32; convolutions may use TF32 on the GPU.
TOLERANCE = 2e-2


def blobs(n=600):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    images = rng.normal(size=(n, 1, 8, 8)).astype(np.float32) + labels[:, None, None, None] * 0.5
    return torch.from_numpy(images.astype(np.float32)), torch.from_numpy(labels)


def trained(device, capture, dropout=0.0, times=2, **options):
    images, labels = blobs()
    torch.manual_seed(0)
    module = conv_net(8, 3, n_conv=2, hidden=(16,), dropout=dropout).to(device)
    trainer = Trainer(module, Recipe(epochs=3, batch_size=64, **options), capture=capture, n_classes=3)
    start = deepcopy(module.state_dict())
    for _ in range(times):
        # Each training starts again from the same weights, with a new optimiser.
        module.load_state_dict(start)
        trainer.train(Stored(images.to(device)), torch.arange(len(images), device=device), labels.to(device), seed=5)
    assert trainer.steps.capture == capture  # not given up on the way
    return logits(module, Stored(images.to(device))).cpu()


def test_gpu_agrees_with_cpu():
    assert torch.allclose(trained("cuda", True), trained("cpu", False), atol=TOLERANCE)


def test_captured_step_agrees_with_plain_step():
    assert torch.allclose(trained("cuda", True), trained("cuda", False), atol=1e-3)


@pytest.mark.parametrize("options", [{"rho": 0.05}, {"mixup": 0.5}, {"rho": 0.05, "mixup": 0.5}])
def test_captured_sharpness_and_mixtures_agree_with_plain_steps(options):
    captured = trained("cuda", True, **options)
    assert torch.allclose(captured, trained("cuda", False, **options), atol=1e-3)
    assert torch.allclose(captured, trained("cpu", False, **options), atol=TOLERANCE)
    assert not torch.allclose(captured, trained("cuda", True), atol=1e-3)


def test_neighbours_on_the_device():
    from driftfit.selection.neighbours import nearest_neighbours

    x = torch.randn(500, 30, generator=torch.Generator().manual_seed(0))
    here, there = (np.sort(nearest_neighbours(own, 10), axis=1) for own in (x.numpy(), x.cuda()))
    assert np.mean(here == there) > 0.999


def test_captured_dropout_draws_anew_and_reproducibly():
    first, second = trained("cuda", True, 0.5), trained("cuda", True, 0.5)
    assert torch.allclose(first, second, atol=1e-3)
    assert not torch.allclose(first, trained("cuda", True, 0.0), atol=1e-3)


def test_a_training_does_not_depend_on_what_was_captured_before():
    # The first training captures its steps, one for the short last batch, the second finds them.
    assert torch.allclose(trained("cuda", True, 0.5, times=1), trained("cuda", True, 0.5, times=2), atol=1e-3)


@pytest.mark.parametrize("sizes", [(300, 300), (300, 170)])
def test_gpu_plan_is_optimal(sizes):
    if sizes[0] != sizes[1]:
        pytest.importorskip("numba")
    rng = np.random.default_rng(1)
    x0, x1 = (rng.normal(size=(size, 5)).astype(np.float32) + shift for shift, size in enumerate(sizes))
    plan = transport(torch.from_numpy(x0).cuda(), torch.from_numpy(x1).cuda(), solver=Exact())
    assert np.allclose(plan.row_mass(), 1 / sizes[0])
    assert np.allclose(plan.column_mass(), 1 / sizes[1])
    assert abs(plan.certificate.gap) < 1e-9


def test_a_capture_outlives_the_graphs_of_earlier_trainers():
    """A trainer and its steps refer to each other: it is collected at some time, which must not be during a capture."""
    expected = trained("cuda", False, times=1)
    before, n_collected = gc.get_threshold(), gc.get_stats()[0]["collections"]
    gc.set_threshold(50)
    try:
        found = [trained("cuda", True, times=1) for _ in range(10)]
    finally:
        gc.set_threshold(*before)
    assert gc.get_stats()[0]["collections"] - n_collected > 10
    assert all(torch.allclose(own, expected, atol=1e-3) for own in found)


@pytest.fixture
def precision():
    """How exact products in float32 are; put back afterwards."""
    before = torch.get_float32_matmul_precision()
    yield torch.set_float32_matmul_precision
    torch.set_float32_matmul_precision(before)


def heads(n_features, dropout, device="cuda"):
    """Networks and lessons of different samples, weights, lengths and last batches."""
    lessons, modules = [], []
    for number, n in enumerate((300, 129, 256, 90, 300)):
        rng = np.random.default_rng(number)
        x = torch.from_numpy(rng.normal(size=(n, n_features)).astype(np.float32)).to(device)
        labels = torch.from_numpy(rng.integers(0, 3, n)).to(device)
        weights = torch.from_numpy(rng.uniform(0, 2, n).astype(np.float32)).to(device) if number % 2 else None
        rows = torch.arange(n, device=device)
        lessons.append(Lesson(Stored(x), rows, labels, weights, number, 2 + number % 3))
        torch.manual_seed(number)
        head = conv_net(8, 3, n_conv=1, width=n_features // 64 or 1, hidden=(32, 16), dropout=dropout)[1:]
        modules.append((mlp(20, 3, hidden=(32, 16), dropout=dropout) if n_features == 20 else head).to(device))
    return modules, lessons


def in_lockstep(modules, lessons, capture=True):
    """The trained networks, three at a time."""
    lockstep = Lockstep(modules[0], RECIPE, 3, capture=capture)
    waiting, found = list(zip(modules, lessons, strict=True)), {}
    while waiting or lockstep.members:
        while waiting and lockstep.room:
            lockstep.begin(*waiting.pop(0))
        found |= {own.seed: trained for own, trained in lockstep.advance()}
    assert lockstep.steps.capture == capture
    return [found[own.seed] for own in lessons]


def alone(module, own):
    expected = deepcopy(module)
    Trainer(expected, RECIPE).learn(own)
    return expected


@pytest.mark.parametrize(("n_features", "dropout"), [(20, 0.5), (2048, 0.5), (2048, 0.0)])
@pytest.mark.parametrize("capture", [True, False])
def test_lockstep_is_one_by_one(n_features, dropout, capture):
    """With 2,048 features the first product is cut in pieces."""
    modules, lessons = heads(n_features, dropout)
    assert (Stack(modules[0], 3).pieces > 1) == (n_features == 2048)
    for module, own, found in zip(modules, lessons, in_lockstep(modules, lessons, capture), strict=True):
        for name, value in alone(module, own).state_dict().items():
            difference = (value - found.state_dict()[name]).abs().max()
            assert float(difference / value.abs().max().clamp_min(1e-12)) < 1e-3, name


def test_rows_between_two_clouds_in_lockstep(precision):
    """Samples on a geodesic, more batches than those before had, and a slot that changes hands."""
    precision("highest")
    modules, lessons = heads(2048, 0.5)
    rng = np.random.default_rng(5)
    for number, own in enumerate(lessons):
        x, n = own.samples.values, len(own.samples)
        rows, cols = (rng.integers(0, n, n) for _ in range(2))
        between = Interpolated.of(x, x.flip(0) + 1.0, rows, cols, (0.0, 0.3, 0.8)[number % 3])
        lessons[number] = replace(own, samples=between)
    order = np.argsort([len(own.rows) for own in lessons])
    modules, lessons = [modules[i] for i in order], [lessons[i] for i in order]
    for module, own, found in zip(modules, lessons, in_lockstep(modules, lessons), strict=True):
        for name, value in alone(module, own).state_dict().items():
            difference = (value - found.state_dict()[name]).abs().max()
            assert float(difference / value.abs().max().clamp_min(1e-12)) < 1e-3, name


def test_a_slot_that_nobody_has_keeps_no_samples():
    modules, lessons = heads(20, 0.0)
    lockstep = Lockstep(modules[0], RECIPE, 3)
    for module, own in zip(modules[:3], lessons[:3], strict=True):
        lockstep.begin(module, own)
    kept = weakref.ref(lessons[2].samples.values)
    del own
    lessons.clear()
    lockstep.clear()
    gc.collect()
    assert kept() is None
    assert lockstep.room == 3


def test_captured_draws_are_those_that_are_drawn_one_by_one():
    def draw(sizes):
        return [torch.nn.functional.dropout(torch.ones(size, 8, device="cuda"), 0.5) for size in sizes]

    draws, sizes = Draws(draw, capture=True), (128, 128, 40)
    for seed in (1, 2, 3, 1):
        torch.manual_seed(seed)
        expected = [draw(sizes), draw(sizes)]
        state = torch.cuda.get_rng_state()
        torch.manual_seed(seed)
        for own in expected:
            found = draws(sizes)
            assert all(torch.equal(one, other) for one, other in zip(found, own, strict=True))
        assert torch.equal(torch.cuda.get_rng_state(), state)


@pytest.fixture
def tf32():
    """Products in TF32 for a while."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


def off(found, expected):
    """Root mean square difference, relative to the spread of what is expected."""
    found, expected = found.detach(), expected.detach()
    return float((found - expected).square().mean().sqrt() / expected.std())


@pytest.mark.usefixtures("tf32")
@pytest.mark.parametrize("dropout", [0.5, 0.0])
def test_lockstep_in_tf32_is_as_near_as_tf32_lets_it(dropout):
    """Products of other shapes round otherwise, and Adam makes whole steps of small gradients: weights part by some
    percent, scores by some percent of their spread. Another order of batches moves them several times as far.
    """
    modules, lessons = heads(2048, dropout)
    assert Stack(modules[0], 3).pieces == 1
    for module, own, found in zip(modules, lessons, in_lockstep(modules, lessons), strict=True):
        expected = logits(alone(module, own), own.samples)
        other = logits(alone(module, replace(own, seed=own.seed + 77)), own.samples)
        assert off(logits(found, own.samples), expected) < off(other, expected) / 2


def stack_and_single(device):
    """How far scores and gradients of stacked networks are from those of each."""
    modules, lessons = heads(2048, 0.0, device)
    modules, n = modules[:3], 64
    stack = Stack(modules[0], len(modules))
    for slot, module in enumerate(modules):
        stack.load(slot, module.train())
    samples = torch.stack([own.samples.values[:n] for own in lessons[:3]])
    labels = torch.stack([own.labels[:n] for own in lessons[:3]])
    ones = torch.ones(3, n, device=device)
    noises = tuple(own.expand(3, -1, -1) for own in stack.noises([n], n))
    x = samples.view(3, n, stack.pieces, -1).transpose(1, 2)
    scores = stack(Batches(x, labels, ones, ones, noises))
    loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten(), reduction="sum")
    gradients = torch.autograd.grad(loss, stack.leaves(3))
    for slot, module in enumerate(modules):
        own = module(samples[slot])
        yield "scores", off(scores[slot], own)
        torch.nn.functional.cross_entropy(own, labels[slot], reduction="sum").backward()
        for (name, _), gradient in zip(stack.trained(), gradients, strict=True):
            expected = module.get_parameter(name).grad
            if gradient.ndim == 4:
                gradient = gradient.transpose(1, 2)
            yield name, off(gradient[slot].reshape(expected.shape), expected)


@pytest.mark.usefixtures("tf32")
def test_scores_and_gradients_of_a_stack_in_tf32():
    """Rounding to TF32 or cutting off to it makes 3 percent of a bias's gradient; those of another network are
    more than their own size away.
    """
    for name, difference in stack_and_single("cuda"):
        assert difference < 0.1, name


def test_stacked_adam_is_adam():
    """Slots at different steps; those that are not moved stay as they are."""
    from driftfit.models.torch.stacked_adam import adam_step

    torch.manual_seed(0)
    slots, moved, shape = 5, 4, (3, 700)
    values = torch.randn(slots, *shape, device="cuda")
    state = {"exp_avg": torch.zeros_like(values), "exp_avg_sq": torch.zeros_like(values)}
    state["step"] = torch.zeros(slots, device="cuda")
    singles = [torch.nn.Parameter(own.double()) for own in values]
    adams = [torch.optim.Adam([own], lr=1e-2, weight_decay=1e-1) for own in singles]
    for number in range(12):
        # The third slot begins anew in the middle.
        if number == 5:
            adams[2] = torch.optim.Adam([singles[2]], lr=1e-2, weight_decay=1e-1)
            for own in state.values():
                own[2] = 0.0
        gradients = torch.randn(moved, *shape, device="cuda")
        adam_step(values, gradients, state, 1e-2, 1e-1)
        for own, adam, gradient in zip(singles, adams, gradients, strict=False):
            own.grad = gradient.double()
            adam.step()
    assert torch.allclose(values.double(), torch.stack([own.detach() for own in singles]), atol=1e-5)
    assert state["step"].tolist() == [12.0, 12.0, 7.0, 12.0, 0.0]
    assert not state["exp_avg"][moved:].any()


def test_stacked_norm_is_batch_normalisation():
    """Slots with all samples and with some; running statistics of slots that are not computed stay as they are."""
    from driftfit.models.torch.stacked_norm import stacked_norm

    torch.manual_seed(0)
    slots, length, neurons = 3, 130, 21
    x, weigh = (torch.randn(slots, length, neurons, device="cuda", requires_grad=True) for _ in range(2))
    scale, shift = (torch.randn(slots, neurons, device="cuda", requires_grad=True) for _ in range(2))
    running = torch.randn(slots + 1, neurons, device="cuda"), torch.rand(slots + 1, neurons, device="cuda") + 0.5
    before = [own.clone() for own in running]
    there = torch.ones(slots, length, device="cuda")
    there[1, 90:] = 0.0
    weigh = weigh.detach() * there[:, :, None]
    out = stacked_norm(x, there, scale, shift, running, 0.1, 1e-5)
    found = torch.autograd.grad((out * weigh).sum(), [x, scale, shift])
    for slot in range(slots):
        n = int(there[slot].sum())
        single = torch.nn.BatchNorm1d(neurons).cuda().double()
        values = (scale[slot], shift[slot], before[0][slot], before[1][slot], torch.tensor(0))
        single.load_state_dict(dict(zip(single.state_dict(), values, strict=True)))
        own = x[slot, :n].detach().double().requires_grad_()
        expected = single(own)
        gradients = torch.autograd.grad((expected * weigh[slot, :n]).sum(), [own, single.weight, single.bias])
        mine = found[0][slot, :n], found[1][slot], found[2][slot]
        pairs = [(out[slot, :n], expected), *zip(mine, gradients, strict=True)]
        pairs += [(running[0][slot], single.running_mean), (running[1][slot], single.running_var)]
        for one, other in pairs:
            assert torch.allclose(one.double(), other.double(), rtol=1e-4, atol=1e-4)
    assert torch.equal(running[0][slots:], before[0][slots:])

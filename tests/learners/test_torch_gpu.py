"""The GPU agrees with the CPU, and the captured step with the plain one. Run where there is a GPU."""

import gc
from copy import deepcopy

import numpy as np
import pytest
import torch

from gradapt.learners.torch_lessons import Lesson
from gradapt.learners.torch_lockstep import Lockstep
from gradapt.learners.torch_samples import Stored, logits
from gradapt.learners.torch_training import Adam, Recipe, Trainer
from gradapt.networks import conv_net, mlp
from gradapt.transport import Exact, transport

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

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
    from gradapt.choice.neighbours import nearest_neighbours

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


@pytest.mark.parametrize(("n_features", "dropout"), [(20, 0.5), (2048, 0.5), (2048, 0.0)])
@pytest.mark.parametrize(
    ("capture", "exactness", "most"), [(True, "highest", 1e-3), (False, "highest", 1e-3), (True, "high", 3e-2)]
)
def test_lockstep_is_one_by_one(n_features, dropout, capture, exactness, most, precision):
    """Different samples, weights, lengths and last batches; 2,048 features are cut in pieces, but for TF32."""
    precision(exactness)
    lessons, modules = [], []
    for number, n in enumerate((300, 129, 256, 90, 300)):
        rng = np.random.default_rng(number)
        x = torch.from_numpy(rng.normal(size=(n, n_features)).astype(np.float32)).cuda()
        labels = torch.from_numpy(rng.integers(0, 3, n)).cuda()
        weights = torch.from_numpy(rng.uniform(0, 2, n).astype(np.float32)).cuda() if number % 2 else None
        lessons.append(Lesson(Stored(x), torch.arange(n).cuda(), labels, weights, number, 2 + number % 3))
        torch.manual_seed(number)
        head = conv_net(8, 3, n_conv=1, width=n_features // 64 or 1, hidden=(32, 16), dropout=dropout)[1:]
        modules.append((mlp(20, 3, hidden=(32, 16), dropout=dropout) if n_features == 20 else head).cuda())
    recipe = Recipe(3, 64, Adam(1e-3))
    lockstep = Lockstep(modules[0], recipe, 3, capture=capture)
    assert (lockstep.stack.pieces > 1) == (n_features == 2048 and exactness == "highest")
    waiting, found = list(zip(modules, lessons, strict=True)), {}
    while waiting or lockstep.members:
        while waiting and lockstep.room:
            lockstep.begin(*waiting.pop(0))
        found |= {own.seed: trained for own, trained in lockstep.advance()}
    assert lockstep.steps.capture == capture
    for module, own in zip(modules, lessons, strict=True):
        expected = deepcopy(module)
        trainer = Trainer(expected, recipe)
        trainer.learn(own)
        assert trainer.steps.capture
        for name, value in expected.state_dict().items():
            difference = (value - found[own.seed].state_dict()[name]).abs().max()
            assert float(difference / value.abs().max().clamp_min(1e-12)) < most, name

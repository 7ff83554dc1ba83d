"""The GPU agrees with the CPU, and the captured step with the plain one. Run where there is a GPU."""

import gc
from copy import deepcopy

import numpy as np
import pytest
import torch

from driftfit.models.networks import conv_net
from driftfit.models.torch.samples import Stored, logits
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


def trained(device, capture, dropout=0.0, times=2, half=False, **options):
    images, labels = blobs()
    torch.manual_seed(0)
    module = conv_net(8, 3, n_conv=2, hidden=(16,), dropout=dropout, half=half).to(device)
    trainer = Trainer(module, Recipe(epochs=3, batch_size=64, **options), capture=capture, n_classes=3)
    start = deepcopy(module.state_dict())
    for _ in range(times):
        # Each training starts again from the same weights, with a new optimiser.
        module.load_state_dict(start)
        trainer.train(Stored(images.to(device)), torch.arange(len(images), device=device), labels.to(device), seed=5)
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


def test_a_training_does_not_depend_on_one_before():
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
    """What is collected at some time must not be collected during a capture."""
    expected = trained("cuda", False, times=1)
    before, n_collected = gc.get_threshold(), gc.get_stats()[0]["collections"]
    gc.set_threshold(50)
    try:
        found = [trained("cuda", True, times=1) for _ in range(10)]
    finally:
        gc.set_threshold(*before)
    assert gc.get_stats()[0]["collections"] - n_collected > 10
    assert all(torch.allclose(own, expected, atol=1e-3) for own in found)


def test_bfloat16_is_near_float32_and_not_the_same():
    half, plain = (trained("cuda", True, half=asked) for asked in (True, False))
    assert half.dtype == plain.dtype == torch.float32
    assert 0 < (half - plain).abs().max() < 0.5
    assert torch.allclose(half, trained("cuda", False, half=True), atol=0.05)


def test_a_step_that_looks_at_values_is_taken_as_it_is():
    class Looks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(64, 3)

        def forward(self, x):
            return self.linear(x.flatten(1)) * (1.0 if float(x.sum()) > 0 else 2.0)

    images, labels = (own.cuda() for own in blobs())
    found = []
    for capture in (True, False):
        torch.manual_seed(0)
        module = Looks().cuda()
        Trainer(module, RECIPE, capture=capture).train(Stored(images), torch.arange(len(images)).cuda(), labels)
        found.append(logits(module, Stored(images)))
    assert torch.allclose(*found, atol=1e-3)

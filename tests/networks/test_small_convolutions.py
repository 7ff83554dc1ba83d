"""Convolutions by kernels of our own are convolutions. Run where there is a GPU."""

import pytest
import torch
from torch.nn.functional import conv2d

from gradapt.networks.biased import BiasedConv2d

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize(
    ("channels", "n_out", "n", "height", "width"),
    [(1, 32, 128, 28, 28), (32, 32, 128, 28, 28), (32, 32, 7, 32, 32), (16, 64, 3, 5, 9), (64, 16, 2, 4, 3)],
)
def test_maps_and_gradients(channels, n_out, n, height, width):
    """As near to those in float64 as TF32 lets them; another layer's are their own size away."""
    torch.manual_seed(0)
    layer = BiasedConv2d(channels, n_out, 3, padding=1).cuda()
    x = torch.randn(n, channels, height, width, device="cuda", requires_grad=channels > 1)
    assert layer.is_small(x)
    weigh = torch.randn(n, n_out, height, width, device="cuda")
    leaves = [layer.weight, layer.bias, *([x] if x.requires_grad else [])]
    maps = layer(x)
    found = [maps, *torch.autograd.grad(maps, leaves, weigh)]
    exact = conv2d(x.double(), layer.weight.double(), layer.bias.double(), padding=1)
    expected = [exact, *torch.autograd.grad(exact, leaves, weigh.double())]
    for one, other in zip(found, expected, strict=True):
        assert float((one.double() - other).norm() / other.norm()) < 2e-3
    with torch.no_grad():
        assert torch.equal(layer.eval()(x), maps)


def test_gradients_are_the_same_each_time():
    layer, x = BiasedConv2d(32, 32, 3, padding=1).cuda(), torch.randn(64, 32, 28, 28, device="cuda")
    first, second = (torch.autograd.grad(layer(x).square().sum(), layer.weight)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_other_layers_and_samples_take_the_usual_way():
    x = torch.zeros(2, 16, 8, 8, device="cuda")
    assert not BiasedConv2d(16, 24, 3, padding=1).cuda().is_small(x)
    assert not BiasedConv2d(16, 16, 3).cuda().is_small(x)
    assert not BiasedConv2d(16, 16, 3, padding=1).cuda().is_small(x.double())
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        assert not BiasedConv2d(16, 16, 3, padding=1).cuda().is_small(x)
    finally:
        torch.backends.cudnn.allow_tf32 = before

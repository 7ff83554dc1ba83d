"""Lipschitz constants: exact where they can be, and brackets around the truth elsewhere."""

import numpy as np
import pytest

from gradapt.errors import InputError
from gradapt.theory import Side, compose, linear_lipschitz, margin_lipschitz, network_lower, network_upper
from gradapt.theory import spectral_product as product

torch = pytest.importorskip("torch")
nn = torch.nn


def test_linear_constant_is_attained_and_not_exceeded():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(3, 5))
    constant = linear_lipschitz(matrix)
    assert constant.side is Side.EXACT
    moves = rng.normal(size=(500, 5))
    assert (np.linalg.norm(moves @ matrix.T, axis=1) / np.linalg.norm(moves, axis=1)).max() <= constant.value
    worst = np.linalg.svd(matrix)[2][0]
    assert np.linalg.norm(matrix @ worst) == pytest.approx(float(constant))


def test_margin_constant_by_hand():
    assert margin_lipschitz([3.0, 4.0]).value == 5.0
    assert margin_lipschitz([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5]]).value == 2.0


def test_layers_multiply():
    constant = product([np.diag([2.0, 1.0]), [[0.0, 3.0]]], activation_lipschitz=0.5)
    assert constant.value == pytest.approx(3.0)
    assert constant.side is Side.UPPER
    assert constant.factors == pytest.approx((2.0, 3.0))
    assert product([np.eye(2)]).side is Side.EXACT


def test_encoder_multiplies_in():
    whole = compose(product([np.diag([2.0, 1.0])]), linear_lipschitz([3.0, 4.0]), 1.0)
    assert whole.value == pytest.approx(10.0)
    assert whole.side is Side.UPPER
    assert compose(linear_lipschitz([3.0])).side is Side.EXACT
    # Encoder and head together against the composed linear map: never below it.
    encoder, head = np.random.default_rng(1).normal(size=(2, 4, 4))
    assert compose(linear_lipschitz(encoder), linear_lipschitz(head)).value >= linear_lipschitz(head @ encoder).value


def test_lower_bounds_do_not_compose():
    lower = network_lower(nn.Linear(2, 1), np.zeros((1, 2)))
    with pytest.raises(InputError, match="cannot compose the lower bound"):
        compose(lower, 2.0)


def networks():
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.BatchNorm1d(16), nn.Linear(16, 3))
    mlp[3].running_var.uniform_(0.2, 2.0)
    cnn = nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 4, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Conv2d(4, 4, 3, stride=2),
        nn.BatchNorm2d(4),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4, 2),
    )
    return [(mlp, (6,)), (cnn, (1, 10, 10))]


@pytest.mark.parametrize(("network", "shape"), networks())
def test_networks_lie_between_the_two_bounds(network, shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, *shape))
    lower, upper = network_lower(network, x), network_upper(network, x)
    assert lower.side is Side.LOWER
    assert upper.side is Side.UPPER
    assert 0 < lower.value <= upper.value
    assert network.training  # left as it was found
    network.eval()
    a, b = (torch.tensor(rng.normal(size=(200, *shape)), dtype=torch.float32) for _ in range(2))
    with torch.no_grad():
        slopes = (network(a) - network(b)).norm(dim=1) / (a - b).flatten(1).norm(dim=1)
    assert float(slopes.max()) <= upper.value


@pytest.mark.parametrize("options", [{"padding": "same"}, {"stride": 2}, {"dilation": 2}])
def test_convolution_norm_is_that_of_its_matrix(options):
    torch.manual_seed(1)
    layer = nn.Conv2d(2, 3, 3, **options)
    units = torch.eye(2 * 6 * 6).reshape(-1, 2, 6, 6)
    with torch.no_grad():
        matrix = (layer(units) - layer(torch.zeros(1, 2, 6, 6))).flatten(1).numpy()
    upper = network_upper(nn.Sequential(layer), units[:1])
    assert upper.value == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-3)


def test_linear_network_is_exact_from_below():
    layer = nn.Linear(5, 3)
    exact = linear_lipschitz(layer.weight.detach().numpy()).value
    assert network_lower(layer, np.zeros((2, 5))).value == pytest.approx(exact, rel=1e-5)
    assert network_upper(layer, np.zeros(5)).value == pytest.approx(exact, rel=1e-5)


def test_unknown_layers_are_refused():
    with pytest.raises(InputError, match="does not know the layer Bilinear"):
        network_upper(nn.Sequential(nn.Linear(2, 2), _Pair()), np.zeros((1, 2)))
    with pytest.raises(InputError, match="does not know the layer MaxPool2d"):
        network_upper(nn.Sequential(nn.MaxPool2d(3, stride=1)), np.zeros((1, 1, 5, 5)))


class _Pair(nn.Bilinear):
    def __init__(self):
        super().__init__(2, 2, 1)

    def forward(self, x):
        return super().forward(x, x)


_Pair.__name__ = "Bilinear"


@pytest.mark.parametrize("bad", [[], [[np.nan]], "abc", np.zeros((2, 2, 2))])
def test_bad_coefficients(bad):
    with pytest.raises(InputError, match="coefficients must be"):
        linear_lipschitz(bad)

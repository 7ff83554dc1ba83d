"""Lipschitz constants: exact where they can be, and brackets around the truth elsewhere."""

import numpy as np
import pytest

from driftfit.errors import InputError
from driftfit.theory import Side, compose, linear_lipschitz, margin_lipschitz, network_lower, network_upper
from driftfit.theory import spectral_product as product

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
    assert margin_lipschitz([[1.0, 0.0], [-1.0, 0.0]]).side is Side.EXACT


def test_margin_of_three_classes_is_bounded_not_exact():
    rows = np.array([[-1.0], [0.0], [1.0]])
    found = margin_lipschitz(rows)
    assert (found.value, found.side) == (2.0, Side.UPPER)
    scores = np.sort(np.linspace(-3, 3, 601)[:, None] @ rows.T, axis=1)
    slopes = np.abs(np.diff(scores[:, -1] - scores[:, -2])) / (6 / 600)
    assert slopes.max() == pytest.approx(1.0)


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


# Layers whose constant is easily taken too small: the bound must not lie below what gradients show.

STEEP = {
    "leaky": (nn.LeakyReLU(3.0), (4,), -1.0),
    "exponential": (nn.ELU(alpha=2.0), (4,), -1e-3),
    "dilated maximum": (nn.MaxPool1d(2, stride=2, dilation=2), (1, 8), None),
    "overlapping maximum": (nn.MaxPool2d(3, stride=1), (1, 5, 5), None),
    "padded mean": (nn.AvgPool2d(3, padding=1, count_include_pad=False), (1, 5, 5), None),
    "mean cut off": (nn.AvgPool2d(2, ceil_mode=True), (1, 3, 3), None),
    "mean with a divisor": (nn.AvgPool2d(2, divisor_override=1), (1, 4, 4), None),
    "overlapping mean": (nn.AvgPool1d(3, stride=1), (1, 9), None),
    "sigmoid": (nn.Sigmoid(), (4,), 0.0),
    "softplus": (nn.Softplus(beta=5.0), (4,), 3.0),
}


@pytest.mark.parametrize("name", STEEP)
def test_the_upper_bound_is_never_below_a_gradient(name):
    layer, shape, place = STEEP[name]
    rng = np.random.default_rng(0)
    x = np.full((1, *shape), place) if place is not None else rng.normal(size=(60, *shape))
    network = nn.Sequential(layer).double()
    lower, upper = network_lower(network, x).value, network_upper(network, x).value
    assert lower <= upper * (1 + 1e-6)
    assert upper <= 2.5 * lower  # and says something


def test_the_exact_constants_of_activations_and_pooling():
    for layer, shape, constant in [
        (nn.LeakyReLU(3.0), (1, 2), 3.0),
        (nn.LeakyReLU(-2.0), (1, 2), 2.0),
        (nn.ELU(alpha=2.0), (1, 2), 2.0),
        (nn.Sigmoid(), (1, 2), 0.25),
        (nn.MaxPool1d(2), (1, 1, 8), 1.0),
        (nn.MaxPool1d(2, stride=2, dilation=2), (1, 1, 8), 2**0.5),
        (nn.MaxPool2d(3, stride=1), (1, 1, 5, 5), 3.0),
        (nn.AvgPool2d(2), (1, 1, 4, 4), 0.5),
        (nn.AvgPool2d(2, divisor_override=1), (1, 1, 4, 4), 2.0),
        (nn.AvgPool1d(3, padding=1, count_include_pad=False), (1, 1, 4), 2**-0.5),
    ]:
        assert network_upper(nn.Sequential(layer), np.zeros(shape)).value == pytest.approx(constant)


def matrix_of(layer, shape):
    units = torch.eye(int(np.prod(shape)), dtype=torch.float64).reshape(-1, *shape)
    layer = layer.double()
    with torch.no_grad():
        return (layer(units) - layer(torch.zeros(1, *shape, dtype=torch.float64))).flatten(1).numpy()


def test_a_convolution_whose_largest_singular_values_lie_close():
    # Power iteration ends below the norm here: the first two singular values differ by a thousandth.
    layer = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    layer.weight.data[:] = torch.tensor([1.0, 0.02, 1.0])
    shape = (1, 120)
    norm = np.linalg.norm(matrix_of(layer, shape), 2)
    upper = network_upper(nn.Sequential(layer), np.zeros((1, *shape)))
    assert norm <= upper.value <= 1.001 * norm


@pytest.mark.parametrize("options", [{}, {"stride": 2}, {"groups": 4}, {"dilation": 2}, {"padding_mode": "circular"}])
def test_large_convolutions_are_bounded_over_all_frequencies(options):
    torch.manual_seed(0)
    layer = nn.Conv2d(8, 8, 3, padding=options.get("dilation", 1), **options)
    shape = (8, 12, 12)  # 1,152 values: more than are written out as a matrix
    norm = np.linalg.norm(matrix_of(layer, shape), 2)
    upper = network_upper(nn.Sequential(layer), np.zeros((1, *shape))).value
    # Strides and borders drop part of the endless grid, which the bound counts in full.
    assert norm <= upper <= (2.1 if "stride" in options else 1.15) * norm


def test_a_frequency_between_those_that_are_tried_is_bounded_too():
    layer = nn.Conv1d(1, 1, 9, bias=False)
    with torch.no_grad():
        layer.weight[0, 0] = torch.cos(2 * np.pi * 10.5 / (16 * 9) * torch.arange(9.0))
    largest = np.abs(np.fft.fft(layer.weight.detach().numpy().ravel(), 2**14)).max()
    assert np.abs(np.fft.fft(layer.weight.detach().numpy().ravel(), 16 * 9)).max() < 0.9999 * largest
    assert largest <= network_upper(nn.Sequential(layer), np.zeros((1, 1, 3_000))).value <= 1.01 * largest


class _Residual(nn.Sequential):
    def forward(self, x):
        return x + 5.0 * super().forward(x)


class _Doubled(nn.ReLU):
    def forward(self, x):
        return 2.0 * super().forward(x)


class _MeanTimesTen(nn.AvgPool2d):
    def forward(self, x):
        return 10.0 * super().forward(x)


def _own_forward():
    layer = nn.ReLU()
    layer.forward = lambda x: 3.0 * x
    return layer


def _hooked():
    layer = nn.ReLU()
    layer.register_forward_hook(lambda module, given, result: 3.0 * result)
    return layer


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (_Doubled(), (1, 2), "does not know the layer .*_Doubled;"),
        (_Residual(nn.Linear(2, 2)), (1, 2), "does not know the layer .*_Residual;"),
        (_MeanTimesTen(2), (1, 1, 4, 4), "does not know the layer .*_MeanTimesTen;"),
        (nn.Softmax(dim=1), (1, 2), "does not know the layer .*Softmax;"),
        (_own_forward(), (1, 2), "ReLU with hooks or a forward of its own"),
        (_hooked(), (1, 2), "ReLU with hooks or a forward of its own"),
        (nn.Softplus(threshold=0.1), (1, 2), "Softplus with beta .* which makes it jump"),
        (nn.BatchNorm1d(2, track_running_stats=False), (3, 2), "track_running_stats=False"),
        (nn.Conv1d(1, 1, 3, padding=1, padding_mode="reflect"), (1, 1, 5), "padding_mode='reflect'"),
        (nn.MaxPool1d(2, return_indices=True), (1, 1, 4), "return_indices=True"),
    ],
)
def test_what_is_not_known_is_refused(layer, shape, message):
    with pytest.raises(InputError, match=message):
        network_upper(nn.Sequential(nn.Identity(), layer), np.zeros(shape))
    with pytest.raises(InputError, match=message):
        network_upper(layer, np.zeros(shape))


@pytest.mark.parametrize("bad", [[], [[np.nan]], "abc", np.zeros((2, 2, 2))])
def test_bad_coefficients(bad):
    with pytest.raises(InputError, match="coefficients must be"):
        linear_lipschitz(bad)


def test_the_networks_of_the_paper_are_known_and_a_layer_of_ones_own_is_not():
    from driftfit.models.networks import conv_net

    class Doubled(nn.Linear):
        def forward(self, input):
            return 2 * super().forward(input)

    torch.manual_seed(0)
    network, x = conv_net(6, 3, n_conv=2, hidden=(8,), width=4), torch.randn(4, 1, 6, 6)
    upper = network_upper(network, x)
    assert network_lower(network, x).value <= upper.value
    with pytest.raises(InputError, match=r"does not know the layer .*Doubled"):
        network_upper(Doubled(2, 2), np.zeros(2))

"""Lipschitz constants of classifiers: exact for linear models, bracketed for networks.

Torch is imported when a function for networks is called. Networks are taken as they predict: dropout off, batch
normalisation with its running statistics.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from math import ceil, cos, pi, prod, sqrt
from typing import Any

import numpy as np
import torch
from torch import nn

from driftfit.errors import InputError
from driftfit.extras import need
from driftfit.theory.checks import check_non_negative


class Side(Enum):
    """On which side of the true constant an estimate lies."""

    EXACT = "exact"
    UPPER = "upper"
    LOWER = "lower"


@dataclass(frozen=True)
class Lipschitz:
    """A Lipschitz constant in the Euclidean norm, or a bound on one, with the factors of which it is the product."""

    value: float
    side: Side = Side.EXACT
    factors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_non_negative(self.value, "the Lipschitz constant")

    def __float__(self) -> float:
        return self.value


def linear_lipschitz(coefficients: Any) -> Lipschitz:
    """Exact constant of ``x -> W x + b``: the largest singular value of ``W`` (the norm of a single row).

    >>> linear_lipschitz([3.0, 4.0]).value
    5.0
    """
    return Lipschitz(float(np.linalg.norm(_as_matrix(coefficients), 2)))


def margin_lipschitz(coefficients: Any) -> Lipschitz:
    """Constant of the margin between the two best classes of a linear model: exact for two, else an upper bound.

    For one row of coefficients this is its norm; for several, the largest norm of a difference of two
    rows: how fast one class can overtake another. Of three classes or more, the two whose rows differ
    most need not be the two best anywhere: with scores ``-x``, 0 and ``x`` the margin is ``|x|``, of slope 1, and the
    bound is 2.

    >>> margin_lipschitz([[3.0, 0.0], [0.0, 4.0]])
    Lipschitz(value=5.0, side=<Side.EXACT: 'exact'>, factors=())
    >>> margin_lipschitz([[-1.0], [0.0], [1.0]])
    Lipschitz(value=2.0, side=<Side.UPPER: 'upper'>, factors=())
    """
    matrix = _as_matrix(coefficients)
    if len(matrix) == 1:
        return Lipschitz(float(np.linalg.norm(matrix)))
    differences = matrix[:, None, :] - matrix[None, :, :]
    return Lipschitz(float(np.linalg.norm(differences, axis=2).max()), Side.EXACT if len(matrix) == 2 else Side.UPPER)


def spectral_product(weights: Sequence[Any], activation_lipschitz: float = 1.0) -> Lipschitz:
    """Upper bound for a fully connected network: the product of the spectral norms of its layers (outputs, inputs).

    The constant of the activations between two layers is 1 for ReLU, tanh and sigmoid.

    >>> spectral_product([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 3.0]]]).value
    6.0
    """
    if not len(weights):
        raise InputError("spectral_product needs the weights of at least one layer, got none")
    factors = tuple(linear_lipschitz(weight).value for weight in weights)
    activation = check_non_negative(activation_lipschitz, "activation_lipschitz")
    value = float(np.prod(factors)) * activation ** (len(factors) - 1)
    return Lipschitz(value, Side.EXACT if len(factors) == 1 else Side.UPPER, factors)


def compose(*parts: Lipschitz | float) -> Lipschitz:
    """Constant of a chain such as encoder and classifier: the constants multiply.

    Of upper or exact bounds the product is an upper bound. A lower bound of a part says
    nothing about the whole, and is refused.

    >>> compose(linear_lipschitz([2.0]), 1.5)
    Lipschitz(value=3.0, side=<Side.UPPER: 'upper'>, factors=(2.0, 1.5))
    """
    if not parts:
        raise InputError("compose needs at least one Lipschitz constant, got none")
    chain = [part if isinstance(part, Lipschitz) else Lipschitz(check_non_negative(part, "a part")) for part in parts]
    for part in chain:
        if part.side is Side.LOWER:
            raise InputError(f"cannot compose the lower bound {part.value!r}: use an exact or upper constant")
    if len(chain) == 1:
        return chain[0]
    factors = tuple(part.value for part in chain)
    return Lipschitz(float(np.prod(factors)), Side.UPPER, factors)


def network_upper(network: Any, sample: Any) -> Lipschitz:
    """Upper bound for a chain of layers (`torch.nn.Sequential`, nested ones too): the product of their constants.

    Every factor is proven, none is an iterate. Layers are known by their exact type: a subclass, a layer with
    hooks or with a ``forward`` of its own may compute anything and is refused.

    Linear layers, convolutions, batch normalisation, pooling, dropout, flatten and common activations are known. The
    sample, or a batch, is there for the shapes that the convolutions see.

    >>> import torch
    >>> layers = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.LeakyReLU(3.0))
    >>> _ = torch.nn.init.eye_(layers[0].weight)
    >>> round(network_upper(layers, [0.0, 0.0]).value, 6)
    3.0
    """
    need("torch", "torch", "the Lipschitz constant of a network")
    import torch

    from driftfit.theory.lipschitz import layer_norm

    layers = list(_leaves(network))
    factors: list[float] = []
    with _predicting(network), torch.no_grad():
        x = _as_batch(sample, network)[:1]
        for layer in layers:
            factors.append(layer_norm(layer, x))
            x = layer(x)
    return Lipschitz(float(np.prod(factors)), Side.UPPER, tuple(factors))


def network_lower(network: Any, samples: Any) -> Lipschitz:
    """Lower bound: the largest spectral norm of the gradient over the samples.

    >>> import torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = layer.weight.data.copy_(torch.tensor([[3.0, 4.0]]))
    >>> network_lower(layer, [[0.0, 0.0], [1.0, 1.0]])
    Lipschitz(value=5.0, side=<Side.LOWER: 'lower'>, factors=())
    """
    need("torch", "torch", "the Lipschitz constant of a network")
    import torch

    steepest = 0.0
    with _predicting(network):
        for x in _as_batch(samples, network):
            jacobian = torch.func.jacrev(lambda v: network(v[None])[0].reshape(-1))(x)
            matrix = jacobian.detach().reshape(jacobian.shape[0], -1)
            steepest = max(steepest, float(torch.linalg.matrix_norm(matrix, 2)))
    return Lipschitz(steepest, Side.LOWER)


@contextmanager
def _predicting(network: Any) -> Iterator[None]:
    """A network as it predicts, and as it was found afterwards."""
    was_training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was_training)


def _leaves(network: Any) -> Any:
    import torch

    # A subclass of Sequential that keeps its forward is still a chain; one that overrides it may add a shortcut.
    # A class may say of itself, though not of its subclasses, which of torch's it is in evaluation mode.
    kind = vars(type(network)).get("evaluates_as", type(network))
    if isinstance(network, torch.nn.Sequential) and kind.forward is torch.nn.Sequential.forward:
        for child in network:
            yield from _leaves(child)
    else:
        yield network


def _as_batch(samples: Any, network: Any) -> Any:
    import torch

    parameter = next(network.parameters(), None)
    tensor = torch.as_tensor(np.asarray(samples) if not isinstance(samples, torch.Tensor) else samples)
    if parameter is not None:
        tensor = tensor.to(parameter.device, parameter.dtype)
    elif not tensor.is_floating_point():
        tensor = tensor.to(torch.float32)
    return tensor if tensor.ndim > 1 else tensor[None]


def _as_matrix(weight: Any) -> Any:
    try:
        matrix = np.atleast_2d(np.asarray(weight, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"coefficients must be a matrix of numbers ({error})") from None
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise InputError(f"coefficients must be a finite matrix (outputs, inputs), got shape {matrix.shape}")
    return matrix


# Rounding of a factorisation in double precision.
_ROUNDING = 1.0 + 1e-9
# Convolutions whose matrix is no larger are factorised as a matrix; larger ones are bounded over all frequencies.
_LARGEST_SIDE, _LARGEST_MATRIX = 1_000, 4_000_000
# Frequencies per coefficient of a kernel: the bound is at most 0.5 % above the norm of the endless convolution.
_FREQUENCIES = 16
# Softplus jumps from its formula to the identity at its threshold; above this the jump is below rounding.
_SMOOTH_THRESHOLD = 20.0


def layer_norm(layer: nn.Module, x: torch.Tensor) -> float:
    """Upper bound on the Lipschitz constant of a layer in evaluation mode, for inputs shaped like ``x``.

    >>> layer_norm(nn.ELU(alpha=2.0), torch.zeros(1, 3)), layer_norm(nn.Sigmoid(), torch.zeros(1, 3))
    (2.0, 0.25)
    """
    known = _KNOWN.get(type(layer))
    hooks = (*vars(layer)["_forward_hooks"], *vars(layer)["_forward_pre_hooks"])
    if known is None or hooks or "forward" in vars(layer):
        raise InputError(
            f"network_upper does not know the layer {type(layer).__module__}.{type(layer).__name__}"
            f"{' with hooks or a forward of its own' if known else ''}; it takes Sequential networks of torch's own "
            "Linear, Conv, BatchNorm, Dropout, Flatten, pooling and activations. network_lower works for any network"
        )
    return known(layer, x)


def _refuse(layer: nn.Module, what: str) -> InputError:
    return InputError(f"network_upper does not know the layer {type(layer).__name__} with {what}")


def _softplus(layer: Any, x: torch.Tensor) -> float:
    if layer.beta <= 0 or layer.threshold < _SMOOTH_THRESHOLD:
        raise _refuse(layer, f"beta {layer.beta!r} and threshold {layer.threshold!r}, which makes it jump")
    return 1.0


def _linear(layer: Any, x: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(layer.weight.double(), 2)) * _ROUNDING


def _batch_norm(layer: Any, x: torch.Tensor) -> float:
    if layer.running_var is None:
        raise _refuse(layer, "track_running_stats=False, which scales by the batch at hand")
    gain = torch.rsqrt(layer.running_var.double() + layer.eps)
    return float((gain if layer.weight is None else gain * layer.weight.double().abs()).max()) * _ROUNDING


def _max_pool(layer: Any, x: torch.Tensor) -> float:
    """The root of the number of windows that a value can lie in: the change of a maximum is at most the largest one."""
    if layer.return_indices:
        raise _refuse(layer, "return_indices=True")
    n_axes = 1 if isinstance(layer, nn.MaxPool1d) else 2
    sizes = (_each(value, n_axes) for value in (layer.kernel_size, layer.stride, layer.dilation))
    return sqrt(prod(_windows(*axis) for axis in zip(*sizes, strict=True)))


def _windows(kernel: int, stride: int, dilation: int) -> int:
    """Most windows along one axis that share a value: places ``i * dilation`` of one remainder modulo the stride."""
    return int(np.bincount((dilation * np.arange(kernel)) % stride).max())


def _average_pool(layer: nn.Module, x: torch.Tensor) -> float:
    """Schur's test, from the layer itself: the root of its largest row sum times its largest column sum."""
    # All weights have one sign, so that the sums come from a field of ones, whatever padding and divisor.
    layer = copy.deepcopy(layer).double()
    with torch.enable_grad():
        ones = torch.ones_like(x, dtype=torch.float64).requires_grad_(True)
        rows = layer(ones)
        (columns,) = torch.autograd.grad(rows.sum(), ones)
    return sqrt(float(rows.abs().max()) * float(columns.abs().max())) * _ROUNDING


def _convolution(layer: Any, x: torch.Tensor) -> float:
    if layer.padding_mode not in ("zeros", "circular"):
        raise _refuse(layer, f"padding_mode={layer.padding_mode!r}, which repeats samples")
    n_in, n_out = x[0].numel(), layer(x)[0].numel()
    if min(n_in, n_out) <= _LARGEST_SIDE and n_in * n_out <= _LARGEST_MATRIX:
        return _matrix_norm(layer, x)
    return _endless_norm(layer)


def _matrix_norm(layer: nn.Module, x: torch.Tensor) -> float:
    """The convolution written out as a matrix, one column per input value."""
    layer = copy.deepcopy(layer).double()
    units = torch.eye(x[0].numel(), dtype=torch.float64, device=x.device).reshape(-1, *x.shape[1:])
    zero = layer(torch.zeros_like(units[:1]))
    images = [(layer(part) - zero).flatten(1) for part in torch.split(units, 256)]
    return float(torch.linalg.matrix_norm(torch.cat(images), 2)) * _ROUNDING


def _endless_norm(layer: Any) -> float:
    """Norm of the same kernel on an endless grid, of which zero padding, strides and dilations show a part.

    There it is the largest norm of the kernel's transform, a matrix (outputs, inputs) per frequency. Between
    the frequencies tried, a trigonometric polynomial of degree m on N equal places exceeds its largest value there by
    at most ``1 / cos(pi m / N)`` along each axis (Ehlich and Zeller 1964).
    """
    weight = layer.weight.detach().double()
    sizes = weight.shape[2:]
    places = [_FREQUENCIES * size for size in sizes]
    groups = weight.reshape(layer.groups, weight.shape[0] // layer.groups, *weight.shape[1:])
    largest = 0.0
    for group in groups:
        transform = torch.fft.fftn(group, s=places, dim=tuple(range(2, 2 + len(sizes))))
        matrices = transform.flatten(2).permute(2, 0, 1)
        smaller = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mH
        for part in torch.split(smaller, 512):
            largest = max(largest, float(torch.linalg.eigvalsh(part @ part.mH)[:, -1].max()))
    degrees = [ceil((size - 1) / 2) for size in sizes]
    between = prod(1.0 / cos(pi * degree / n) for degree, n in zip(degrees, places, strict=True))
    return sqrt(largest) * between * _ROUNDING


def _each(value: Any, n_axes: int) -> tuple[int, ...]:
    return tuple(int(v) for v in value) if isinstance(value, tuple | list) else (int(value),) * n_axes


_ONE = [nn.ReLU, nn.ReLU6, nn.Tanh, nn.Hardtanh, nn.Identity, nn.Flatten, nn.Unflatten]
_ONE += [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout]
_KNOWN: dict[type, Callable[[Any, torch.Tensor], float]] = {
    **dict.fromkeys(_ONE, lambda layer, x: 1.0),
    nn.Sigmoid: lambda layer, x: 0.25,
    nn.LeakyReLU: lambda layer, x: max(1.0, abs(float(layer.negative_slope))),
    nn.ELU: lambda layer, x: max(1.0, abs(float(layer.alpha))),
    nn.Softplus: _softplus,
    nn.Linear: _linear,
    **dict.fromkeys([nn.BatchNorm1d, nn.BatchNorm2d], _batch_norm),
    **dict.fromkeys([nn.MaxPool1d, nn.MaxPool2d], _max_pool),
    **dict.fromkeys([nn.AvgPool1d, nn.AvgPool2d], _average_pool),
    **dict.fromkeys([nn.Conv1d, nn.Conv2d], _convolution),
}

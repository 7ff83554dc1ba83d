"""A proven Lipschitz constant for each kind of torch layer; what is not known exactly is refused.

Imported when a network is looked at, because it needs torch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import ceil, cos, pi, prod, sqrt
from typing import Any

import numpy as np
import torch
from torch import nn

from driftfit.errors import InputError

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

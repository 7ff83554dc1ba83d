"""Lipschitz bounds of torch networks: layer by layer from above, by gradients from below.

Torch is imported when a function is called. Networks are taken as they predict: dropout off,
batch normalisation with its running statistics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradapt.errors import InputError
from gradapt.extras import need
from gradapt.theory.lipschitz import Lipschitz, Side

__all__ = ["network_lower", "network_upper"]

_ONE = ("ReLU", "LeakyReLU", "Tanh", "Sigmoid", "ELU", "Softplus", "Hardtanh", "Identity", "Flatten", "Unflatten")
_ONE_IN_EVALUATION = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")


def network_upper(network: Any, sample: Any, *, power_iterations: int = 200) -> Lipschitz:
    """Upper bound for a chain of layers (`torch.nn.Sequential`, nested ones too): the product of their constants.

    Parameters
    ----------
    network : torch.nn.Module
        Linear, convolution, batch normalisation, pooling without overlap, dropout, flatten and
        activations of slope at most 1.
    sample : array or tensor
        One sample or a batch, for the shapes that the convolutions see.
    power_iterations : int
        For the norm of a convolution as a linear map. Power iteration approaches the norm from below: the
        factor is the last iterate plus its last relative change.

    Examples
    --------
    >>> import torch
    >>> layers = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU())
    >>> _ = torch.nn.init.eye_(layers[0].weight)
    >>> round(network_upper(layers, [0.0, 0.0]).value, 6)
    1.0
    """
    need("torch", "torch", "the Lipschitz constant of a network")
    import torch

    layers = list(_leaves(network))
    was_training = network.training
    network.eval()
    try:
        x = _as_batch(sample, network)[:1]
        factors: list[float] = []
        with torch.no_grad():
            for layer in layers:
                y = layer(x)
                factors.append(_layer_norm(layer, x, y, power_iterations))
                x = y
    finally:
        network.train(was_training)
    return Lipschitz(float(np.prod(factors)), Side.UPPER, tuple(factors))


def network_lower(network: Any, samples: Any) -> Lipschitz:
    """Lower bound: the largest spectral norm of the gradient over the samples.

    Examples
    --------
    >>> import torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = layer.weight.data.copy_(torch.tensor([[3.0, 4.0]]))
    >>> network_lower(layer, [[0.0, 0.0], [1.0, 1.0]])
    Lipschitz(value=5.0, side=<Side.LOWER: 'lower'>, factors=())
    """
    need("torch", "torch", "the Lipschitz constant of a network")
    import torch

    was_training = network.training
    network.eval()
    try:
        batch = _as_batch(samples, network)
        steepest = 0.0
        for x in batch:
            jacobian = torch.func.jacrev(lambda v: network(v[None])[0].reshape(-1))(x)
            matrix = jacobian.detach().reshape(jacobian.shape[0], -1)
            steepest = max(steepest, float(torch.linalg.matrix_norm(matrix, 2)))
    finally:
        network.train(was_training)
    return Lipschitz(steepest, Side.LOWER)


def _leaves(network: Any) -> Any:
    import torch

    if isinstance(network, torch.nn.Sequential):
        for child in network:
            yield from _leaves(child)
    else:
        yield network


def _layer_norm(layer: Any, x: Any, y: Any, power_iterations: int) -> float:
    import torch

    kind = type(layer).__name__
    if kind in _ONE or kind in _ONE_IN_EVALUATION:
        return 1.0
    if kind == "Linear":
        return float(torch.linalg.matrix_norm(layer.weight, 2))
    if kind in ("BatchNorm1d", "BatchNorm2d"):
        gain = torch.rsqrt(layer.running_var + layer.eps)
        return float((gain if layer.weight is None else gain * layer.weight.abs()).max())
    if kind in ("MaxPool1d", "MaxPool2d") and _pair(layer.stride) == _pair(layer.kernel_size):
        return 1.0
    if kind in ("AvgPool1d", "AvgPool2d") and _pair(layer.stride) == _pair(layer.kernel_size):
        return float(np.prod(_pair(layer.kernel_size)[: x.ndim - 2]) ** -0.5)
    if kind in ("Conv1d", "Conv2d"):
        return _convolution_norm(layer, x, y, power_iterations)
    raise InputError(
        f"network_upper does not know the layer {kind}; it takes Sequential networks of Linear, Conv, BatchNorm, "
        "Dropout, Flatten, pooling without overlap and activations. network_lower works for any network"
    )


def _convolution_norm(layer: Any, x: Any, y: Any, power_iterations: int) -> float:
    import torch

    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x)
    zero = layer(torch.zeros_like(x))
    norm, change = 0.0, 1.0
    for _ in range(power_iterations):
        vector = vector / vector.norm()
        with torch.enable_grad():
            probe = vector.clone().requires_grad_(True)
            image = layer(probe) - zero
            (back,) = torch.autograd.grad(image, probe, grad_outputs=image.detach())
        new = float(image.detach().norm())
        if new == 0.0:
            return 0.0
        change, norm = abs(new - norm) / new, new
        vector = back
    return norm * (1.0 + change)


def _as_batch(samples: Any, network: Any) -> Any:
    import torch

    parameter = next(network.parameters(), None)
    tensor = torch.as_tensor(np.asarray(samples) if not isinstance(samples, torch.Tensor) else samples)
    if parameter is not None:
        tensor = tensor.to(parameter.device, parameter.dtype)
    elif not tensor.is_floating_point():
        tensor = tensor.to(torch.float32)
    return tensor if tensor.ndim > 1 else tensor[None]


def _pair(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value, value)

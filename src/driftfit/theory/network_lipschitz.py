"""Lipschitz bounds of torch networks: layer by layer from above, by gradients from below.

Torch is imported when a function is called. Networks are taken as they predict: dropout off,
batch normalisation with its running statistics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftfit.extras import need
from driftfit.theory.lipschitz import Lipschitz, Side

__all__ = ["network_lower", "network_upper"]


def network_upper(network: Any, sample: Any) -> Lipschitz:
    """Upper bound for a chain of layers (`torch.nn.Sequential`, nested ones too): the product of their constants.

    Every factor is proven, none is an iterate. Layers are known by their exact type: a subclass, a layer with
    hooks or with a ``forward`` of its own may compute anything and is refused.

    Parameters
    ----------
    network : torch.nn.Module
        Linear, convolution, batch normalisation, pooling, dropout, flatten and common activations.
    sample : array or tensor
        One sample or a batch, for the shapes that the convolutions see.

    Examples
    --------
    >>> import torch
    >>> layers = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.LeakyReLU(3.0))
    >>> _ = torch.nn.init.eye_(layers[0].weight)
    >>> round(network_upper(layers, [0.0, 0.0]).value, 6)
    3.0
    """
    need("torch", "torch", "the Lipschitz constant of a network")
    import torch

    from driftfit.theory.layer_norms import layer_norm

    layers = list(_leaves(network))
    was_training = network.training
    network.eval()
    try:
        x = _as_batch(sample, network)[:1]
        factors: list[float] = []
        with torch.no_grad():
            for layer in layers:
                factors.append(layer_norm(layer, x))
                x = layer(x)
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

    # A subclass of Sequential that keeps its forward is still a chain; one that overrides it may add a shortcut.
    if isinstance(network, torch.nn.Sequential) and type(network).forward is torch.nn.Sequential.forward:
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

"""Lipschitz constants of classifiers: exact for linear models, bracketed for networks.

Torch is imported when a function for networks is called. Networks are taken as they predict: dropout off, batch
normalisation with its running statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

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

    from driftfit.theory.layer_norms import layer_norm

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

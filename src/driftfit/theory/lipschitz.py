"""Lipschitz constants of classifiers: exact for linear models, bracketed for networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from driftfit.errors import InputError
from driftfit.theory.numbers import check_non_negative

__all__ = ["Lipschitz", "Side", "compose", "linear_lipschitz", "margin_lipschitz", "spectral_product"]


class Side(Enum):
    """On which side of the true constant an estimate lies."""

    EXACT = "exact"
    UPPER = "upper"
    LOWER = "lower"


@dataclass(frozen=True)
class Lipschitz:
    """A Lipschitz constant in the Euclidean norm, or a bound on one.

    Attributes
    ----------
    value : float
    side : Side
        Exact, an upper or a lower bound.
    factors : tuple of float
        The constants of the layers whose product ``value`` is, where it is one.
    """

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
    return Lipschitz(_spectral_norm(coefficients))


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
    """Upper bound for a fully connected network: the product of the spectral norms of its layers.

    Parameters
    ----------
    weights : sequence of matrices
        One per layer, of shape (outputs, inputs).
    activation_lipschitz : float
        Of each activation between two layers; 1 for ReLU, tanh and sigmoid.

    Examples
    --------
    >>> spectral_product([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 3.0]]]).value
    6.0
    """
    if not len(weights):
        raise InputError("spectral_product needs the weights of at least one layer, got none")
    factors = tuple(_spectral_norm(weight) for weight in weights)
    activation = check_non_negative(activation_lipschitz, "activation_lipschitz")
    value = float(np.prod(factors)) * activation ** (len(factors) - 1)
    return Lipschitz(value, Side.EXACT if len(factors) == 1 else Side.UPPER, factors)


def compose(*parts: Lipschitz | float) -> Lipschitz:
    """Constant of a chain such as encoder and classifier: the constants multiply.

    Of upper or exact bounds the product is an upper bound. A lower bound of a part says
    nothing about the whole, and is refused.

    Examples
    --------
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


def _spectral_norm(weight: Any) -> float:
    return float(np.linalg.norm(_as_matrix(weight), 2))


def _as_matrix(weight: Any) -> Any:
    try:
        matrix = np.atleast_2d(np.asarray(weight, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"coefficients must be a matrix of numbers ({error})") from None
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise InputError(f"coefficients must be a finite matrix (outputs, inputs), got shape {matrix.shape}")
    return matrix

"""What it costs to move one sample onto another: frozen values with two methods.

``block(x0, x1)`` gives the matrix of costs between two sets of samples;
``pairs(x0, x1)`` gives the cost of row ``i`` of one onto row ``i`` of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gradapt.errors import InputError

__all__ = ["Cost", "CustomCost", "PowerMetric", "Precomputed", "SquaredEuclidean", "as_cost"]

# Below this many multiplications the direct differences are quick, and they do not cancel.
_DIRECT_WORK = 1e8


class Cost(Protocol):
    """Anything with ``block`` and ``pairs`` can be a cost."""

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]: ...

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class SquaredEuclidean:
    """The squared Euclidean distance, the cost of the paper and the default.

    >>> SquaredEuclidean().block(np.zeros((1, 2)), np.array([[3.0, 4.0]])).item()
    25.0
    """

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        if not sp.issparse(x0) and not sp.issparse(x1):
            if x0.shape[0] * x1.shape[0] * x0.shape[1] <= _DIRECT_WORK:
                return np.asarray(cdist(x0, x1, "sqeuclidean"))
            # Centred, the expansion below loses few digits to cancellation.
            centre = x1.mean(axis=0, dtype=np.float64)
            x0, x1 = x0 - centre, x1 - centre
        product = x0 @ x1.T
        if sp.issparse(product):
            product = product.toarray()
        squared = _square_norms(x0)[:, None] + _square_norms(x1)[None, :] - 2.0 * np.asarray(product)
        return np.asarray(np.maximum(squared, 0.0))

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        if sp.issparse(x0) or sp.issparse(x1):
            return _square_norms(x0 - x1)
        # Differences of float32 samples are taken in float64: they are what the cost is made of.
        return _square_norms(np.subtract(x0, x1, dtype=np.float64))


@dataclass(frozen=True)
class PowerMetric:
    """The ``p``-th power of a metric: any name or function that SciPy's ``cdist`` takes.

    >>> PowerMetric("cityblock", p=1).block(np.zeros((1, 2)), np.array([[3.0, 4.0]])).item()
    7.0
    """

    metric: str | Callable[..., float] = "euclidean"
    p: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.p) and self.p >= 1):
            raise InputError(f"p must be a number >= 1, got {self.p!r}; for infinity use wasserstein(..., p=inf)")

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        x0, x1 = _dense(x0), _dense(x1)
        try:
            distances = np.asarray(cdist(x0, x1, self.metric))
        except ValueError as error:
            raise InputError(f"metric {self.metric!r} cannot be used here: {error}") from None
        with np.errstate(over="ignore"):
            powered = distances if self.p == 1 else distances**self.p
        return np.asarray(powered)

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        x0, x1 = _dense(x0), _dense(x1)
        if self.metric == "euclidean":
            return np.asarray(_square_norms(np.subtract(x0, x1, dtype=np.float64)) ** (self.p / 2))
        if self.metric == "cityblock":
            return np.asarray(np.abs(np.subtract(x0, x1, dtype=np.float64)).sum(axis=1) ** self.p)
        return _diagonals(self, x0, x1)


@dataclass(frozen=True)
class CustomCost:
    """A user's function ``(x0, x1) -> matrix``; wrapped by `as_cost`."""

    function: Callable[[Any, Any], Any]

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        costs = np.asarray(self.function(x0, x1), dtype=np.float64)
        if costs.shape != (x0.shape[0], x1.shape[0]):
            raise InputError(
                f"the cost function must return a matrix of shape {(x0.shape[0], x1.shape[0])}, got {costs.shape}"
            )
        if not np.isfinite(costs).all():
            raise InputError("the cost function returned NaN or infinity; every pair needs a finite cost")
        return costs

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        return _diagonals(self, x0, x1)


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Costs looked up in a matrix; the samples are then row and column numbers.

    >>> cost = Precomputed(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> cost.block(np.array([[1]]), np.array([[0], [1]])).tolist()
    [[3.0, 4.0]]
    """

    matrix: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InputError(f"a cost matrix must have two non-empty dimensions, got shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise InputError("the cost matrix holds NaN or infinity; every pair needs a finite cost")
        object.__setattr__(self, "matrix", matrix)

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        return self.matrix[np.ix_(_index(x0), _index(x1))]

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        return self.matrix[_index(x0), _index(x1)]


def as_cost(cost: Cost | Callable[[Any, Any], Any] | None) -> Cost:
    """``None`` is the squared Euclidean cost, a plain function becomes a `CustomCost`."""
    if cost is None:
        return SquaredEuclidean()
    if hasattr(cost, "block") and hasattr(cost, "pairs"):
        return cost
    if callable(cost):
        return CustomCost(cost)
    raise InputError(
        f"cost must be a value such as SquaredEuclidean() or PowerMetric('cityblock'), "
        f"or a function (x0, x1) -> matrix, got {cost!r}"
    )


def _diagonals(cost: Cost, x0: Any, x1: Any, width: int = 64) -> NDArray[np.float64]:
    """Costs of aligned rows from small blocks, for costs that only come as matrices."""
    starts = range(0, x0.shape[0], width)
    parts = [np.diagonal(cost.block(x0[s : s + width], x1[s : s + width])) for s in starts]
    return np.concatenate(parts) if parts else np.empty(0)


def _square_norms(x: Any) -> NDArray[np.float64]:
    if sp.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", x, x))


def _dense(x: Any) -> NDArray[Any]:
    return np.asarray(x.toarray() if sp.issparse(x) else x)


def _index(x: Any) -> NDArray[np.int64]:
    return np.asarray(x).ravel().astype(np.int64)

"""What it costs to move one sample onto another: frozen values that own their arithmetic.

``block(x0, x1)`` gives the matrix of costs between two sets of samples, ``pairs(x0, x1)`` the
cost of row ``i`` of one onto row ``i`` of the other, and ``table(x0, x1)`` both of them for a whole
problem, with bounds on their rounding. Own costs need the first two only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftfit.errors import InputError
from driftfit.transport.costs.squared import SquaredDistances, square_norms
from driftfit.transport.costs.table import BlockTable, CostTable, HeldTable, gamma

# Metrics that scale with their samples, and are sums without cancellation.
_HOMOGENEOUS = ("euclidean", "cityblock", "chebyshev")
# Metrics that subtract a quotient from 1.
_ANGULAR = ("cosine", "correlation")


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

    # Samples times s cost s to this power as much.
    degree = 2.0

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        return np.asarray(SquaredDistances.of(x0, x1).block(slice(0, x0.shape[0])))

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        each = np.arange(x0.shape[0])
        return SquaredDistances.of(x0, x1).pairs(each, each)

    def table(self, x0: Any, x1: Any, *, apart: bool = False) -> CostTable:
        return SquaredDistances.of(x0, x1, apart=apart)


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

    @property
    def degree(self) -> float | None:
        return self.p if self.metric in _HOMOGENEOUS else None

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        x0, x1 = _dense(x0), _dense(x1)
        try:
            distances = np.asarray(cdist(x0, x1, self.metric))
        except ValueError as error:
            raise InputError(f"metric {self.metric!r} cannot be used here: {error}") from None
        return self._power(distances)

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        x0, x1 = _dense(x0), _dense(x1)
        if self.metric == "euclidean":
            return self._power(np.sqrt(square_norms(np.subtract(x0, x1, dtype=np.float64))))
        if self.metric == "cityblock":
            return self._power(np.abs(np.subtract(x0, x1, dtype=np.float64)).sum(axis=1))
        return _diagonals(self, x0, x1)

    def _power(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return np.asarray(distances if self.p == 1 else distances**self.p)

    def table(self, x0: Any, x1: Any, *, apart: bool = False) -> CostTable:
        terms = x0.shape[1] + 16
        if self.metric in _ANGULAR:
            # Distances are at most 2 and off by some last digits of 1, whatever their own size is.
            slope = self.p * 2.0 ** (self.p - 1.0)
            return BlockTable(self, x0, x1, gamma(4), 2.0 * slope * gamma(3 * terms))
        # A power multiplies the relative error.
        return BlockTable(self, x0, x1, gamma(math.ceil(self.p) * terms))


@dataclass(frozen=True)
class CustomCost:
    """A user's function ``(x0, x1) -> matrix``; wrapped by `as_cost`.

    ``error`` is how far its values may be from the true costs, as a share of them; by default so many roundings as
    there are features. Proofs rest on it.

    >>> CustomCost(lambda x0, x1: np.abs(x0 - x1.T), error=1e-12).block(np.zeros((1, 1)), np.ones((2, 1))).tolist()
    [[1.0, 1.0]]
    """

    function: Callable[[Any, Any], Any]
    error: float | None = None

    def __post_init__(self) -> None:
        if self.error is not None and not 0.0 <= self.error < 1.0:
            raise InputError(f"error must be a share in [0, 1), got {self.error!r}")

    def table(self, x0: Any, x1: Any, *, apart: bool = False) -> CostTable:
        return BlockTable(self, x0, x1, gamma(x0.shape[1] + 16) if self.error is None else self.error)

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
    degree = 1.0

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InputError(f"a cost matrix must have two non-empty dimensions, got shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise InputError("the cost matrix holds NaN or infinity; every pair needs a finite cost")
        object.__setattr__(self, "matrix", matrix)

    def block(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        rows, cols = _index(x0), _index(x1)
        if (
            len(cols) == self.matrix.shape[1]
            and len(rows)
            and all((np.diff(index) == 1).all() for index in (rows, cols))
        ):
            # Whole rows one after the other need no copy.
            return self.matrix[rows[0] : rows[-1] + 1]
        return self.matrix[np.ix_(rows, cols)]

    def pairs(self, x0: Any, x1: Any) -> NDArray[np.float64]:
        return self.matrix[_index(x0), _index(x1)]

    def table(self, x0: Any, x1: Any, *, apart: bool = False) -> CostTable:
        # Given numbers are what they are.
        return HeldTable(BlockTable(self, x0, x1, 0.0), self.block(x0, x1))


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


def table_of(cost: Cost, x0: Any, x1: Any, *, apart: bool = False) -> CostTable:
    """The costs between two clouds; ``apart`` allows costs that differ by separable terms."""
    if hasattr(cost, "table"):
        table: CostTable = cost.table(x0, x1, apart=apart)
        return table
    # A stranger's arithmetic: blocks and pairs may differ in as many roundings as there are features.
    return BlockTable(cost, x0, x1, gamma(x0.shape[1] + 16))


def degree_of(cost: Cost) -> float | None:
    """The power of a scale of the samples by which costs scale; ``None`` where they do not.

    >>> degree_of(SquaredEuclidean()), degree_of(PowerMetric("cityblock", p=3)), degree_of(PowerMetric("cosine"))
    (2.0, 3, None)
    """
    degree: float | None = getattr(cost, "degree", None)
    return degree


def _diagonals(cost: Cost, x0: Any, x1: Any, width: int = 64) -> NDArray[np.float64]:
    """Costs of aligned rows from small blocks, for costs that only come as matrices."""
    starts = range(0, x0.shape[0], width)
    parts = [np.diagonal(cost.block(x0[s : s + width], x1[s : s + width])) for s in starts]
    return np.concatenate(parts) if parts else np.empty(0)


def _dense(x: Any) -> NDArray[Any]:
    return np.asarray(x.toarray() if sp.issparse(x) else x)


def _index(x: Any) -> NDArray[np.int64]:
    return np.asarray(x).ravel().astype(np.int64)

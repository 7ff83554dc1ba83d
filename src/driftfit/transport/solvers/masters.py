"""What solves on candidate pairs without numba: SciPy's sparse matching, with torch too, and linear programmes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from driftfit.errors import SolverError
from driftfit.transport.arrays import beside, is_tensor, to_numpy
from driftfit.transport.costs.table import CostTable

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Steps between two looks at whether Bellman-Ford has come to rest; how many to try on an old and on a new matching.
# It rests within some hundred steps, if at all: on a matching that is not the best any more it never does.
_STEPS, _FEW_STEPS, _MOST_STEPS = 32, 128, 50_000
# Changes of potentials below this share of the mean cost are rounding.
_TOLERANCE = 1e-13
# The interior way, which ends at a vertex as well, takes a tenth of the time of the simplex; in turn.
_METHODS = ("highs-ipm", "highs")
# Mass below this is rounding.
_DUST = 1e-14


class Matching:
    """The same services as `TransportTree` for clouds of one size and equal weights.

    Where the potentials it begins with are tensors, so are the steps taken from them.

    Examples
    --------
    >>> matching = Matching(2)
    >>> matching.add(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 1.0, 5.0]))
    >>> matching.begin(np.zeros(2), np.zeros(2))
    >>> matching.improve()
    >>> matching.entries()[1].tolist()
    [1, 0]
    """

    def __init__(self, n: int) -> None:
        self.u: Any = np.zeros(n)
        self.v: Any = np.zeros(n)
        self.rows, self.cols, self.cost = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        self.matched: Index | None = None

    def add(self, rows: Index, cols: Index, costs: Float) -> None:
        pairs = np.concatenate([self.rows * len(self.v) + self.cols, rows * len(self.v) + cols])
        order = np.argsort(pairs, kind="stable")
        self.rows, self.cols = np.divmod(pairs[order], len(self.v))
        self.cost = np.concatenate([self.cost, costs])[order]

    def begin(self, u: Any, v: Any) -> None:
        """Start from these potentials."""
        self.u, self.v = u, v

    def improve(self) -> None:
        # Moving potentials is cheap and often proof enough; a new matching is made only when it is not.
        if self.matched is not None and self._prove(_FEW_STEPS):
            return
        self.matched = self._best()
        if not self._prove(_MOST_STEPS):
            raise SolverError("the sparse matching was not optimal on its own pairs; use Exact(device='cpu')")

    def sweep(self, table: CostTable) -> bool:
        return False

    def sharpen(self, u: Float, v: Float) -> bool:
        """It cannot."""
        return False

    @property
    def scale(self) -> float:
        return float(np.abs(self.cost).mean()) or 1.0

    @property
    def potentials(self) -> tuple[Float, Float]:
        return to_numpy(self.u), to_numpy(self.v)

    def entries(self) -> tuple[Index, Index, Float]:
        n = len(self.u)
        matched = np.arange(n) if self.matched is None else self.matched
        return np.arange(n), matched, np.ones(n)

    def _best(self) -> Index:
        """The best full matching among the candidate pairs."""
        n = len(self.u)
        u, v = self.potentials
        reduced = self.cost - u[self.rows] - v[self.cols]
        # A zero would be no entry at all; a constant on every pair changes no matching.
        weights = reduced - min(float(reduced.min()), 0.0) + 1e-3 * self.scale
        pointers = np.searchsorted(self.rows, np.arange(n + 1))
        graph = csr_array((weights, self.cols.astype(np.int32), pointers.astype(np.int32)), shape=(n, n))
        return np.asarray(min_weight_full_bipartite_matching(graph)[1], dtype=np.int64)

    def _prove(self, steps: int) -> bool:
        """Find potentials, feasible on the candidates, that are tight on the matching.

        Bellman-Ford on the columns: a step lowers a column's potential to what a candidate pair
        allows. It comes to rest exactly if no cycle of exchanges would lower the matching's cost.
        """
        if self.matched is None:
            return False
        mine = self.cost[self.cols == self.matched[self.rows]]
        r, c, match, cost, own = (beside(self.v, x) for x in (self.rows, self.cols, self.matched, self.cost, mine))
        slack = own - self.u - self.v[match]
        allowed = cost - self.u[r] - self.v[c] - slack[r]
        via = match[r]
        drop = self.v * 0.0
        for step in range(steps):
            before = drop
            drop = _least_at(drop, c, allowed + drop[via])
            if step % _STEPS == _STEPS - 1 and float((before - drop).max()) <= _TOLERANCE * self.scale:
                self.v = self.v + drop
                self.u = own - self.v[match]
                return True
        return False


def _least_at(values: Any, places: Any, offers: Any) -> Any:
    """The values, lowered at the places to what is offered there."""
    if is_tensor(values):
        return values.scatter_reduce(0, places, offers, "amin")
    lowered = values.copy()
    np.minimum.at(lowered, places, offers)
    return lowered


class LinearProgramme:
    """The same services as `TransportTree`, slower, from SciPy alone.

    Examples
    --------
    >>> programme = LinearProgramme(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    >>> programme.add(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0.0, 1.0, 2.0, 0.5]))
    >>> programme.improve()
    >>> [part.tolist() for part in programme.entries()]
    [[0, 0, 1], [0, 1, 1], [0.25, 0.25, 0.5]]
    """

    def __init__(self, weights0: Float, weights1: Float) -> None:
        self.weights0, self.weights1 = weights0, weights1 * (weights0.sum() / weights1.sum())
        self.rows, self.cols, self.cost = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        self.mass = np.zeros(0)
        self.potentials = np.zeros(len(weights0)), np.zeros(len(weights1))

    def add(self, rows: Index, cols: Index, costs: Float) -> None:
        self.rows, self.cols = np.concatenate([self.rows, rows]), np.concatenate([self.cols, cols])
        self.cost = np.concatenate([self.cost, costs])

    def begin(self, u: Any, v: Any) -> None:
        """The programme needs no start."""

    def improve(self) -> None:
        each, ones = np.arange(len(self.cost)), np.ones(len(self.cost))
        margins = vstack(
            [
                csr_array((ones, (side, each)), shape=(len(weights), len(each)))
                for side, weights in ((self.rows, self.weights0), (self.cols, self.weights1))
            ],
            format="csr",
        )
        # One of the equations follows from the others; with rounded weights it may contradict them.
        wanted = np.concatenate([self.weights0, self.weights1])[:-1]
        for method in _METHODS:
            found = linprog(self.cost / self.scale, A_eq=margins[:-1], b_eq=wanted, method=method)
            if found.status == 0:
                break
        else:
            raise SolverError(f"the linear programme was not solved: {found.message}; install numba")
        self.mass = found.x
        duals = np.append(found.eqlin.marginals, 0.0) * self.scale
        self.potentials = duals[: len(self.weights0)], duals[len(self.weights0) :]

    def sweep(self, table: CostTable) -> bool:
        return False

    def sharpen(self, u: Float, v: Float) -> bool:
        """It cannot."""
        return False

    @property
    def scale(self) -> float:
        return float(np.abs(self.cost).max(initial=0.0)) or 1.0

    def entries(self) -> tuple[Index, Index, Float]:
        used = np.flatnonzero(self.mass > _DUST * self.weights0.sum())
        return self.rows[used], self.cols[used], self.mass[used]

"""The transport problem on candidate pairs as a linear programme of SciPy's; for machines without numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from driftfit.errors import SolverError
from driftfit.transport.problem.cost_table import CostTable

__all__ = ["LinearProgramme"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# The interior way, which ends at a vertex as well, takes a tenth of the time of the simplex; in turn.
_METHODS = ("highs-ipm", "highs")
# Mass below this is rounding.
_DUST = 1e-14


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

"""`Exact`: the optimal plan itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradapt.errors import SolverError
from gradapt.transport.problem import Problem, Solution

__all__ = ["Exact"]

# Entries this much smaller than the largest are dust of the simplex' arithmetic.
_DUST = 1e-14


@dataclass(frozen=True)
class Exact:
    """Optimal transport to machine precision, by the network simplex.

    The plan is a vertex of the transport polytope and so holds at most
    ``n + m - 1`` entries; for equal sizes and uniform weights it is a permutation.

    Parameters
    ----------
    max_iterations : int
        Pivots after which the simplex gives up with an error.

    >>> from gradapt.transport import transport
    >>> plan = transport([[0.0], [1.0]], [[1.5], [0.5]], solver=Exact())
    >>> plan.cols.tolist(), plan.cost
    ([1, 0], 0.25)
    """

    max_iterations: int = 1_000_000_000

    def solve(self, problem: Problem) -> Solution:
        import ot  # slow to import

        rows0 = np.flatnonzero(problem.weights0 > 0)
        cols1 = np.flatnonzero(problem.weights1 > 0)
        costs = problem.cost_matrix()
        if len(rows0) < len(costs) or len(cols1) < costs.shape[1]:
            costs = costs[np.ix_(rows0, cols1)]
        # The simplex' tolerances are absolute: bring the costs to the order of 1.
        scale = float(np.abs(costs).max()) or 1.0
        dense, log = ot.emd(
            problem.weights0[rows0],
            problem.weights1[cols1],
            np.ascontiguousarray(costs / scale),
            numItermax=self.max_iterations,
            log=True,
        )
        if log["warning"] is not None:
            raise SolverError(f"the network simplex did not finish: {log['warning']}; raise max_iterations")
        r, c = np.nonzero(dense > _DUST * dense.max())
        mass = dense[r, c]
        potential = np.zeros(problem.shape[0])
        potential[rows0] = np.asarray(log["u"]) * scale
        return Solution(rows0[r], cols1[c], mass / mass.sum(), potential)

"""The optimal plan of one step among many: no proof is asked for, so small assignments go to SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from driftfit.transport.problem.problem import Problem, Solution
from driftfit.transport.solvers.automatic import choose_solver

__all__ = ["optimal_plan"]

# Samples of each cloud up to which all costs are assigned at once on the processor; a GPU would wait for its launches.
_SMALL = 1_500


def optimal_plan(problem: Problem) -> Solution:
    """The optimal plan, with a potential only where the solver that suits the problem gives one.

    >>> optimal_plan(Problem.of([[0.0], [1.0]], [[1.5], [0.5]])).cols.tolist()
    [1, 0]
    """
    n = problem.shape[0]
    if not problem.uniform or n > _SMALL:
        return choose_solver(problem).solve(problem)
    rows, cols = linear_sum_assignment(problem.cost_matrix())
    return Solution(rows.astype(np.int64), cols.astype(np.int64), np.full(n, 1.0 / n))

"""Which solver to use when the user does not say."""

from __future__ import annotations

from gradapt.transport.approximate import Sliced
from gradapt.transport.exact import Exact
from gradapt.transport.problem import Problem, Solver

__all__ = ["choose_solver"]

# The dense simplex holds about four matrices of float64: 25 million pairs need under 1 GiB.
_EXACT_PAIRS = 25_000_000


def choose_solver(problem: Problem) -> Solver:
    """Exact while the costs fit comfortably into memory, sliced beyond.

    >>> import numpy as np
    >>> choose_solver(Problem.of(np.zeros((5, 2)), np.ones((7, 2))))
    Exact(max_iterations=1000000000, memory=2147483648.0, device='auto')
    """
    n, m = problem.shape
    return Exact() if n * m <= _EXACT_PAIRS else Sliced()

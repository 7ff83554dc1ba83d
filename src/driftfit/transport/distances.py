"""Wasserstein distances between clouds and along sequences of domains."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.transport.problem.costs import PowerMetric, SquaredEuclidean
from driftfit.transport.problem.problem import Problem, Solver
from driftfit.transport.solve import solve
from driftfit.transport.solvers.exact import Exact

__all__ = ["average_shift", "distance_matrix", "path_length", "shifts", "wasserstein"]


def wasserstein(
    x0: Any,
    x1: Any,
    p: float = 2.0,
    weights0: Any = None,
    weights1: Any = None,
    *,
    metric: str = "euclidean",
    solver: Solver | None = None,
) -> float:
    """The ``p``-Wasserstein distance of two clouds, ``1 <= p <= inf``.

    Parameters
    ----------
    x0, x1 : array-like
        Samples of the two domains.
    p : float
        1, 2 (default), any larger number, or ``inf`` for the largest single move.
    weights0, weights1 : array-like, optional
    metric : str
        Ground metric, any name of SciPy's ``cdist``.
    solver : Solver, optional
        Exact or chosen by size; for ``p = inf`` always exact.

    Examples
    --------
    >>> wasserstein([[0.0], [1.0]], [[3.0], [5.0]], p=1)
    3.5
    >>> wasserstein([[0.0], [1.0]], [[3.0], [5.0]], p=float("inf"))
    4.0
    """
    try:
        p = float(p)
    except (TypeError, ValueError):
        raise InputError(f"p must be a number >= 1 or inf, got {p!r}") from None
    if not p >= 1:
        raise InputError(f"p must be at least 1, got {p!r}")
    if np.isinf(p):
        problem = Problem.of(x0, x1, weights0, weights1, PowerMetric(metric, 1.0))
        return math.ldexp(_bottleneck(problem), problem.exponent)
    cost = SquaredEuclidean() if metric == "euclidean" and p == 2 else PowerMetric(metric, p)
    problem = Problem.of(x0, x1, weights0, weights1, cost)
    plan = solve(problem, solver)
    if problem.exponent == 0:
        return float(max(plan.cost, 0.0) ** (1.0 / p))
    # The power of the distance may be out of range where the distance is not.
    power = float(plan.mass @ problem.pair_costs(plan.rows, plan.cols))
    return math.ldexp(power ** (1.0 / p), problem.exponent)


def shifts(sequence: DomainSequence, p: float = 2.0, **options: Any) -> NDArray[np.float64]:
    """Distance of each domain from the one before it (the paper's Delta_t).

    >>> from driftfit.domains import Domain
    >>> path = DomainSequence([Domain([[float(i)], [i + 1.0]], labels=[0, 1]) for i in (0, 1, 3)])
    >>> shifts(path).tolist()
    [1.0, 2.0]
    """
    return np.array(
        [wasserstein(a.samples, b.samples, p, a.weights, b.weights, **options) for a, b in pairwise(sequence)]
    )


def path_length(sequence: DomainSequence, p: float = 2.0, **options: Any) -> float:
    """Sum of the shifts: never less than the direct distance from first to last domain."""
    return float(shifts(sequence, p, **options).sum())


def average_shift(sequence: DomainSequence, p: float = 2.0, **options: Any) -> float:
    """Mean of the shifts (the paper's Delta)."""
    return float(shifts(sequence, p, **options).mean())


def distance_matrix(sequence: DomainSequence, p: float = 2.0, **options: Any) -> NDArray[np.float64]:
    """Distances between all pairs of domains."""
    size = len(sequence)
    distances = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            a, b = sequence[i], sequence[j]
            distances[i, j] = distances[j, i] = wasserstein(a.samples, b.samples, p, a.weights, b.weights, **options)
    return distances


def _bottleneck(problem: Problem) -> float:
    """The smallest ``r`` such that some plan moves nothing further than ``r``, by bisection over the distances."""
    rows, cols = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
    distances = problem.cost_matrix()[np.ix_(rows, cols)]
    w0, w1 = problem.weights0[rows], problem.weights1[cols]
    # Every sample must move somewhere, and any plan's largest move is an upper bound.
    low = max(distances.min(axis=1).max(), distances.min(axis=0).max())
    some_plan = Exact().solve(Problem.from_costs(distances, w0, w1))
    high = distances[some_plan.rows, some_plan.cols].max()
    candidates = np.unique(distances[(distances >= low) & (distances <= high)])
    first, last = 0, len(candidates) - 1
    while first < last:
        middle = (first + last) // 2
        if _couples_within(distances <= candidates[middle], w0, w1, problem.uniform):
            last = middle
        else:
            first = middle + 1
    return float(candidates[last])


def _couples_within(
    allowed: NDArray[np.bool_], w0: NDArray[np.float64], w1: NDArray[np.float64], uniform: bool
) -> bool:
    """Whether a full plan exists on the allowed pairs alone."""
    if uniform:
        return bool((maximum_bipartite_matching(csr_array(allowed)) >= 0).all())
    forbidden = Problem.from_costs((~allowed).astype(np.float64), w0, w1)
    plan = Exact().solve(forbidden)
    misplaced = float(plan.mass @ forbidden.pair_costs(plan.rows, plan.cols))
    return misplaced < 1e-12

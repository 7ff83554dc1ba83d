"""Wasserstein distances between clouds, and how far a sequence of domains moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from driftfit.domains import Domain, DomainSequence, some_rows
from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.transport.costs.cost import PowerMetric, SquaredEuclidean
from driftfit.transport.problem import Problem, Solver
from driftfit.transport.solve import solve
from driftfit.transport.solvers.exact import Exact


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


@dataclass(frozen=True, eq=False)
class PathShifts:
    """Wasserstein shifts of a sequence of domains.

    ``p``: order of the distance. ``steps``: distance of each domain from the one before (the paper's Delta_t).
    ``direct``: distance from the first to the last domain. ``classes``: classes of the labels that were given; empty
    without labels. ``class_steps``: of shape (steps, classes); the same for the samples of one class on both sides; NaN
    where one side has none. ``class_direct``: distance from the first to the last domain for each class.
    """

    p: float
    steps: NDArray[np.float64]
    direct: float
    classes: NDArray[Any]
    class_steps: NDArray[np.float64]
    class_direct: NDArray[np.float64]

    @property
    def average(self) -> float:
        """Mean shift of a step (the paper's Delta)."""
        return float(self.steps.mean())

    @property
    def length(self) -> float:
        """Sum of the shifts."""
        return float(self.steps.sum())

    @property
    def detour(self) -> float:
        """Path length over direct distance: 1 on a geodesic."""
        return _ratio(self.length, self.direct)


def measure_path(
    sequence: DomainSequence,
    p: float = 2.0,
    *,
    labels: Sequence[Any] | None = None,
    max_samples: int | None = None,
    **options: Any,
) -> PathShifts:
    """Shifts of a sequence, overall and per class.

    Parameters
    ----------
    sequence : DomainSequence
    p : float
        1, 2, any larger number or ``inf``.
    labels : sequence of arrays, optional
        Labels or pseudo-labels, one array per domain. Without them nothing is measured per
        class; the domains' own labels are not looked at.
    max_samples : int, optional
        Measure on at most this many samples of each domain, drawn alike from domains of one size.
    **options
        As for `wasserstein`.

    Examples
    --------
    >>> path = DomainSequence([Domain([[float(i)], [i + 9.0]], labels=[0, 1]) for i in (0, 3, 1)])
    >>> shifts = measure_path(path, labels=[[0, 1]] * 3)
    >>> shifts.steps.tolist(), shifts.length, shifts.direct, shifts.detour
    ([3.0, 2.0], 5.0, 1.0, 5.0)
    >>> shifts.class_steps.tolist()
    [[3.0, 3.0], [2.0, 2.0]]
    """
    domains = list(sequence)
    tags = [None] * len(domains) if labels is None else [np.asarray(tag) for tag in labels]
    if len(tags) != len(domains):
        raise InputError(f"labels must hold one array for each of the {len(domains)} domains, got {len(tags)}")
    for domain, tag in zip(domains, tags, strict=True):
        if tag is not None and tag.shape != (len(domain),):
            raise InputError(f"domain {domain.name!r} has {len(domain)} samples but labels of shape {tag.shape}")
    clouds = [_cloud(domain, tag, max_samples) for domain, tag in zip(domains, tags, strict=True)]
    classes = np.unique(np.concatenate([cloud.labels for cloud in clouds])) if labels is not None else np.array([])
    steps = [_distances(a, b, classes, p, options) for a, b in pairwise(clouds)]
    # Two domains are one step: no need to measure it twice.
    direct = steps[0] if len(clouds) == 2 else _distances(clouds[0], clouds[-1], classes, p, options)
    return PathShifts(
        float(p),
        np.array([overall for overall, _ in steps]),
        direct[0],
        classes,
        np.array([per_class for _, per_class in steps]).reshape(len(steps), len(classes)),
        direct[1],
    )


@dataclass(frozen=True, eq=False)
class _Cloud:
    samples: Any
    weights: NDArray[np.float64] | None
    labels: NDArray[Any]


def _cloud(domain: Domain, labels: NDArray[Any] | None, max_samples: int | None) -> _Cloud:
    tags = np.zeros(len(domain), dtype=np.int64) if labels is None else labels
    rows = some_rows(len(domain), max_samples, derive_seed("measure", len(domain)))
    some = domain.take(rows)
    return _Cloud(some.matrix(), some.weights, tags[rows])


def _distances(
    a: _Cloud, b: _Cloud, classes: NDArray[Any], p: float, options: dict[str, Any]
) -> tuple[float, NDArray[np.float64]]:
    overall = wasserstein(a.samples, b.samples, p, a.weights, b.weights, **options)
    per_class = np.full(len(classes), np.nan)
    for number, label in enumerate(classes):
        rows, cols = np.flatnonzero(a.labels == label), np.flatnonzero(b.labels == label)
        if len(rows) and len(cols):
            w0 = None if a.weights is None else a.weights[rows]
            w1 = None if b.weights is None else b.weights[cols]
            per_class[number] = wasserstein(a.samples[rows], b.samples[cols], p, w0, w1, **options)
    return overall, per_class


def _ratio(length: float, direct: float) -> float:
    if direct == 0.0:
        return 1.0 if length == 0.0 else float("inf")
    return float(length / direct)

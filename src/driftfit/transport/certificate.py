"""The certificate: proven bounds on a plan, computed from the problem and never taken from the solver.

Potentials are lowered until they are feasible over all pairs and for the arithmetic used: ``min_i (cost(i, j) - u[i])``
is computed in float64, in blocks, and lowered by what the table of costs says rounding can have done."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.arrays import beside, has_numba, is_tensor, least, to_numpy
from driftfit.transport.costs.cost import PowerMetric, Precomputed, SquaredEuclidean
from driftfit.transport.costs.products import Products, suspects, turned
from driftfit.transport.costs.table import UNIT, CostTable, gamma, less, table_parts
from driftfit.transport.plan import Certificate, relative_gap
from driftfit.transport.problem import Problem, Solution
from driftfit.transport.reductions import collapse

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Covariances of more features than this are not formed for the moment bound.
_MOMENT_FEATURES = 512
# Features from which pairs are screened in float32 before any is computed in float64.
_SCREENED_FEATURES = 16
# Pairs that are looked at for a bound by nearest neighbours, at most.
_NEIGHBOUR_PAIRS = 2.5e9
# Pairs looked at again, one by one, for each sample: more are not worth it.
_CLOSE_PAIRS = 16
# Values below this may be off by as much as the second.
_FAINT, _FAINTEST = 1e-290, 1e-300
# More than a number loses that is scaled to below the range of float64.
_TAKEN = 1e-322
# Bounds that are as close to the cost as this are not looked for again.
_CLOSED = 1e-9
# Units in the last place that the sums of a plan and of its bound are off by, together.
_ROUNDED = 32.0
# Potential of a row that is not looked at: below all others.
_LOWEST = -1e300


def certify(problem: Problem, solution: Solution, seconds: float) -> Certificate:
    """The certificate of a solution that took so many seconds; `proof` with the potentials behind it.

    >>> problem = Problem.of([[0.0], [1.0]], [[5.0], [4.0]])
    >>> certify(problem, Solution(np.arange(2), np.array([1, 0]), np.full(2, 0.5)), 0.0).primal
    16.0
    """
    return proof(problem, solution, seconds, problem.pair_costs(solution.rows, solution.cols))[0]


def proof(
    problem: Problem, solution: Solution, seconds: float, costs: Float
) -> tuple[Certificate, tuple[Float, Float] | None]:
    """Measure the plan's cost and marginals and prove a lower bound on every plan's cost.

    The primal cost is summed over the plan's own entries, from the samples. The
    dual bound uses the solver's first potential only: the second one is its
    c-transform over all pairs, lowered by a bound on the rounding, so whatever the
    solver claims, the pair is feasible. On a device the costs may be those that were formed
    for the solver; costs that it has written into are not used.

    ``seconds``: time the solver took, to be written down. ``costs``: ``problem.pair_costs(solution.rows,
    solution.cols)``. Returns the potentials in the cost of the samples too, if there are any.
    """
    rows, cols, mass = solution.rows, solution.cols, solution.mass
    unit = problem.unit
    primal = math.fsum(mass * costs)
    off0 = np.abs(np.bincount(rows, mass, problem.shape[0]) - problem.weights0)
    off1 = np.abs(np.bincount(cols, mass, problem.shape[1]) - problem.weights1)
    # Negative mass is no mass: it counts as missing, twice.
    marginal_error = float(off0.sum() + off1.sum() + 2.0 * np.maximum(-mass, 0.0).sum())
    # Rounding of the sums over the plan and over potentials of its size. The potentials themselves have no say: they
    # are the solver's, and huge ones would let any plan and any bound pass for one number.
    resolution = _ROUNDED * UNIT * math.fsum(np.abs(mass * costs))
    dual, bound, pair = _bound(problem, solution, costs, primal, resolution)
    dual -= problem.unsure
    if 0.0 < max(abs(primal), abs(dual)) < _FAINT:
        # A relative error says nothing about numbers that lose digits below the range of float64. In a scaled problem
        # these are the digits that scaling took from costs beside far larger ones.
        dual -= _FAINTEST if problem.exponent == 0 else _TAKEN
    if dual < 0 and _never_negative(problem.cost):
        dual = 0.0
    gap = relative_gap(primal, dual)
    if primal != 0 and abs(primal) * unit < sys.float_info.min:
        # In the unit of the samples all of this is below the range of float64: the gap alone can speak.
        resolution = -math.inf
    given = dual * unit
    if dual != 0 and abs(given) < sys.float_info.min:
        # The product was rounded, perhaps upwards.
        given = max(math.nextafter(given, -math.inf), 0.0 if dual > 0 else -math.inf)
    found = Certificate(primal * unit, given, gap, marginal_error, seconds, bound, resolution * (unit or 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        return found, None if pair is None else (pair[0] * unit, pair[1] * unit)


def _bound(
    problem: Problem, solution: Solution, costs: NDArray[np.float64], primal: float, resolution: float
) -> tuple[float, str, tuple[Float, Float] | None]:
    """A lower bound on the cost of every plan, where it comes from, and potentials."""
    u, plan, wanted = solution.potential0, (solution.rows, solution.cols, costs), 1e-11 * abs(primal)
    if u is None:
        return *_bound_without_potentials(problem), None
    dual, *pair = _dual_value(problem, u, wanted, plan)
    middle, most = np.median(u), np.abs(costs).sum()
    if abs(primal - dual) > max(resolution, _CLOSED * abs(primal)) and np.abs(u - middle).max() > most:
        # What exceeds all that is paid costs digits, and most of it is seldom needed.
        dual = max(dual, _dual_value(problem, np.clip(u, middle - most, middle + most), wanted, plan)[0])
    if dual <= 0.0 < primal and _never_negative(problem.cost):
        # Of nearly equal clouds the potentials may be lost in rounding, where distances to the nearest are not.
        return *_bound_without_potentials(problem), None
    return dual, "potentials", (pair[0], pair[1])


def dual_bound(problem: Problem, potential0: NDArray[np.float64]) -> float:
    """Value of the feasible dual pair ``(u, u^c)``: a lower bound on every plan's cost.

    ``u^c[j] = min_i (c[i, j] - u[i])`` runs over the samples that carry weight;
    the others bound nothing.

    >>> problem = Problem.of([[0.0], [1.0]], [[5.0], [4.0]])
    >>> round(dual_bound(problem, np.array([0.0, -8.0])), 9)
    16.0
    """
    return _dual_value(problem, potential0, 0.0, None)[0]


def _dual_value(
    problem: Problem,
    potential0: NDArray[np.float64],
    wanted: float,
    plan: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None,
) -> tuple[float, Float, Float]:
    """The proven value of the dual pair, and the pair."""
    carries = np.flatnonzero(problem.weights0 > 0)
    u = np.full(problem.shape[0], -np.inf)
    u[carries] = potential0[carries]
    # A constant moved from one potential to the other changes nothing; small potentials round less.
    u[carries] -= u[carries] @ problem.weights0[carries]
    merged = None if problem.on_device or isinstance(problem.cost, Precomputed) else collapse(problem)
    if merged is None:
        u, v = _feasible_pair(problem, u, wanted, plan)
    else:
        # Equal samples have equal costs: of their potentials the largest binds.
        largest = np.full(merged.problem.shape[0], -np.inf)
        np.maximum.at(largest, merged.group0, u)
        if plan is not None:
            plan = merged.group0[plan[0]], merged.group1[plan[1]], plan[2]
        low, v = _feasible_pair(merged.problem, largest, wanted, plan)
        u, v = np.minimum(u, low[merged.group0]), v[merged.group1]
    u, v = np.where(problem.weights0 > 0, u, 0.0), np.where(problem.weights1 > 0, v, 0.0)
    terms = np.concatenate([problem.weights0 * u, problem.weights1 * v])
    return math.fsum(terms) - 2.0 * UNIT * math.fsum(np.abs(terms)), u, v


def _feasible_pair(
    problem: Problem,
    u: NDArray[np.float64],
    wanted: float,
    plan: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A potential, lowered by rounding, and its c-transform; rows of minus infinity bound nothing."""
    carries = np.flatnonzero(u > -np.inf)
    if plan is not None:
        place = np.zeros(problem.shape[0], np.int64)
        place[carries] = np.arange(len(carries))
        carried = u[plan[0]] > -np.inf
        plan = place[plan[0][carried]], plan[1][carried], plan[2][carried]
    weights = problem.weights0[carries], problem.weights1
    low = u.copy()
    low[carries], v = transform_bound(
        problem.proven_table(), carries, u[carries], weights, wanted, plan, _screen(problem)
    )
    return low, v


def _screen(problem: Problem) -> Products | None:
    """The float32 product of all pairs, where it is at hand or quicker than one in float64."""
    if problem.on_device or not problem.squared:
        return None
    return problem.products(kept=problem.x0.shape[1] < _SCREENED_FEATURES)


def _never_negative(cost: object) -> bool:
    return isinstance(cost, SquaredEuclidean | PowerMetric) or (
        isinstance(cost, Precomputed) and bool(cost.matrix.min() >= 0)
    )


def moment_bound(problem: Problem) -> float:
    """Gelbrich's bound: no plan is cheaper than the transport of Gaussians with the same moments.

    Squared Euclidean cost only. Linear in the number of samples. Lowered by what rounding can have done to means,
    traces and roots: the root of a matrix that is off by ``e`` is off by the root of ``e`` (Powers and Stormer).
    """
    x0, x1 = np.asarray(problem.x0, np.float64), np.asarray(problem.x1, np.float64)
    mean0, mean1 = problem.weights0 @ x0, problem.weights1 @ x1
    centred0, centred1 = x0 - mean0, x1 - mean1
    cov0 = (centred0 * problem.weights0[:, None]).T @ centred0
    cov1 = (centred1 * problem.weights1[:, None]).T @ centred1
    # tr (A^1/2 B A^1/2)^1/2 is the sum of the singular values of A^1/2 B^1/2.
    cross = np.linalg.svd(_root(cov0) @ _root(cov1), compute_uv=False).sum()
    n, features = max(problem.shape), x0.shape[1]
    off = gamma(n + 4) * (problem.weights0 @ np.abs(x0) + problem.weights1 @ np.abs(x1))
    apart = np.maximum(np.abs(mean0 - mean1) - 2.0 * off, 0.0)
    spread0, spread1 = np.trace(cov0), np.trace(cov1)
    error0, error1 = (features * gamma(n + 16 * features) * own + off @ off for own in (spread0, spread1))
    bound = (apart**2).sum() + spread0 + spread1 - 2 * cross - error0 - error1
    bound -= 2 * (math.sqrt(error0 * (spread1 + error1)) + math.sqrt(error1 * (spread0 + error0)))
    return float(max(bound, 0.0))


def _bound_without_potentials(problem: Problem) -> tuple[float, str]:
    problem = problem.to_host()
    moments = -math.inf
    if problem.squared and problem.x0.shape[1] <= _MOMENT_FEATURES:
        moments = moment_bound(problem)
    if problem.shape[0] * problem.shape[1] > _NEIGHBOUR_PAIRS:
        # A look at all pairs would take far longer than the plan did.
        return (moments, "moments") if moments > -math.inf else (-math.inf, "none")
    nearest = np.zeros(problem.shape[0])
    for part, costs in problem.cost_blocks():
        nearest[part] = costs[:, problem.weights1 > 0].min(axis=1)
    neighbours = dual_bound(problem, np.where(problem.weights0 > 0, nearest, 0.0))
    return (moments, "moments") if moments > neighbours else (neighbours, "neighbours")


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def transform_bound(
    table: CostTable,
    rows: Index,
    u: Float,
    weights: tuple[Float, Float],
    wanted: float,
    plan: tuple[Index, Index, Float] | None = None,
    products: Products | None = None,
) -> tuple[Float, Float]:
    """Potentials ``(u', v)``, proven feasible: ``u'[i] + v[j] <= cost(i, j)`` for all ``i`` of ``rows`` and all ``j``.

    ``v`` is the c-transform of ``u`` and ``u'`` is ``u``, each lowered by the rounding error
    that its own magnitude can have caused. ``wanted`` is the precision aimed at, of the value under
    both ``weights``: where rounding costs more, the close pairs are computed once more from their differences.
    The entries of a ``plan``, with their rows as numbers into ``rows`` and their costs, are a guess at where the minima
    are: if it is good, a float32 pass over the ``products`` of the same samples leaves few pairs undecided.

    >>> from driftfit.transport.problem import Problem
    >>> problem = Problem.of([[0.0], [1.0]], [[5.0]])
    >>> u, v = transform_bound(problem.table(), np.arange(2), np.zeros(2), (np.ones(2) / 2, np.ones(1)), 0.0)
    >>> v.round(9).tolist()
    [16.0]
    """
    if plan is not None and products is not None:
        guessed = _by_guess(table, rows, u, plan, products)
        if guessed is not None:
            return guessed
    rounding = table.rounding
    errors0 = np.zeros(len(rows)) if rounding.rows is None else to_numpy(rounding.rows)[rows]
    errors1 = np.zeros(table.shape[1]) + (0.0 if rounding.columns is None else to_numpy(rounding.columns))
    v = np.full(table.shape[1], np.inf)
    lowered = _lowered(u, rounding.relative + rounding.potential)
    blocks = _ReducedBlocks(table, rows, lowered)
    _lower(blocks, v)
    proven = _lowered(lowered) - errors0, _lowered(v) - errors1
    lost = weights[0] @ errors0 + weights[1] @ errors1
    if lost <= wanted:
        return proven
    # A pair beyond the margin of its column is larger than the least by more than any rounding.
    closer = _close_pairs(blocks, v, 4.0 * (errors1 + errors0.max()))
    return proven if closer is None else closer


class _ReducedBlocks:
    """Costs, lowered by their relative error, less ``u``: block by block, each with its places among ``rows``.

    A tensor that holds them all is kept: they are read again where rounding asks for a second look.
    """

    def __init__(self, table: CostTable, rows: Index, u: Float) -> None:
        self.table, self.rows, self.u = table, rows, u
        self._whole: Any = None

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        if self._whole is not None:
            yield slice(0, len(self.rows)), self._whole
            return
        table, relative = self.table, self.table.rounding.relative
        every = len(self.rows) == table.shape[0]
        for part in table_parts(table):
            if part.start >= len(self.rows):
                return
            some, mine = part if every else self.rows[part], beside(table.home, self.u[part])
            if relative:
                costs = table.block(some)
                reduced = less(costs, mine, None) - (relative + 4.0 * UNIT) * abs(costs)
            else:
                reduced = table.reduced(some, mine)
            if is_tensor(reduced) and len(reduced) == len(self.rows):
                self._whole = reduced
            yield part, reduced


def _lower(blocks: _ReducedBlocks, v: Float) -> None:
    """``v`` lowered to the least of all costs less ``u``, these lowered by their relative error."""
    table, rows, u = blocks.table, blocks.rows, blocks.u
    if not (has_numba() and isinstance(table.home, np.ndarray) and table.rounding.relative):
        for _, reduced in blocks:
            np.minimum(v, to_numpy(least(reduced, 0)), out=v)
        return
    from driftfit.transport.kernels.lists import lower_columns  # numba is slow to import

    every = len(rows) == table.shape[0]
    for part in table_parts(table):
        if part.start < len(rows):
            some = part if every else rows[part]
            lower_columns(table.block(some), u[part], table.rounding.relative + 4.0 * UNIT, v)


def _lowered(values: Float, relative: float = 0.0) -> Float:
    """Less the rounding of a few sums of this size.

    Where costs have a relative error, a row of large costs has a large potential: it bears that error
    itself, and does not lower a column's potential for all others.
    """
    return np.asarray(values - (2.0 * relative + gamma(4)) * np.abs(values))


def _by_guess(
    table: CostTable, rows: Index, u: Float, plan: tuple[Index, Index, Float], products: Products
) -> tuple[Float, Float] | None:
    """The bound from minima that are known at once, if hardly a pair may be below them."""
    lowered = _lowered(u, table.pair_rounding.relative)
    v = np.full(table.shape[1], np.inf)
    np.minimum.at(v, plan[1], plan[2] - lowered[plan[0]])
    reached = np.isfinite(v)
    if not reached.all():
        # Nothing arrives there: such a column bounds no plan, or the plan is none.
        v[~reached] = v[reached].min()
    place = np.zeros(table.shape[0], np.int64)
    place[rows] = np.arange(len(rows))
    # Below their own least cost by rounding, so that the entries of the plan are no suspects for being tight.
    v = _lowered(v, table.pair_rounding.relative)
    every = np.full(table.shape[0], _LOWEST)
    every[rows] = lowered
    found = suspects(products, *turned(products, every, v))
    if found is None:
        return None
    r, c = found
    np.minimum.at(v, c, _pairs_from_below(table, r, c) - lowered[place[r]])
    return lowered, _lowered(v)


def _pairs_from_below(table: CostTable, rows: Index, cols: Index) -> Float:
    """Costs of single pairs, lowered by their rounding."""
    rounding, costs = table.pair_rounding, table.pairs(rows, cols)
    return np.asarray(costs - (rounding.relative + 4.0 * UNIT) * np.abs(costs) - (rounding.columns or 0.0))


def _close_pairs(blocks: _ReducedBlocks, v: Float, margin: Float) -> tuple[Float, Float] | None:
    """The same bound with the pairs that come near the minimum computed one by one."""
    table, rows, u = blocks.table, blocks.rows, blocks.u
    # What is not close is at least this large; the margin holds every row's error.
    bound = v + 0.5 * margin
    lowered = _lowered(u, table.pair_rounding.relative)
    found = 0
    for part, reduced in blocks:
        close = reduced <= beside(reduced, v + margin)
        r, c = (to_numpy(place) for place in (close.nonzero(as_tuple=True) if is_tensor(close) else close.nonzero()))
        found += len(r)
        if found > _CLOSE_PAIRS * sum(table.shape):
            return None
        np.minimum.at(bound, c, _pairs_from_below(table, rows[part][r], c) - lowered[part][r])
    return lowered, _lowered(bound)

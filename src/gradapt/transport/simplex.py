"""Exact transport between any two weighted clouds, by POT's network simplex.

Small problems go to the dense simplex as they are. Large ones are solved on a few
candidate pairs for each sample; all pairs are then priced in blocks, those with a
negative reduced cost join the candidates, and the simplex starts again from its own
potentials until no pair is left to add. The plan is then optimal over all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.errors import SolverError
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import monotone_entries

__all__ = ["priced_simplex", "simplex"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Entries this much smaller than the largest are dust of the simplex' arithmetic.
_DUST = 1e-14
# Candidates for each row and for each column at first, and added at most in each round.
_FIRST_CANDIDATES = 12
_MORE_CANDIDATES = 4
# Reduced costs are compared with the largest cost: below this they are rounding.
_TOLERANCE = 1e-13
# Rounds of pricing, and repairs of a dense solution, before another way is taken.
_ROUNDS = 40
_REPAIRS = 4


def simplex(costs: Float, w0: Float, w1: Float, max_iterations: int) -> tuple[Index, Index, Float, Float]:
    """Rows, columns and mass of an optimal plan, and the first potential, from a dense cost matrix.

    Where a few huge costs hide the small ones from the simplex' arithmetic, it runs
    again on the reduced costs, cut off above those that the plan uses.
    """
    rows, cols, mass, u = _dense_simplex(costs, w0, w1, max_iterations)
    for _ in range(_REPAIRS):
        v = (costs - u[:, None]).min(axis=0)
        u = (costs - v).min(axis=1)
        if _closed(float(mass @ costs[rows, cols]), w0 * u, w1 * v):
            break
        reduced = costs - u[:, None] - v
        cap = _cap(reduced, reduced[rows, cols])
        rows, cols, mass, step = _dense_simplex(np.minimum(reduced, cap), w0, w1, max_iterations)
        u = u + step
    return rows, cols, mass, u


def _dense_simplex(costs: Float, w0: Float, w1: Float, max_iterations: int) -> tuple[Index, Index, Float, Float]:
    try:
        import ot  # slow to import
    except ImportError:
        return _linear_programme(costs, w0, w1)
    # The simplex' tolerances are absolute: bring the costs to the order of 1.
    scale = float(np.abs(costs).max()) or 1.0
    dense, log = ot.emd(w0, w1, np.ascontiguousarray(costs / scale), numItermax=max_iterations, log=True)
    if log["warning"] is not None:
        raise SolverError(f"the network simplex did not finish: {log['warning']}; raise max_iterations")
    r, c = np.nonzero(dense > _DUST * dense.max())
    mass = dense[r, c]
    return r, c, mass / mass.sum(), np.asarray(log["u"]) * scale


def _linear_programme(costs: Float, w0: Float, w1: Float) -> tuple[Index, Index, Float, Float]:
    """The same from SciPy alone, for machines without POT; slower."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n, m = costs.shape
    scale = float(np.abs(costs).max()) or 1.0
    margins = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m))], format="csr")
    # One of the equations follows from the others; with rounded weights it may contradict them.
    found = linprog((costs / scale).ravel(), A_eq=margins[:-1], b_eq=np.concatenate([w0, w1])[:-1], method="highs")
    if found.status != 0:
        raise SolverError(f"the linear programme was not solved: {found.message}; install POT")
    plan = found.x.reshape(n, m)
    rows, cols = np.nonzero(plan > _DUST)
    mass = plan[rows, cols]
    return rows, cols, mass / mass.sum(), np.asarray(found.eqlin.marginals[:n]) * scale


def _closed(primal: float, terms0: Float, terms1: Float) -> bool:
    """Whether plan and potentials agree as far as sums of this size can."""
    gap = primal - terms0.sum() - terms1.sum()
    return bool(gap <= 1e-10 * abs(primal) or gap <= 1e-15 * (np.abs(terms0).sum() + np.abs(terms1).sum()))


def _cap(reduced: Float, used: Float) -> float:
    """A cost that no sensible plan pays, far below the largest one."""
    return float(max(16.0 * used.max(), np.median(reduced))) or 1.0


def priced_simplex(problem: Problem, start: Float, max_iterations: int) -> Solution | None:
    """Solve on candidate pairs with pricing, from approximate potentials of the second cloud.

    All samples must carry weight. ``None`` where this version of POT has no sparse
    simplex that takes potentials, or where pricing does not come to an end.
    """
    try:
        from ot.lp.emd_wrap import emd_c_sparse  # slow to import; not public, so it may be missing
    except ImportError:
        return None
    m, w0 = problem.shape[1], problem.weights0
    w1 = problem.weights1 * (w0.sum() / problem.weights1.sum())
    v = start.astype(np.float64)
    u = np.concatenate([(costs - v).min(axis=1) for _, costs in problem.cost_blocks()])
    edges = np.unique(np.concatenate([_certain_edges(problem), _least(problem, u, v, _FIRST_CANDIDATES, np.inf)[0]]))
    costs = problem.pair_costs(edges // m, edges % m)
    u0, v0, cap = np.zeros_like(u), np.zeros_like(v), np.inf
    for _ in range(_ROUNDS):
        rows, cols = edges // m, edges % m
        given = np.minimum(costs - u0[rows] - v0[cols], cap)
        scale = float(np.abs(given).max()) or 1.0
        r, c, mass, _, alpha, beta, code = emd_c_sparse(
            w0, w1, rows.astype(np.uint64), cols.astype(np.uint64), given / scale, max_iterations,
            (u - u0) / scale, (v - v0) / scale,
        )  # fmt: skip
        if code != 1:
            return None
        u, v = u0 + np.asarray(alpha) * scale, v0 + np.asarray(beta) * scale
        new, slack = _least(problem, u, v, _MORE_CANDIDATES, -_TOLERANCE * scale)
        new = np.setdiff1d(new, edges, assume_unique=True)
        if len(new) == 0:
            keep = mass > _DUST * mass.max()
            r, c, mass = r[keep].astype(np.int64), c[keep].astype(np.int64), mass[keep]
            used = problem.pair_costs(r, c)
            # The simplex leaves reduced costs that are negative by a rounding, or loose: make them tight.
            u = u + slack
            if _closed(float(mass @ used), w0 * u, w1 * v):
                return Solution(r, c, mass / mass.sum(), u)
            u0, v0 = u, v
            cap = _cap(costs - u[rows] - v[cols], used - u[r] - v[c])
        joined = np.concatenate([edges, new])
        order = np.argsort(joined)
        edges, costs = joined[order], np.concatenate([costs, problem.pair_costs(new // m, new % m)])[order]
    return None


def _certain_edges(problem: Problem) -> Index:
    """Pairs of some feasible plan (both clouds in order of one feature), so that the candidates always admit one."""
    order0, order1 = _order(problem.x0), _order(problem.x1)
    rows, cols, _ = monotone_entries(problem.weights0[order0], problem.weights1[order1])
    # Where two seams nearly meet, rounding may hide an entry: its neighbours join.
    ends = np.cumsum(problem.weights0[order0]), np.cumsum(problem.weights1[order1])
    place = np.minimum(np.searchsorted(ends[1], ends[0]), len(order1) - 1)
    near = [np.clip(place + step, 0, len(order1) - 1) for step in (-1, 0, 1)]
    all_rows = np.concatenate(
        [rows, *[np.arange(len(order0))] * 3, np.minimum(np.arange(len(order0)) + 1, len(order0) - 1)]
    )
    all_cols = np.concatenate([cols, *near, place])
    return np.asarray(order0[all_rows] * problem.shape[1] + order1[all_cols])


def _order(x: Any) -> Index:
    first = np.asarray(x[:, [0]].todense() if hasattr(x, "todense") else x[:, 0]).ravel()
    return np.argsort(first, kind="stable")


def _least(problem: Problem, u: Float, v: Float, count: int, limit: float) -> tuple[Index, Float]:
    """Pairs with the ``count`` least reduced costs of each row and column, if below ``limit``; and each row's least."""
    n, m = problem.shape
    k = min(count, m)
    found: list[Index] = []
    best_value, best_row = np.full((min(count, n), m), np.inf), np.zeros((min(count, n), m), np.int64)
    least = np.empty(n)
    for part, costs in problem.cost_blocks():
        reduced = costs - u[part, None] - v
        least[part] = reduced.min(axis=1)
        if least[part].min() >= limit:
            continue
        cols = np.argpartition(reduced, k - 1, axis=1)[:, :k]
        rows = np.arange(part.start, part.stop)[:, None]
        keep = np.take_along_axis(reduced, cols, axis=1) < limit
        found.append((rows * m + cols)[keep])
        _keep_least(best_value, best_row, reduced, part.start)
    found.append((best_row * m + np.arange(m))[best_value < limit])
    return np.unique(np.concatenate(found)), least


def _keep_least(best_value: Float, best_row: Index, reduced: Float, first: int) -> None:
    """Update every column's least values with one block of rows."""
    k = min(len(best_value), len(reduced))
    rows = np.argpartition(reduced, k - 1, axis=0)[:k]
    values = np.concatenate([best_value, np.take_along_axis(reduced, rows, axis=0)])
    places = np.concatenate([best_row, rows + first])
    order = np.argpartition(values, len(best_value) - 1, axis=0)[: len(best_value)]
    best_value[:] = np.take_along_axis(values, order, axis=0)
    best_row[:] = np.take_along_axis(places, order, axis=0)

"""Exact transport on a few candidate pairs: solve on them, price all pairs, add those that still pay, repeat.

One loop for the processor and the GPU, for assignments and for any sizes and weights. What
solves on the candidates is a `Master`; it keeps what it knows while pairs are added.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import SolverError
from driftfit.transport.arrays import beside, is_tensor
from driftfit.transport.costs.passes import distinct, least_pairs, nearly_tight, tighten
from driftfit.transport.costs.products import suspects
from driftfit.transport.costs.table import CostTable
from driftfit.transport.plan import monotone_entries
from driftfit.transport.problem import equal_weights

Float = NDArray[np.float64]
Index = NDArray[np.int64]
Pairs = tuple[Index, Index]
Progress = Callable[[str, float], None]

# Up to this many pairs all of them are candidates.
SMALL_PAIRS = 250 * 250
# Candidate pairs for each row and column at first, and added in each round of pricing.
_CANDIDATES, _MORE_CANDIDATES = 6, 4
_MOST_CANDIDATES, _MOST_ROUNDS = 64, 100
# Rounds of pricing by trees before a pass over all pairs.
_TREE_ROUNDS = 4
# Reduced costs above this share of the largest cost, with the sign turned, are rounding.
_TOLERANCE = 1e-13


class PoorStartError(Exception):
    """A given potential is so far from the best one that another way to begin is quicker."""


class Master(Protocol):
    """A transport problem on candidate pairs."""

    @property
    def scale(self) -> float:
        """The size of its costs."""

    @property
    def potentials(self) -> tuple[Float, Float]: ...

    def add(self, rows: Index, cols: Index, costs: Float) -> None: ...

    def begin(self, u: Any, v: Any) -> None:
        """Start from these potentials."""

    def improve(self) -> Any:
        """Solve on the pairs there are."""

    def sweep(self, table: CostTable) -> bool:
        """Solve over all pairs of the table, where it can and they are at hand; whether it did."""

    def sharpen(self, u: Float, v: Float) -> bool:
        """Look at costs less these potentials where rounding hides the small ones; whether that may help."""

    def entries(self) -> tuple[Index, Index, Float]: ...


def price_out(
    table: CostTable,
    weights: tuple[Float, Float],
    v: Any,
    master: Master,
    progress: Progress | None = None,
    *,
    pairs: Pairs | None = None,
    given: bool = False,
) -> tuple[Index, Index, Float, Float]:
    """Rows, columns and mass of an optimal plan, and its first potential.

    Parameters
    ----------
    table : CostTable
    weights : two float arrays
        All positive, of one sum.
    v : array or tensor
        Approximate potential of the second cloud, where the table's blocks live.
    master : Master
    pairs : two int arrays, optional
        Pairs of some plan, so that the candidates admit one.
    given : bool
        Whether the potential is a user's: where it is poor, `PoorStartError` says so soon.

    Examples
    --------
    >>> from driftfit.transport.problem import Problem
    >>> from driftfit.transport.solvers.masters import LinearProgramme
    >>> problem, half = Problem.of([[0.0], [1.0]], [[1.5], [0.5]]), np.full(2, 0.5)
    >>> found = price_out(problem.table(), (half, half), np.zeros(2), LinearProgramme(half, half))
    >>> found[1].tolist()
    [1, 0]
    """
    m = table.shape[1]
    edges, more = _begin(table, v, master, pairs or monotone_entries(*weights)[:2]), _MORE_CANDIDATES
    for number in range(_MOST_ROUNDS):
        master.improve()
        u, v = master.potentials
        table, new, slack = _paying(table, u, v, more, -_TOLERANCE * master.scale, edges)
        if progress is not None:
            progress("pricing", 1.0 if len(new) == 0 else 1.0 - 1.0 / (number + 2))
        if len(new) == 0:
            # The master leaves reduced costs that are negative by a rounding, or loose: make them tight.
            u, plan = u + slack, master.entries()
            if _closed(table, plan, weights, u, v) or not master.sharpen(u, v):
                return *plan, u
            continue
        if len(new) > sum(table.shape):
            if given and number == 0:
                raise PoorStartError
            # The first potentials were poor: over all pairs at once, or more of them; trees serve for more rounds.
            if number >= (1 if table.trees is None else _TREE_ROUNDS):
                table = table.precise()
                if master.sweep(table):
                    continue
            more = min(2 * more, _MOST_CANDIDATES)
        edges = np.sort(np.concatenate([edges, new]), kind="stable")
        master.add(new // m, new % m, table.pairs(new // m, new % m))
    raise SolverError(f"pricing did not end in {_MOST_ROUNDS} rounds; use Sinkhorn() for a plan with a proven gap")


def _begin(table: CostTable, v: Any, master: Master, pairs: Pairs) -> Index:
    """Give the master its first pairs, those of least reduced cost and of a plan; their numbers."""
    n, m = table.shape
    if n * m <= SMALL_PAIRS and not is_tensor(table.home):
        edges, (u, v) = np.arange(n * m), tighten(table, v)
    else:
        u, v, found = nearly_tight(table, v, _CANDIDATES)
        edges = distinct([found, pairs[0] * m + pairs[1]])
    rows, cols = np.divmod(edges, m)
    costs = table.pairs(rows, cols)
    master.add(rows, cols, costs)
    master.begin(u, v)
    return edges


def _paying(
    table: CostTable, u: Float, v: Float, count: int, limit: float, edges: Index
) -> tuple[CostTable, Index, Float]:
    """Pairs to add, those below the limit, and the least reduced cost of each row; the table that could tell.

    A float32 product only suggests pairs: each is computed, and where none of them pays, all that it leaves undecided.
    """
    if table.screen is None:
        found, lowest = least_pairs(table, beside(table.home, u), beside(table.home, v), count, limit)
        return table, _not_among(found, edges), lowest
    suggested = np.divmod(least_pairs(table, u, v, count, limit)[0], table.shape[1])
    new, lowest = _computed(table, u, v, suggested, limit, edges)
    if len(new):
        return table, new, lowest
    undecided = suspects(table.screen, u, v)
    if undecided is None:
        return _paying(table.precise(), u, v, count, limit, edges)
    return table, *_computed(table, u, v, undecided, limit, edges)


def _computed(
    table: CostTable, u: Float, v: Float, pairs: tuple[Index, Index], limit: float, edges: Index
) -> tuple[Index, Float]:
    """Those of some pairs that are below the limit and no edges yet; the least reduced cost of each row among all."""
    rows, cols = pairs
    reduced, lowest = table.pairs(rows, cols) - u[rows] - v[cols], np.zeros(table.shape[0])
    np.minimum.at(lowest, rows, reduced)
    return _not_among((rows * table.shape[1] + cols)[reduced < limit], edges), lowest


def _closed(
    table: CostTable, plan: tuple[Index, Index, Float], weights: tuple[Float, Float], u: Float, v: Float
) -> bool:
    """Whether plan and potentials agree as far as sums of this size can."""
    primal = float(plan[2] @ table.pairs(plan[0], plan[1]))
    terms0, terms1 = weights[0] * u, weights[1] * v
    gap = primal - terms0.sum() - terms1.sum()
    return bool(gap <= 1e-10 * abs(primal) or gap <= 1e-15 * (np.abs(terms0).sum() + np.abs(terms1).sum()))


def whole_units(weights0: Float, weights1: Float) -> tuple[Float, Float]:
    """The weights; where each side's are equal, as whole numbers, which are exchanged without rounding.

    >>> [side.tolist() for side in whole_units(np.full(2, 0.5), np.full(4, 0.25))]
    [[2.0, 2.0], [1.0, 1.0, 1.0, 1.0]]
    """
    n, m = len(weights0), len(weights1)
    if equal_weights(weights0) and equal_weights(weights1):
        common = gcd(n, m)
        return np.full(n, m / common), np.full(m, n / common)
    return weights0, weights1


def _not_among(numbers: Index, others: Index) -> Index:
    """Those of some numbers that are not in another ordered list."""
    place = np.minimum(np.searchsorted(others, numbers), len(others) - 1)
    return np.asarray(numbers[others[place] != numbers])

"""Proven lower bounds on the c-transform of a potential, over all pairs and for the arithmetic used.

``min_i (cost(i, j) - u[i])`` is computed in float64, in blocks, and lowered by what the table of
costs says rounding can have done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels import has_numba
from driftfit.transport.kernels.arrays import beside, is_tensor, least, to_numpy
from driftfit.transport.problem.cost_table import UNIT, CostTable, gamma, less, table_parts
from driftfit.transport.problem.float32_products import Products
from driftfit.transport.problem.screening import suspects, turned

__all__ = ["transform_bound"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Pairs looked at again, one by one, for each sample: more are not worth it.
_CLOSE_PAIRS = 16
# Potential of a row that is not looked at: below all others.
_LOWEST = -1e300


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

    Examples
    --------
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
    from driftfit.transport.kernels.listing_loops import lower_columns  # numba is slow to import

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

"""Passes over all pairs: feasible potentials, and the pairs of least reduced cost of each row and column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.arrays import (
    THREADED,
    beside,
    concatenated,
    has_numba,
    in_threads,
    least,
    smallest,
    taken,
    to_numpy,
    vector,
    worker_count,
)
from driftfit.transport.costs.near import NearTable, SampleTree
from driftfit.transport.costs.table import CostTable, table_parts

Float = NDArray[np.float64]
Index = NDArray[np.int64]


def tighten(table: CostTable, v: Any) -> tuple[Any, Any]:
    """Feasible potentials from the second one, by exact c-transforms."""
    if table.trees is not None:
        u = _least(table.trees.columns, table.trees.first, v)
        return u, _least(table.trees.rows, table.trees.second, u)
    if has_numba() and isinstance(table.home, np.ndarray):
        return _compiled_transforms(table, v)
    columns = []
    for part in table_parts(table):
        reduced = table.reduced(part, v=v)
        columns.append((v + least(reduced - least(reduced, 1)[:, None], 0))[None])
    v = least(concatenated(columns), 0)
    return concatenated([least(table.reduced(part, v=v), 1) for part in table_parts(table)]), v


def nearly_tight(table: CostTable, v: Any, count: int) -> tuple[Any, Any, Index]:
    """Feasible potentials from the second one, and numbers of the ``count`` least pairs of each row and column."""
    trees = table.trees
    if trees is None:
        u, v = tighten(table, v)
        return u, v, least_pairs(table, u, v, count)[0]
    # One search gives a potential and the pairs near it.
    (n, m), (in_row, by_rows) = table.shape, trees.columns.nearest(trees.first, -v, count)
    u = by_rows[:, 0]
    in_column, by_columns = trees.rows.nearest(trees.second, -u, count)
    pairs = [(np.arange(n)[:, None] * m + in_row).ravel(), (in_column * m + np.arange(m)[:, None]).ravel()]
    return u, by_columns[:, 0], distinct(pairs)


def carried(table: CostTable, u: Any) -> Float:
    """The second potential that goes with a first one: the largest that is feasible.

    >>> from driftfit.transport.problem import Problem
    >>> carried(Problem.of([[0.0], [1.0]], [[3.0]]).table(), np.array([1.0, 0.0])).tolist()
    [4.0]
    """
    if table.quick:
        near = NearTable(table.innermost)
        return _least(near.rows, near.second, u)
    v = np.full(table.shape[1], np.inf)
    for part in table_parts(table):
        np.minimum(v, to_numpy(least(table.reduced(part, beside(table.home, u[part])), 0)), out=v)
    return v


def _least(tree: SampleTree, queries: Float, potential: Float) -> Float:
    """The c-transform of a potential of the tree's samples."""
    return tree.nearest(queries, -potential, 1)[1][:, 0]


def _compiled_transforms(table: CostTable, v: Float) -> tuple[Float, Float]:
    """The same, reading every cost twice."""
    from driftfit.transport.kernels.lists import transform_rows  # numba is slow to import

    n, m = table.shape
    raw, factor, (terms0, terms1) = table.raw()
    v = v - terms1
    u, second = np.empty(n), np.full(m, np.inf)
    for part in table_parts(table):
        block = raw(part)

        def transform(piece: slice, block: Any = block, into: Float = u[part]) -> Float:
            columns = np.full(m, np.inf)
            transform_rows(block[piece], factor, v, into[piece], columns)
            return columns

        second = np.minimum.reduce([second, *in_threads(transform, len(block), small=block.size < THREADED)])
    for part in table_parts(table):
        block = raw(part)

        def again(piece: slice, block: Any = block, into: Float = u[part]) -> None:
            transform_rows(block[piece], factor, second, into[piece], np.empty(0))

        in_threads(again, len(block), small=block.size < THREADED)
    return u + terms0, second + terms1


def least_pairs(table: CostTable, u: Any, v: Any, count: int, limit: float | None = None) -> tuple[Index, Float]:
    """Numbers ``row * m + column`` of the least reduced costs, and the least of each row.

    The ``count`` least of each row and of each column, those below ``limit`` alone where it is given; nothing is said
    about the least of a row then if it is above that and above zero.

    >>> from driftfit.transport.problem import Problem
    >>> table = Problem.of([[0.0], [1.0]], [[1.5], [0.5]]).table()
    >>> [part.tolist() for part in least_pairs(table, np.zeros(2), np.zeros(2), 1)]
    [[1, 2], [0.25, 0.25]]
    """
    if table.trees is not None:
        return _by_trees(table.trees, u, v, count, limit)
    if has_numba() and isinstance(table.home, np.ndarray):
        return _compiled_pass(table, u, v, count, limit)
    found, lowest = [], []
    best = _Columns(table, min(count, table.shape[0]))
    for part in table_parts(table):
        reduced = table.reduced(part, u[part], v)
        lowest.append(to_numpy(least(reduced, 1)))
        rows, columns = np.arange(part.start, part.stop), slice(None)
        if limit is not None:
            if lowest[-1].min() >= limit:
                continue
            # Hardly a row or column has a pair to add in the end: only those are ranked.
            columns = beside(reduced, np.flatnonzero(to_numpy(least(reduced, 0)) < limit))
        best.update(reduced, part.start, columns)
        if limit is not None:
            paying = np.flatnonzero(lowest[-1] < limit)
            rows, reduced = rows[paying], reduced[beside(reduced, paying)]
        place, values = (to_numpy(x) for x in smallest(reduced, count, 1))
        found.append((rows[:, None] * table.shape[1] + place)[values < (np.inf if limit is None else limit)])
    found.append(best.numbers(limit))
    return distinct(found), np.concatenate(lowest)


def _by_trees(table: NearTable, u: Float, v: Float, count: int, limit: float | None) -> tuple[Index, Float]:
    """The same from trees of both clouds, without a look at most pairs."""
    n, m = table.shape
    # Searches that end at the limit are far quicker; what is tight is found even where only what pays is asked for.
    most, limit = (np.inf, np.inf) if limit is None else (abs(limit), limit)
    in_row, by_rows = table.columns.nearest(table.first, -v, count, u + most)
    in_column, by_columns = table.rows.nearest(table.second, -u, count, v + most)
    by_rows, by_columns = by_rows - u[:, None], by_columns - v[:, None]
    pairs = [
        (np.arange(n)[:, None] * m + in_row)[by_rows < limit],
        (in_column * m + np.arange(m)[:, None])[by_columns < limit],
    ]
    return distinct(pairs), np.minimum(by_rows[:, 0], max(limit, 0.0))


def _compiled_pass(table: CostTable, u: Float, v: Float, count: int, limit: float | None) -> tuple[Index, Float]:
    """The same in one pass that reads every cost once and ranks nothing that is not among the least."""
    from driftfit.transport.kernels.pricing import price_rows  # numba is slow to import

    n, m = table.shape
    below = np.inf if limit is None else limit
    lowest = np.empty(n)
    in_row, row_best = _nothing_yet(n, min(count, m))
    # Each core has columns of its own.
    spare = [_nothing_yet(m, min(count, n)) for _ in range(worker_count())]
    raw, factor, (terms0, terms1) = table.raw()
    u, v = u - terms0, v - terms1
    for part in table_parts(table):
        block = raw(part)

        def price(piece: slice, block: Any = block, first: int = part.start) -> None:
            columns = spare.pop()
            price_rows(block[piece], factor, u, v, first + piece.start, below, lowest, in_row, row_best, *columns)
            spare.append(columns)

        in_threads(price, len(block), small=block.size < THREADED)
    in_column, column_best = (np.concatenate([columns[k] for columns in spare], axis=1) for k in range(2))
    if len(spare) > 1 and limit is None:
        place, column_best = smallest(column_best, min(count, n), 1)
        in_column = taken(in_column, place, 1)
    by_rows = (np.arange(n)[:, None] * m + in_row)[row_best < below]
    by_columns = (in_column * m + np.arange(m)[:, None])[column_best < below]
    return distinct([by_rows, by_columns]), lowest


def _nothing_yet(size: int, count: int) -> tuple[Index, Float]:
    """Places and values of the least, before any is seen."""
    return np.zeros((size, count), np.int64), np.full((size, count), np.inf)


def distinct(parts: list[Index]) -> Index:
    """All numbers, each once, in order; sorting is quicker here than the hashing of `np.unique`."""
    numbers = np.sort(np.concatenate(parts))
    return np.asarray(numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers)


class _Columns:
    """Of each column, the rows of least reduced cost in all blocks so far."""

    def __init__(self, table: CostTable, count: int) -> None:
        shape = (count, table.shape[1])
        self.value = vector(table.home, shape, np.inf)
        self.row = vector(table.home, shape, 0, whole=True)

    def update(self, reduced: Any, first: int, columns: Any) -> None:
        place, values = smallest(reduced[:, columns], len(self.value), 0)
        values = concatenated([self.value[:, columns], values])
        rows = concatenated([self.row[:, columns], place + first])
        top, least_values = smallest(values, len(self.value), 0)
        self.value[:, columns] = least_values
        self.row[:, columns] = taken(rows, top, 0)

    def numbers(self, limit: float | None) -> Index:
        value, row = to_numpy(self.value), to_numpy(self.row)
        pairs = row * value.shape[1] + np.arange(value.shape[1])
        return np.asarray(pairs[value < (np.inf if limit is None else limit)])

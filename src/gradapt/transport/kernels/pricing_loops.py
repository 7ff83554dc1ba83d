"""A compiled pass that prices a block of costs; imported only when a solve needs it."""

from __future__ import annotations

import numpy as np
from numba import njit

from gradapt.transport.kernels import UNCOUNTED
from gradapt.transport.kernels.listing_loops import lane_minima

__all__ = ["places_below", "price_rows", "replace_largest"]

# Columns looked at together: hardly any of them is among the least.
_CHUNK = 128


@njit(cache=True, nogil=True)
def places_below(product, factor, a, b, rows, cols):  # type: ignore[no-untyped-def]
    """Places where ``factor * product + a + b`` is not positive; how many, or one more than there is room."""
    lanes, count = np.empty(min(b.size, 256)), 0
    for i in range(product.shape[0]):
        lane_minima(product[i], factor, b, lanes)
        for q in range(lanes.size):
            if lanes[q] > -a[i]:
                continue
            for j in range(q, b.size, lanes.size):
                if factor * product[i, j] + b[j] <= -a[i]:
                    if count == rows.size:
                        return count + 1
                    rows[count], cols[count] = i, j
                    count += 1
    return count


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"}, **UNCOUNTED)
def _any_below(costs, factor, shift, v, row_gate, gate):  # type: ignore[no-untyped-def]
    """How many values of some columns are below their gate or the row's; the compiler vectorises a count."""
    count = 0
    for j in range(costs.size):
        value = factor * costs[j] - shift - v[j]
        count += (value < row_gate) | (value < gate[j])
    return count


@njit(cache=True, nogil=True)
def price_rows(costs, factor, u, v, first, limit, lowest, in_row, row_best, in_column, column_best):  # type: ignore[no-untyped-def]
    """Update the least reduced costs of rows and columns with one block of rows, read once.

    A cost is ``factor`` times the entry of the block. ``in_row`` holds the columns of each row's least values and
    ``row_best`` the values, ``in_column`` and
    ``column_best`` rows and values for each column; the largest of each stands first. Values from ``limit`` on are
    not looked at.
    """
    count_row, count_column = row_best.shape[1], column_best.shape[1]
    m = v.size
    gate, lanes, turned = np.empty(m), np.empty(min(m, 256)), -v
    for j in range(m):
        gate[j] = min(limit, column_best[j, 0])
    for i in range(costs.shape[0]):
        row = first + i
        lane_minima(costs[i], factor, turned, lanes)
        lowest[row] = lanes.min() - u[row]
        if lowest[row] >= limit:
            continue
        row_gate = min(limit, row_best[row, 0])
        for start in range(0, m, _CHUNK):
            some = slice(start, start + _CHUNK)
            if _any_below(costs[i, some], factor, u[row], v[some], row_gate, gate[some]) == 0:
                continue
            for j in range(start, min(start + _CHUNK, m)):
                value = factor * costs[i, j] - u[row] - v[j]
                if value < row_gate:
                    replace_largest(row_best[row], in_row[row], value, j, count_row)
                    row_gate = min(limit, row_best[row, 0])
                if value < gate[j]:
                    replace_largest(column_best[j], in_column[j], value, row, count_column)
                    gate[j] = min(limit, column_best[j, 0])


@njit(cache=True, nogil=True, **UNCOUNTED)
def replace_largest(values, places, value, place, count):  # type: ignore[no-untyped-def]
    """Put a value in place of the largest, which stands first; a heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[at] = values[child]
        places[at] = places[child]
        at = child
    values[at] = value
    places[at] = place

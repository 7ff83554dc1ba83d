"""A compiled pass that prices a block of costs; imported only when a solve needs it."""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED
from driftfit.transport.kernels.listing_loops import lane_minima
from driftfit.transport.kernels.quantised_loops import ROUNDING, code_minima, in_range, too_coarse

__all__ = ["places_below", "price_rows", "replace_largest"]

# Columns looked at together: hardly any of them is among the least.
_CHUNK, _LANES = 128, 256


@njit(cache=True, nogil=True)
def places_below(product, factor, quantised, a, b, rows, cols):  # type: ignore[no-untyped-def]
    """Places where ``factor * product + a + b`` is not positive; how many, or one more than there is room.

    ``quantised`` are the codes of ``factor * product``, or none. No such place is missed, whatever they round.
    """
    codes, low, step = quantised
    lanes, count = np.empty(min(b.size, _LANES)), 0
    narrow, code_lanes = b.astype(np.float32), np.empty(lanes.size, np.float32)
    largest = np.abs(b).max()
    for i in range(product.shape[0]):
        costs, most = product[i], -a[i]
        coarse = codes.shape[0] > 0 and in_range(step[i]) and abs(a[i]) < np.inf
        if coarse:
            # A place that is meant has a sum of code and b below this, in float32 too.
            gate = np.float32(most - low[i] + ROUNDING * (255.0 * step[i] + largest + abs(a[i]) + abs(low[i])))
            unit = np.float32(step[i])
            code_minima(codes[i], unit, narrow, code_lanes)
            coarse = not too_coarse(code_lanes, gate)
        if coarse:
            count = _places(i, codes[i], unit, narrow, gate, code_lanes, costs, factor, b, most, rows, cols, count)
        else:
            lane_minima(costs, factor, b, lanes)
            count = _places(i, costs, factor, b, most, lanes, costs, factor, b, most, rows, cols, count)
        if count > rows.size:
            break
    return count


@njit(cache=True, nogil=True, **UNCOUNTED)
def _places(i, bounds, unit, narrow, gate, lanes, costs, factor, b, most, rows, cols, count):  # type: ignore[no-untyped-def]
    """Add the places of row ``i`` where ``factor * cost + b`` is at most ``most``; others are above a gate before."""
    for q in range(lanes.size):
        if lanes[q] > gate:
            continue
        for j in range(q, b.size, lanes.size):
            if unit * bounds[j] + narrow[j] <= gate and factor * costs[j] + b[j] <= most:
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
    m = v.size
    gate, lanes, turned = np.empty(m), np.empty(min(m, _LANES)), -v
    for j in range(m):
        gate[j] = min(limit, column_best[j, 0])
    for i in range(costs.shape[0]):
        row = first + i
        lane_minima(costs[i], factor, turned, lanes)
        lowest[row] = lanes.min() - u[row]
        if lowest[row] < limit:
            _price_row(
                row, costs[i], factor, u[row], v, limit, gate, in_row[row], row_best[row], in_column, column_best
            )


@njit(cache=True, nogil=True, **UNCOUNTED)
def _price_row(row, costs, factor, shift, v, limit, gate, in_row, row_best, in_column, column_best):  # type: ignore[no-untyped-def]
    """One row of `price_rows`, chunk after chunk."""
    row_gate, chunks = min(limit, row_best[0]), (v.size + _CHUNK - 1) // _CHUNK
    for k in range(chunks):
        # Ties are taken from a different place in each row: tied rows are not all given the same columns.
        start = (k + row) % chunks * _CHUNK
        some = slice(start, start + _CHUNK)
        if _any_below(costs[some], factor, shift, v[some], row_gate, gate[some]) == 0:
            continue
        for j in range(start, min(start + _CHUNK, v.size)):
            value = factor * costs[j] - shift - v[j]
            if value < row_gate:
                replace_largest(row_best, in_row, value, j, row_best.size)
                row_gate = min(limit, row_best[0])
            if value < gate[j]:
                replace_largest(column_best[j], in_column[j], value, row, column_best.shape[1])
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

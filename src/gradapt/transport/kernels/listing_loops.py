"""Compiled loops that read costs once: short lists of least costs, minima of rows and columns, squared distances.

Minima of a row are taken lane by lane, over columns that lie a stripe apart: the compiler
vectorises that, as it does not a running minimum. Slices begin at zero so that it sees no index below it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["insert", "lane_minima", "list_rows", "lower_columns", "pair_differences", "squared_differences", "transform_rows"]

# Groups of lanes for each column wanted, and lanes of a group: fewer columns are then looked at a second time.
_GROUPS_EACH, _LANES_EACH = 4, 8
# NaN never reaches the loops; without this minima are not vectorised.
_FAST = {"nnan", "nsz", "contract"}
# Distances formed at a time: they and as many coordinates stay in the nearest cache.
_TILE = 1024


@njit(cache=True, nogil=True)
def _kth(values, size, k):  # type: ignore[no-untyped-def]
    """The ``k``-th smallest (from 0) of ``values[:size]``, which are reordered."""
    low, high = 0, size - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@njit(cache=True, nogil=True, fastmath=_FAST)
def lane_minima(costs, factor, price, minima):  # type: ignore[no-untyped-def]
    """``minima[q]``: the least ``factor * cost + price`` of columns ``q``, ``q + w``, ...; ``w`` lanes."""
    m, w = price.size, minima.size
    for q in range(w):
        minima[q] = np.inf
    for first in range(0, m, w):
        some, prices = costs[first : first + w], price[first : first + w]
        for q in range(some.size):
            value = factor * some[q] + prices[q]
            minima[q] = value if value < minima[q] else minima[q]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _group_minima(minima, least):  # type: ignore[no-untyped-def]
    """``least[g]``: the least of lanes ``g``, ``g + w``, ...; ``w`` groups."""
    w = least.size
    for g in range(w):
        least[g] = np.inf
    for first in range(0, minima.size, w):
        some = minima[first : first + w]
        for g in range(some.size):
            least[g] = some[g] if some[g] < least[g] else least[g]


@njit(cache=True, nogil=True)
def insert(found, column, value, its_cost, idx, cost, floor):  # type: ignore[no-untyped-def]
    """Put a column into the list of a row, which has ``found`` of them in the order of their values."""
    at = found
    while at > 0 and floor[at - 1] > value:
        floor[at], idx[at], cost[at] = floor[at - 1], idx[at - 1], cost[at - 1]
        at -= 1
    floor[at], idx[at], cost[at] = value, column, its_cost


@njit(cache=True, nogil=True)
def list_rows(matrix, factor, sources, targets, price, wanted, idx, cost, floor, length, tau):  # type: ignore[no-untyped-def]
    """Fill the lists of rows ``targets`` from rows ``sources`` of ``matrix`` at the given prices.

    A cost is ``factor`` times the entry of the matrix. At least ``wanted`` columns of least
    ``cost + price`` are listed, at most as many as a list holds, the least first; ``floor`` gets these values. Ties are taken from a
    different place in each row, so that tied rows do not all list the same columns.
    """
    m, capacity = price.size, idx.shape[1]
    groups = min(m, _GROUPS_EACH * wanted)
    lanes = min(m, _LANES_EACH * groups)
    minima, least, spare = np.empty(lanes), np.empty(groups), np.empty(m)
    values, columns = np.empty(m), np.empty(m, np.int64)
    for position in range(sources.size):
        costs, row = matrix[sources[position]], targets[position]
        lane_minima(costs, factor, price, minima)
        _group_minima(minima, least)
        threshold = np.inf
        if m > capacity:
            spare[:groups] = least
            threshold = _kth(spare, groups, wanted - 1)
        start = (row * 7919) % groups
        found = 0
        for shifted in range(groups):
            group = shifted + start - (groups if shifted + start >= groups else 0)
            if least[group] > threshold:
                continue
            for q in range(group, lanes, groups):
                if minima[q] > threshold:
                    continue
                for j in range(q, m, lanes):
                    value = factor * costs[j] + price[j]
                    if value <= threshold:
                        values[found] = value
                        columns[found] = j
                        found += 1
        ties_left = found
        if found > capacity:
            spare[:found] = values[:found]
            threshold = _kth(spare, found, capacity - 1)
            ties_left = capacity
            for k in range(found):
                ties_left -= values[k] < threshold
        kept = 0
        for k in range(found):
            if values[k] < threshold or (values[k] == threshold and ties_left > 0):
                ties_left -= values[k] == threshold
                insert(kept, columns[k], values[k], factor * costs[columns[k]], idx[row], cost[row], floor[row])
                kept += 1
        length[row] = kept
        tau[row] = np.inf if kept == m else threshold


@njit(cache=True, nogil=True, fastmath=_FAST)
def transform_rows(costs, factor, v, u, columns):  # type: ignore[no-untyped-def]
    """``u[i]``, the least cost less ``v[j]``; ``columns[j]`` lowered to the least cost less ``u[i]``.

    A cost is ``factor`` times the entry of ``costs``.
    """
    lanes = np.empty(min(v.size, 256))
    turned = -v
    for i in range(costs.shape[0]):
        row = costs[i]
        lane_minima(row, factor, turned, lanes)
        least = lanes.min()
        u[i] = least
        for j in range(columns.size):
            value = factor * row[j] - least
            columns[j] = value if value < columns[j] else columns[j]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def lower_columns(costs, u, relative, columns):  # type: ignore[no-untyped-def]
    """``columns[j]`` lowered to the least ``costs[i, j] - u[i]`` less ``relative`` times the size of that cost."""
    for i in range(costs.shape[0]):
        row, potential = costs[i], u[i]
        for j in range(columns.size):
            value = (row[j] - potential) - relative * abs(row[j])
            columns[j] = value if value < columns[j] else columns[j]


@njit(cache=True, nogil=True, fastmath={"contract"})
def squared_differences(first, second, out):  # type: ignore[no-untyped-def]
    """Squared distances of the rows of ``first`` from the columns of ``second``, feature after feature."""
    m = second.shape[1]
    for start in range(0, m, _TILE):
        for i in range(first.shape[0]):
            line = out[i, start : start + _TILE]
            for j in range(line.size):
                line[j] = 0.0
            for k in range(first.shape[1]):
                value, other = first[i, k], second[k, start : start + _TILE]
                for j in range(line.size):
                    difference = value - other[j]
                    line[j] += difference * difference


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def pair_differences(first, second, rows, cols, shift, out):  # type: ignore[no-untyped-def]
    """Squared lengths of ``first[rows] - second[cols] - shift``, in float64, summed in any order."""
    for k in range(rows.size):
        x, y = first[rows[k]], second[cols[k]]
        total = 0.0
        for f in range(shift.size):
            difference = np.float64(x[f]) - np.float64(y[f]) - shift[f]
            total += difference * difference
        out[k] = total

"""Compiled loops that read costs once: short lists of least costs, minima of rows and columns, squared distances.

Minima of a row are taken lane by lane, over columns that lie a stripe apart: the compiler
vectorises that, as it does not a running minimum. Slices begin at zero so that it sees no index below it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED

# A code is off by this share of a step at most: a float32 quotient below 256 is off by far less.
_MARGIN = 2.0**-6
# Costs that differ by less than this share of their size are too close for their steps to be told apart.
_ALIKE = 1e-12
_LANES = 256
# Codes leave a step of a cost open, and a bit; their sums with prices are off by less than this share of their terms.
CODE, ROUNDING = 1.0 + 2.0**-4, 2.0**-20
# Where codes leave more than one lane of so many, they are too coarse: a look at the costs themselves is quicker.
_MOST_LANES = 16
# Groups of lanes for each column wanted, of costs and of codes, and lanes of a group: fewer columns are then looked at
# a second time.
_GROUPS_EACH, _CODE_GROUPS_EACH, _LANES_EACH = 4, 8, 8
# Times that the range of values is halved in the search for one that enough are below.
_HALVINGS = 24
# NaN never reaches the loops; without this minima are not vectorised.
_FAST = {"nnan", "nsz", "contract"}
# Distances formed at a time: they and as many coordinates stay in the nearest cache.
_TILE = 1024


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"}, **UNCOUNTED)
def _ends(costs, least, most):  # type: ignore[no-untyped-def]
    """The least and the largest of some costs, lane by lane."""
    for q in range(least.size):
        least[q] = most[q] = costs[0]
    for first in range(0, costs.size, least.size):
        some = costs[first : first + least.size]
        for q in range(some.size):
            least[q] = some[q] if some[q] < least[q] else least[q]
            most[q] = some[q] if some[q] > most[q] else most[q]


@njit(cache=True, nogil=True, **UNCOUNTED)
def in_range(step):  # type: ignore[no-untyped-def]
    """Whether sums of codes of this step are well inside the range of float32; others are not to be read."""
    return 1e-30 < step < 1e30


@njit(cache=True, nogil=True, **UNCOUNTED)
def _encode(costs, base, scale, codes):  # type: ignore[no-untyped-def]
    for j in range(costs.size):
        codes[j] = np.uint8(np.int32(np.float32(costs[j] - base) * scale))


@njit(cache=True, nogil=True)
def quantise_rows(matrix, factor, codes, low, step):  # type: ignore[no-untyped-def]
    """Codes of ``factor`` times a matrix: a cost is ``low + step * code`` and at most a step and a bit more."""
    least, most = np.empty(_LANES, matrix.dtype), np.empty(_LANES, matrix.dtype)
    for i in range(matrix.shape[0]):
        _ends(matrix[i], least, most)
        smallest, largest = least.min(), most.max()
        base = smallest if factor > 0.0 else largest
        each = (np.float64(largest) - np.float64(smallest)) / 255.0
        size = max(abs(np.float64(smallest)), abs(np.float64(largest)))
        if not (in_range(each) and in_range(abs(factor) * each) and each > _ALIKE * size):
            # Out of the range of float32, or all but alike: one code for all, that says next to nothing.
            codes[i], low[i], step[i] = 0, min(factor * smallest, factor * largest), abs(factor) * 255.0 * each
            continue
        _encode(matrix[i], base, np.float32(np.copysign(1.0 / each, factor)), codes[i])
        low[i], step[i] = factor * base - _MARGIN * abs(factor) * each, abs(factor) * each


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"}, **UNCOUNTED)
def code_minima(codes, step, price, minima):  # type: ignore[no-untyped-def]
    """``minima[q]``: the least ``step * code + price`` of columns ``q``, ``q + w``, ...; ``w`` lanes, in float32."""
    m, w = price.size, minima.size
    for q in range(w):
        minima[q] = np.float32(np.inf)
    for first in range(0, m, w):
        some, prices = codes[first : first + w], price[first : first + w]
        for q in range(some.size):
            value = step * np.float32(some[q]) + prices[q]
            minima[q] = value if value < minima[q] else minima[q]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"}, **UNCOUNTED)
def count_below(values, most):  # type: ignore[no-untyped-def]
    """How many values are not above the largest that is meant."""
    count = np.int32(0)
    for k in range(values.size):
        count += np.int32(values[k] <= most)
    return count


@njit(cache=True, nogil=True, **UNCOUNTED)
def too_coarse(minima, gate):  # type: ignore[no-untyped-def]
    """Whether so many lanes may hold something below the gate that codes do not help."""
    return _MOST_LANES * count_below(minima, gate) > minima.size


@njit(cache=True, nogil=True, **UNCOUNTED)
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


@njit(cache=True, nogil=True, fastmath=_FAST, **UNCOUNTED)
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


@njit(cache=True, nogil=True, fastmath=_FAST, **UNCOUNTED)
def _group_minima(minima, least):  # type: ignore[no-untyped-def]
    """``least[g]``: the least of lanes ``g``, ``g + w``, ...; ``w`` groups."""
    w = least.size
    for g in range(w):
        least[g] = np.inf
    for first in range(0, minima.size, w):
        some = minima[first : first + w]
        for g in range(some.size):
            least[g] = some[g] if some[g] < least[g] else least[g]


@njit(cache=True, nogil=True, **UNCOUNTED)
def insert(found, column, value, its_cost, idx, cost, floor):  # type: ignore[no-untyped-def]
    """Put a column into the list of a row, which has ``found`` of them in the order of their values."""
    at = found
    while at > 0 and floor[at - 1] > value:
        floor[at], idx[at], cost[at] = floor[at - 1], idx[at - 1], cost[at - 1]
        at -= 1
    floor[at], idx[at], cost[at] = value, column, its_cost


@njit(cache=True, nogil=True, **UNCOUNTED)
def _enough(values, wanted):  # type: ignore[no-untyped-def]
    """A number that at least ``wanted`` values are not above, and hardly more; counts take less time than a ranking."""
    low, high = values[0], values[0]
    for k in range(values.size):
        low, high = min(low, values[k]), max(high, values[k])
    for _ in range(_HALVINGS):
        middle = np.float32(0.5) * (low + high)
        count = count_below(values, middle)
        if count < wanted:
            low = middle
        else:
            high = middle
            if count == wanted:
                break
    return high


@njit(cache=True, nogil=True, **UNCOUNTED)
def _gather(costs, factor, price, gate, minima, least, start, places, columns):  # type: ignore[no-untyped-def]
    """Columns whose ``factor * cost + price`` is at most the gate, beginning with group ``start``; how many they are.

    Every place is written and only those that are meant are counted: nobody can foresee which, and a branch would cost
    more. ``places`` is room for the lanes.
    """
    groups, lanes, some, found = least.size, minima.size, 0, 0
    for shifted in range(groups):
        group = shifted + start - (groups if shifted + start >= groups else 0)
        if least[group] <= gate:
            for q in range(group, lanes, groups):
                places[some] = q
                some += minima[q] <= gate
    for k in range(some):
        for j in range(places[k], price.size, lanes):
            columns[found] = j
            found += factor * costs[j] + price[j] <= gate
    return found


@njit(cache=True, nogil=True, **UNCOUNTED)
def _by_codes(codes, low, step, narrow, largest, wanted, start, minima, least, places, columns):  # type: ignore[no-untyped-def]
    """Columns that may have a value up to a threshold which ``wanted`` are below; their number and the threshold.

    The number is -1 where codes leave too many. ``narrow`` are prices in float32, ``largest`` is the largest size.
    """
    unit = np.float32(step)
    code_minima(codes, unit, narrow, minima)
    _group_minima(minima, least)
    # What a code leaves open, and the rounding of sums in float32, of this one's threshold and of the others' values.
    rounding = ROUNDING * (255.0 * step + largest)
    reach = _enough(least, wanted) + CODE * step + rounding
    gate = np.float32(reach + rounding)
    if too_coarse(minima, gate):
        return -1, reach
    return _gather(codes, unit, narrow, gate, minima, least, start, places, columns), low + reach


@njit(cache=True, nogil=True, **UNCOUNTED)
def _write_list(found, threshold, costs, factor, price, values, columns, spare, idx, cost, floor):  # type: ignore[no-untyped-def]
    """Keep those of some columns whose value is at most the threshold, as many as a list holds; how many, the bound."""
    capacity, below = idx.size, 0
    for k in range(found):
        value = factor * costs[columns[k]] + price[columns[k]]
        if value <= threshold:
            values[below], columns[below] = value, columns[k]
            below += 1
    ties_left = below
    if below > capacity:
        for k in range(below):
            spare[k] = values[k]
        threshold = _kth(spare, below, capacity - 1)
        ties_left = capacity
        for k in range(below):
            ties_left -= values[k] < threshold
    kept = 0
    for k in range(below):
        if values[k] < threshold or (values[k] == threshold and ties_left > 0):
            ties_left -= values[k] == threshold
            insert(kept, columns[k], values[k], factor * costs[columns[k]], idx, cost, floor)
            kept += 1
    return kept, threshold


@njit(cache=True, nogil=True)
def list_rows(matrix, factor, quantised, sources, targets, price, wanted, idx, cost, floor, length, tau):  # type: ignore[no-untyped-def]
    """Fill the lists of rows ``targets`` from rows ``sources`` of ``matrix`` at the given prices.

    A cost is ``factor`` times the entry of the matrix; ``quantised`` are its codes, or none, and those of a row that
    are too coarse get an infinite step. At least ``wanted`` columns of least ``cost + price`` are listed, at most as
    many as a list holds, the least first; ``floor`` gets these values. Ties are taken from a different place in each
    row, so that tied rows do not all list the same columns.
    """
    codes, low, step = quantised
    m, capacity = price.size, idx.shape[1]
    groups, code_groups = min(m, _GROUPS_EACH * wanted), min(m, _CODE_GROUPS_EACH * wanted)
    lanes, code_lanes = min(m, _LANES_EACH * groups), min(m, _LANES_EACH * code_groups)
    minima, least, spare = np.empty(lanes), np.empty(groups), np.empty(m)
    code_minimum, code_least = np.empty(code_lanes, np.float32), np.empty(code_groups, np.float32)
    # A place more than can be counted is written.
    values, columns, places = np.empty(m), np.empty(m + 1, np.int64), np.empty(code_lanes + 1, np.int64)
    coarse = codes.shape[0] > 0 and m > capacity
    narrow = price.astype(np.float32) if coarse else np.empty(0, np.float32)
    largest = np.abs(narrow).max() if coarse else 0.0
    for position in range(sources.size):
        source, row = sources[position], targets[position]
        costs, turn, found, threshold = matrix[source], row * 7919, -1, np.inf
        if coarse and in_range(step[source]):
            found, threshold = _by_codes(
                codes[source], low[source], step[source], narrow, largest, wanted, turn % code_groups, code_minimum,
                code_least, places, columns,
            )  # fmt: skip
            if found < 0:
                # Codes of this row are not read again.
                step[source] = np.inf
        if found < 0:
            lane_minima(costs, factor, price, minima)
            _group_minima(minima, least)
            threshold = np.inf
            if m > capacity:
                spare[:groups] = least
                threshold = _kth(spare, groups, wanted - 1)
            found = _gather(costs, factor, price, threshold, minima, least, turn % groups, places, columns)
        length[row], tau[row] = _write_list(
            found, threshold, costs, factor, price, values, columns, spare, idx[row], cost[row], floor[row]
        )
        if length[row] == m:
            tau[row] = np.inf


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


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"}, **UNCOUNTED)
def lower_columns(costs, u, relative, columns):  # type: ignore[no-untyped-def]
    """``columns[j]`` lowered to the least ``costs[i, j] - u[i]`` less ``relative`` times the size of that cost."""
    for i in range(costs.shape[0]):
        row, potential = costs[i], u[i]
        for j in range(columns.size):
            value = (row[j] - potential) - relative * abs(row[j])
            columns[j] = value if value < columns[j] else columns[j]


@njit(cache=True, nogil=True, fastmath={"contract"}, **UNCOUNTED)
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


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"}, **UNCOUNTED)
def pair_differences(first, second, rows, cols, shift, out):  # type: ignore[no-untyped-def]
    """Squared lengths of ``first[rows] - second[cols] - shift``, in float64, summed in any order."""
    for k in range(rows.size):
        x, y = first[rows[k]], second[cols[k]]
        total = 0.0
        for f in range(shift.size):
            difference = np.float64(x[f]) - np.float64(y[f]) - shift[f]
            total += difference * difference
        out[k] = total

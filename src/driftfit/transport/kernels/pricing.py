"""A compiled pass that prices a block of costs; imported only when a solve needs it."""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED
from driftfit.transport.kernels.lists import ROUNDING, code_minima, in_range, insert, lane_minima, too_coarse

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


@njit(cache=True, nogil=True)
def cut_boxes(points, depth, scale):  # type: ignore[no-untyped-def]
    """Points in the order of the leaves of a tree of this depth, where each box starts and stops, its two corners.

    Boxes ``2 k + 1`` and ``2 k + 2`` are the halves of box ``k``, across the side that is widest in ``scale``.
    """
    n, d = points.shape
    size = 2 ** (depth + 1) - 1
    order, start, stop = np.arange(n), np.zeros(size, np.int64), np.zeros(size, np.int64)
    low, high = np.empty((size, d)), np.empty((size, d))
    stop[0] = n
    for box in range(size):
        a, b = start[box], stop[box]
        widest, side = -1.0, 0
        for k in range(d):
            least, most = np.inf, -np.inf
            for i in range(a, b):
                value = points[order[i], k]
                least, most = min(least, value), max(most, value)
            low[box, k], high[box, k] = least, most
            if scale[k] * (most - least) > widest:
                widest, side = scale[k] * (most - least), k
        if 2 * box + 2 < size:
            some = order[a:b]
            values = np.empty(b - a)
            for i in range(b - a):
                values[i] = points[some[i], side]
            order[a:b] = some[np.argsort(values)]
            half = (a + b) // 2
            start[2 * box + 1], stop[2 * box + 1] = a, half
            start[2 * box + 2], stop[2 * box + 2] = half, b
    return order, start, stop, low, high


@njit(cache=True, nogil=True)
def lean_prices(price, tree, points, slope, least):  # type: ignore[no-untyped-def]
    """For each box a linear function of its points, near the prices, and the least that prices are above it."""
    order, start, stop, low, high = tree
    ordered, rest = price[order], np.empty(order.size)
    # Steeper functions than samples of this size can have only lose digits.
    steepest = 8.0 * max(np.abs(low[0]).max(), np.abs(high[0]).max())
    for box in range(start.size):
        a, b = start[box], stop[box]
        some = rest[a:b]
        some[:] = ordered[a:b]
        for k in range(points.shape[0]):
            line = points[k, a:b]
            middle, height, along, square = line.mean(), some.mean(), 0.0, 0.0
            for i in range(line.size):
                along += (line[i] - middle) * (some[i] - height)
                square += (line[i] - middle) * (line[i] - middle)
            slope[box, k] = along / square if np.abs(along) < steepest * square else 0.0
            for i in range(line.size):
                some[i] -= slope[box, k] * line[i]
        least[box] = some.min()


@njit(cache=True, nogil=True, **UNCOUNTED)
def _bound(point, low, high, slope, least):  # type: ignore[no-untyped-def]
    """The least squared distance plus price in a box can be: ``|x - y|^2 + g.y`` is a distance from ``x - g / 2``."""
    total, size = least, np.abs(least)
    for k in range(point.size):
        turned = point[k] - 0.5 * slope[k]
        gap = max(max(low[k] - turned, turned - high[k]), 0.0)
        term = slope[k] * (point[k] - 0.25 * slope[k])
        total += gap * gap + term
        size += gap * gap + np.abs(term)
    # Less its own rounding.
    return total - 1e-14 * size


@njit(cache=True, nogil=True)
def nearest(queries, rows, price, tree, points, slope, least, wanted, most, idx, cost, floor, length, tau):  # type: ignore[no-untyped-def]
    """For ``rows`` of the queries, the ``wanted`` points of least squared distance plus price, if below ``most[row]``.

    ``points`` has a row for each feature and is in the order of the tree. ``cost`` gets the distance alone,
    ``tau`` the largest value listed, which no other point is below. Returns how many points were looked at.
    """
    _, start, stop, _, _ = tree
    size, looks = start.size, 0
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    values, distance = np.empty(wanted), np.empty(stop[size - 1] - start[size - 1] + 2)
    for row in rows:
        looks += _search(
            queries[row],
            row,
            price,
            tree,
            points,
            slope,
            least,
            stack,
            bounds,
            values,
            distance,
            most[row],
            idx,
            cost,
            floor,
            length,
            tau,
        )
    return looks


@njit(cache=True, nogil=True, **UNCOUNTED)
def _search(point, row, price, tree, points, slope, least, stack, bounds, values, distance, most,  # type: ignore[no-untyped-def]
            idx, cost, floor, length, tau):  # fmt: skip
    """One row of `nearest`; the arrays before the bound are room to work in."""
    order, start, stop, low, high = tree
    size, wanted, looks = start.size, values.size, 0
    for k in range(wanted):
        values[k] = most
    places, height = idx[row], 1
    stack[0], bounds[0] = 0, -np.inf
    while height > 0:
        height -= 1
        box = stack[height]
        if bounds[height] >= values[0]:
            continue
        if 2 * box + 2 < size:
            one, other = 2 * box + 1, 2 * box + 2
            near = _bound(point, low[one], high[one], slope[one], least[one])
            far = _bound(point, low[other], high[other], slope[other], least[other])
            if far < near:
                one, other, near, far = other, one, far, near
            if far < values[0]:
                stack[height], bounds[height] = other, far
                height += 1
            if near < values[0]:
                stack[height], bounds[height] = one, near
                height += 1
            continue
        first, count = start[box], stop[box] - start[box]
        looks += count
        for j in range(count):
            distance[j] = 0.0
        for k in range(point.size):
            value, line = point[k], points[k, first : first + count]
            for j in range(count):
                difference = value - line[j]
                distance[j] += difference * difference
        for j in range(count):
            value = distance[j] + price[order[first + j]]
            if value < values[0]:
                replace_largest(values, places, value, first + j, wanted)
    found = 0
    for k in range(wanted):
        if values[k] < most:
            at, total = places[k], 0.0
            for f in range(point.size):
                difference = point[f] - points[f, at]
                total += difference * difference
            insert(found, order[at], total + price[order[at]], total, idx[row], cost[row], floor[row])
            found += 1
    length[row] = found
    tau[row] = values[0]
    return looks

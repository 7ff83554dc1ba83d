"""Compiled loops over a tree of boxes: the points of least squared distance plus price, without a look at most others.

Every box is cut at the median of its widest side until few points are left. A box whose distance, with the least price in it,
is not below what was found already is left out with all that is in it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gradapt.transport.kernels.pricing_loops import replace_largest

__all__ = ["cut_boxes", "lower_prices", "nearest"]


@njit(cache=True, nogil=True)
def cut_boxes(points, depth):  # type: ignore[no-untyped-def]
    """Points in the order of the leaves of a tree of this depth, where each box starts and stops, its low and high ends.

    Boxes ``2 k + 1`` and ``2 k + 2`` are the halves of box ``k``.
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
            if most - least > widest:
                widest, side = most - least, k
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
def lower_prices(price, order, start, stop, least):  # type: ignore[no-untyped-def]
    """``least[box]``: the least price in each box."""
    size = start.size
    for box in range(size - 1, -1, -1):
        if 2 * box + 2 < size:
            least[box] = min(least[2 * box + 1], least[2 * box + 2])
        else:
            lowest = np.inf
            for i in range(start[box], stop[box]):
                lowest = min(lowest, price[order[i]])
            least[box] = lowest


@njit(cache=True, nogil=True)
def _apart(point, low, high):  # type: ignore[no-untyped-def]
    """Squared distance of a point from a box."""
    total = 0.0
    for k in range(point.size):
        gap = max(max(low[k] - point[k], point[k] - high[k]), 0.0)
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def nearest(queries, rows, price, tree, points, least, wanted, idx, cost, length, tau):  # type: ignore[no-untyped-def]
    """For ``rows`` of the queries, the ``wanted`` points of least squared distance plus price.

    ``points`` has a row for each feature and is in the order of the tree. ``cost`` gets the distance alone,
    ``tau`` the largest value listed, which no other point is below.
    """
    order, start, stop, low, high = tree
    size = start.size
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    values, distance = np.empty(wanted), np.empty(stop[size - 1] - start[size - 1] + 2)
    for row in rows:
        point = queries[row]
        for k in range(wanted):
            values[k] = np.inf
        places, height = idx[row], 1
        stack[0], bounds[0] = 0, -np.inf
        while height > 0:
            height -= 1
            box = stack[height]
            if bounds[height] >= values[0]:
                continue
            if 2 * box + 2 < size:
                one, other = 2 * box + 1, 2 * box + 2
                near = _apart(point, low[one], high[one]) + least[one]
                far = _apart(point, low[other], high[other]) + least[other]
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
            if values[k] < np.inf:
                at, total = places[k], 0.0
                for f in range(point.size):
                    difference = point[f] - points[f, at]
                    total += difference * difference
                idx[row, found], cost[row, found] = order[at], total
                found += 1
        length[row] = found
        tau[row] = values[0]

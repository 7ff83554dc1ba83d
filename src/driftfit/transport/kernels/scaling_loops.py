"""Compiled loops that bring a flow and its potentials within epsilon of optimal, for smaller and smaller epsilons.

Goldberg and Tarjan's cost scaling, by pushes and relabels in the order of a queue: a row with supply left pushes it
over an arc of negative reduced cost, a column with too much pushes back what it would pay to lose, and whoever cannot
push moves its potential just far enough. Each look is local: it does not matter how far apart those with too much and
those with too little are. Shortest paths (`flow_loops`) are quicker only once few of them are left.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED

__all__ = ["push_all"]


@njit(cache=True, nogil=True)
def push_all(start, head, cost, flow, u, v, supply, demand, eps, leave, dust, budget):  # type: ignore[no-untyped-def]
    """Send all supply but ``leave`` so that reduced costs are at least ``-eps``, and at most ``eps`` where mass flows.

    The arcs of row ``r`` are ``start[r]`` to ``start[r + 1]``; ``supply`` and ``demand`` are what is still to be sent
    and received beside ``flow``. All of them are changed. Returns the looks at arcs it took; gives up after ``budget``.
    """
    n, m = supply.size, demand.size
    tail, column_start, by_column = _by_column(start, head, n, m)
    for r in range(n):
        if start[r] < start[r + 1]:
            _best(r, start, head, cost, u, v, 0.0)
        for a in range(start[r], start[r + 1]):
            if flow[a] > 0.0 and cost[a] - u[r] - v[head[a]] > eps:
                supply[r] += flow[a]
                demand[head[a]] += flow[a]
                flow[a] = 0.0
    queue, queued, first, count, left = np.empty(n + m, np.int64), np.zeros(n + m, np.bool_), 0, 0, 0.0
    for r in range(n):
        if supply[r] > dust and start[r] < start[r + 1]:
            queue[count], queued[r], count, left = r, True, count + 1, left + supply[r]
    looks = 0
    while count > 0 and left > leave and looks < budget:
        x = queue[first]
        first, count, queued[x] = (first + 1) % (n + m), count - 1, False
        if x < n:
            looks += 2 * (start[x + 1] - start[x])
            a = _best(x, start, head, cost, u, v, eps)
            c = head[a]
            # What the column still lacks has arrived for good.
            left -= min(supply[x], max(demand[c], 0.0))
            flow[a] += supply[x]
            demand[c] -= supply[x]
            supply[x] = 0.0
            if demand[c] < -dust and not queued[n + c]:
                queue[(first + count) % (n + m)], queued[n + c], count = n + c, True, count + 1
            continue
        c = x - n
        while demand[c] < -dust and looks < budget:
            looks += 2 * (column_start[c + 1] - column_start[c])
            count = _push_back(
                c, column_start, by_column, tail, cost, flow, u, v, supply, demand, eps, dust, queue, queued, first,
                count,
            )  # fmt: skip
    for c in range(m):
        for k in range(column_start[c], column_start[c + 1]):
            if demand[c] < 0.0:
                a = by_column[k]
                amount = min(flow[a], -demand[c])
                flow[a] -= amount
                demand[c] += amount
                supply[tail[a]] += amount
    return looks


@njit(cache=True, nogil=True)
def _by_column(start, head, n, m):  # type: ignore[no-untyped-def]
    """The row of each arc, and the arcs of each column."""
    tail, column_start = np.empty(head.size, np.int64), np.zeros(m + 1, np.int64)
    for r in range(n):
        for a in range(start[r], start[r + 1]):
            tail[a] = r
            column_start[head[a] + 1] += 1
    for c in range(m):
        column_start[c + 1] += column_start[c]
    by_column, filled = np.empty(head.size, np.int64), column_start[:-1].copy()
    for a in range(head.size):
        by_column[filled[head[a]]] = a
        filled[head[a]] += 1
    return tail, column_start, by_column


@njit(cache=True, nogil=True, **UNCOUNTED)
def _best(r, start, head, cost, u, v, eps):  # type: ignore[no-untyped-def]
    """The arc of least reduced cost of a row, whose potential is moved so that it is ``-eps``."""
    best, at = np.inf, start[r]
    for a in range(start[r], start[r + 1]):
        value = cost[a] - v[head[a]]
        if value < best:
            best, at = value, a
    u[r] = best + eps
    return at


@njit(cache=True, nogil=True, **UNCOUNTED)
def _push_back(  # type: ignore[no-untyped-def]
    c, column_start, by_column, tail, cost, flow, u, v, supply, demand, eps, dust, queue, queued, first, count
):
    """Give back mass of positive reduced cost; where there is none, lower the column's potential until there is."""
    highest = -np.inf
    for k in range(column_start[c], column_start[c + 1]):
        a = by_column[k]
        if flow[a] <= 0.0:
            continue
        r = tail[a]
        value = cost[a] - u[r]
        if value - v[c] > 0.0:
            amount = min(flow[a], -demand[c])
            flow[a] -= amount
            demand[c] += amount
            supply[r] += amount
            if not queued[r] and supply[r] > dust:
                queue[(first + count) % queue.size], queued[r], count = r, True, count + 1
            if demand[c] >= -dust:
                return count
        elif value > highest:
            highest = value
    if highest == -np.inf:
        # Nothing is there: what seems too much is rounding.
        demand[c] = 0.0
    else:
        v[c] = highest - eps
    return count

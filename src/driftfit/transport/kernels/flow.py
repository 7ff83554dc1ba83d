"""Compiled loops that find a first basic plan: shortest augmenting paths, then a spanning tree of what they used.

Mass is sent along paths of least reduced cost (Edmonds and Karp's successive shortest paths, each search
ending at the first sample that still lacks mass), so that it only ever lies on tight pairs. With potentials that
are nearly optimal the paths are short. What carries mass is made a forest (`forest_loops`), and its trees
are joined by pairs that become tight first when the potentials of all that is not yet joined rise.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED
from driftfit.transport.kernels.auction import pop, sift_up
from driftfit.transport.kernels.simplex import attach


@njit(cache=True, nogil=True)
def route(start, head, cost, flow, u, v, supply, demand, dust, budget):  # type: ignore[no-untyped-def]
    """Send supply to demand along paths of least cost; the flow lies on tight arcs of the potentials, which move along.

    The arcs of row ``r`` are ``start[r]`` to ``start[r + 1]``. Paths from one row after the other are quick while they
    are short: after ``budget`` looks at arcs, all rows that still have supply search together, which takes as many
    looks again at most. Ends when all is sent, or then.
    """
    n, m = supply.size, demand.size
    following = np.full(head.size, -1, np.int64)
    first_in, linked = np.full(m, -1, np.int64), np.zeros(head.size, np.bool_)
    tail = np.empty(head.size, np.int64)
    for r in range(n):
        for a in range(start[r], start[r + 1]):
            tail[a] = r
            if flow[a] > 0.0:
                following[a], first_in[head[a]], linked[a] = first_in[head[a]], a, True
            if supply[r] > 0.0 and cost[a] - u[r] - v[head[a]] <= 0.0 and demand[head[a]] > 0.0:
                _send(a, min(supply[r], demand[head[a]]), r, head[a], flow, supply, demand, following, first_in, linked)
    key, pred = np.full(m, np.inf), np.zeros(m, np.int64)
    heap, place = np.zeros(m + 1, np.int64), np.full(m, -1, np.int64)
    touched, popped, rows = np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(n, np.int64)
    depth, entered, state = np.full(n, np.inf), np.full(n, -1, np.int64), np.array([0, 0, 0, budget])
    arcs = start, head, cost, flow, tail, following, first_in, linked
    room = key, pred, heap, place, touched, popped, rows, depth, entered, state
    for source in range(n):
        while supply[source] > dust and state[3] > 0:
            rows[0], state[0] = source, 1
            if _search(arcs, room, u, v, supply, demand, dust, 0.0) == 0:
                break
    state[3] = budget
    while state[3] > 0:
        state[0], left = 0, 0.0
        for r in range(n):
            if supply[r] > dust:
                rows[state[0]], left = r, left + supply[r]
                state[0] += 1
        if state[0] == 0 or _search(arcs, room, u, v, supply, demand, dust, left) == 0:
            break


@njit(cache=True, nogil=True, **UNCOUNTED)
def _search(arcs, room, u, v, supply, demand, dust, enough):  # type: ignore[no-untyped-def]
    """Shortest paths from some rows to columns that lack ``enough`` together, at least one; send what they carry.

    The rows are the first ``state[0]`` of ``rows``. Returns how many columns were reached. ``state`` also holds the
    number of columns that have a key, of those that are settled, and the looks at arcs that may still be taken.
    """
    start, head, cost, flow, tail, following, first_in, linked = arcs
    key, pred, heap, place, touched, popped, rows, depth, entered, state = room
    state[1] = state[2] = 0
    for k in range(state[0]):
        depth[rows[k]], entered[rows[k]] = 0.0, -1
    # A column that is farther away than one that lacks mass is not needed where one is enough.
    at, size, sinks, best, far, met = 0, 0, 0, np.inf, 0.0, 0.0
    while sinks == 0 or met < enough:
        while at < state[0]:
            r = rows[at]
            at += 1
            state[3] -= start[r + 1] - start[r]
            for a in range(start[r], start[r + 1]):
                c = head[a]
                value = depth[r] + max(cost[a] - u[r] - v[c], 0.0)
                if value < key[c] and value < best and (key[c] == np.inf or place[c] >= 0):
                    if key[c] == np.inf:
                        touched[state[1]] = c
                        state[1] += 1
                    key[c] = value
                    pred[c] = a
                    if demand[c] > dust and enough == 0.0:
                        best = value
                    if place[c] < 0:
                        heap[size] = c
                        place[c] = size
                        size += 1
                    sift_up(heap, place, key, place[c])
        if size == 0:
            break
        size -= 1
        c = pop(heap, place, key, size)
        popped[state[2]], far = c, key[c]
        state[2] += 1
        if demand[c] > dust:
            sinks, met = sinks + 1, met + demand[c]
        if sinks == 0 or met < enough:
            state[0] = _reach_back(c, far, first_in, following, linked, flow, tail, depth, entered, rows, state[0])
    if sinks > 0:
        for k in range(state[0]):
            u[rows[k]] += far - depth[rows[k]]
        for k in range(state[2]):
            v[popped[k]] -= far - key[popped[k]]
        for k in range(state[2]):
            if demand[popped[k]] > dust:
                _augment(popped[k], pred, entered, tail, head, flow, supply, demand, following, first_in, linked)
    for k in range(state[0]):
        depth[rows[k]] = np.inf
    for k in range(state[1]):
        key[touched[k]] = np.inf
        place[touched[k]] = -1
    return sinks


@njit(cache=True, nogil=True, **UNCOUNTED)
def _send(a, amount, r, c, flow, supply, demand, following, first_in, linked):  # type: ignore[no-untyped-def]
    supply[r] -= amount
    demand[c] -= amount
    flow[a] += amount
    if not linked[a]:
        following[a], first_in[c], linked[a] = first_in[c], a, True


@njit(cache=True, nogil=True, **UNCOUNTED)
def _reach_back(c, value, first_in, following, linked, flow, tail, depth, entered, rows, n_rows):  # type: ignore[no-untyped-def]
    """Rows that send mass to column ``c`` and are not yet reached; arcs without mass are taken off its list."""
    before, a = -1, first_in[c]
    while a >= 0:
        after = following[a]
        if flow[a] <= 0.0:
            linked[a] = False
            if before < 0:
                first_in[c] = after
            else:
                following[before] = after
        else:
            before = a
            r = tail[a]
            if depth[r] == np.inf:
                depth[r] = value
                entered[r] = a
                rows[n_rows] = r
                n_rows += 1
        a = after
    return n_rows


@njit(cache=True, nogil=True, **UNCOUNTED)
def _augment(sink, pred, entered, tail, head, flow, supply, demand, following, first_in, linked):  # type: ignore[no-untyped-def]
    """Send as much as the path to a column carries, from the row with supply where it begins."""
    amount, c = demand[sink], sink
    while True:
        r = tail[pred[c]]
        if entered[r] < 0:
            break
        amount = min(amount, flow[entered[r]])
        c = head[entered[r]]
    amount = min(amount, supply[r])
    if amount <= 0.0:
        # Others have used it up.
        return
    supply[r] -= amount
    demand[sink] -= amount
    c = sink
    while True:
        a = pred[c]
        flow[a] += amount
        if not linked[a]:
            following[a], first_in[c], linked[a] = first_in[c], a, True
        r = tail[a]
        if entered[r] < 0:
            break
        flow[entered[r]] -= amount
        c = head[entered[r]]


@njit(cache=True, nogil=True)
def join(n, chosen, by_column, column_start, tail, head, cost, u, v, links, count, upward, potential):  # type: ignore[no-untyped-def]
    """Hang all trees of the forest on the root: the first by an artificial arc, others by arcs that become tight.

    An arc without mass must point to the root, so that the tree is strongly feasible: it leads from a row of the tree
    that joins to a column that is there. Trees that no arc joins get an artificial one; that of a node has its number.
    """
    size = len(potential)
    root = size - 1
    start, arcs = _around(chosen, tail, head, size)
    seen = np.zeros(size, np.bool_)
    heap, place, key = np.zeros(n + 1, np.int64), np.full(n, -1, np.int64), np.full(n, np.inf)
    entering, stack, waiting, rise = np.full(n, -1, np.int64), np.empty(size, np.int64), 0, 0.0
    seen[root] = True
    next_tree, x, order, joined = 0, root, np.empty(size, np.int64), 0
    while True:
        # Everything that hangs on the node just joined, and the rows that may join behind its columns.
        stack[0], height = x, 1
        while height > 0:
            height -= 1
            x = stack[height]
            for k in range(start[x], start[x + 1]):
                a = arcs[k]
                y = head[a] if tail[a] == x else tail[a]
                if not seen[y]:
                    seen[y] = True
                    _hang(y, x, a, tail[a] == y, cost, links, upward, potential)
                    stack[height] = y
                    height += 1
                    order[joined] = y
                    joined += 1
            if n <= x < root:
                for k in range(column_start[x - n], column_start[x - n + 1]):
                    a = by_column[k]
                    r = tail[a]
                    value = rise + max(cost[a] - u[r] - v[x - n], 0.0)
                    if not seen[r] and value < key[r]:
                        key[r], entering[r] = value, a
                        if place[r] < 0:
                            heap[waiting], place[r] = r, waiting
                            waiting += 1
                        sift_up(heap, place, key, place[r])
        x = -1
        while waiting > 0 and x < 0:
            waiting -= 1
            r = pop(heap, place, key, waiting)
            if not seen[r]:
                x, rise = r, key[r]
        if x >= 0:
            seen[x] = True
            _hang(x, head[entering[x]], entering[x], True, cost, links, upward, potential)
            order[joined] = x
            joined += 1
            continue
        while next_tree < root and seen[next_tree]:
            next_tree += 1
        if next_tree == root:
            break
        x = next_tree
        seen[x] = True
        _hang(x, root, x, True, cost, links, upward, potential)
        order[joined] = x
        joined += 1
    count[:] = 1
    for k in range(joined - 1, -1, -1):
        count[links[0, order[k]]] += count[order[k]]


@njit(cache=True, nogil=True)
def _around(chosen, tail, head, size):  # type: ignore[no-untyped-def]
    """The chosen arcs at each node."""
    start = np.zeros(size + 1, np.int64)
    for a in chosen:
        start[tail[a] + 1] += 1
        start[head[a] + 1] += 1
    for node in range(size):
        start[node + 1] += start[node]
    place, arcs = start.copy(), np.empty(2 * len(chosen), np.int64)
    for a in chosen:
        arcs[place[tail[a]]] = a
        place[tail[a]] += 1
        arcs[place[head[a]]] = a
        place[head[a]] += 1
    return start, arcs


@njit(cache=True, nogil=True, **UNCOUNTED)
def _hang(x, parent, arc, points_up, cost, links, upward, potential):  # type: ignore[no-untyped-def]
    attach(x, parent, links)
    links[1, x] = arc
    upward[x] = points_up
    potential[x] = potential[parent] - cost[arc] if points_up else potential[parent] + cost[arc]


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

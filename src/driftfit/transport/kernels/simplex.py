"""Compiled loops of the network simplex; imported only when a solve needs them.

A tree is held in arrays: ``links`` has the parent of each node, the arc to it, the first child, the
next and the previous sibling; ``upward`` says whether that arc points to the parent.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED


@njit(cache=True, nogil=True)
def pivots(first, tail, head, cost, flow, tolerance, links, count, upward, potential, cursor, most):  # type: ignore[no-untyped-def]
    """Exchange arcs until no candidate has a negative reduced cost, or ``most`` times; returns how often."""
    arc_up = links[1]
    n_arcs = len(tail)
    # A pivot moves the potentials of many nodes: it pays to look at more arcs for a better one.
    block = max(64, int(2 * np.sqrt(n_arcs - first)))
    stack = np.empty(len(potential), np.int64)
    position = cursor[0]
    pivots = 0
    while pivots < most:
        entering, lowest = -1, -tolerance
        for scanned in range(1, n_arcs - first + 1):
            r, c = tail[position], head[position]
            reduced = cost[position] + potential[r] - potential[c]
            # An arc of the tree is negative by rounding alone.
            if reduced < lowest and arc_up[r] != position and arc_up[c] != position:
                entering, lowest = position, reduced
            position = position + 1 if position + 1 < n_arcs else first
            if scanned % block == 0 and entering >= 0:
                break
        if entering < 0:
            break
        pivots += 1
        _exchange(
            tail[entering], head[entering], entering, cost[entering], flow, links, count, upward, potential, stack
        )
    cursor[0] = position
    return pivots


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"}, **UNCOUNTED)
def _least_reduced(costs, potential, lanes):  # type: ignore[no-untyped-def]
    """The column of least cost less potential, and that value; minima are taken lane by lane."""
    m, w = potential.size, lanes.size
    for q in range(w):
        lanes[q] = np.inf
    for first in range(0, m, w):
        some, other = costs[first : first + w], potential[first : first + w]
        for q in range(some.size):
            value = some[q] - other[q]
            lanes[q] = value if value < lanes[q] else lanes[q]
    lane = lanes.argmin()
    least, column = np.inf, lane
    for j in range(lane, m, w):
        if costs[j] - potential[j] < least:
            least, column = costs[j] - potential[j], j
    return column, least


@njit(cache=True, nogil=True)
def sweep(costs, first, tail, head, cost, flow, tolerance, links, count,  # type: ignore[no-untyped-def]
          upward, potential, free, state, worst):  # fmt: skip
    """One pivot for each row of a block of costs whose least reduced cost is below the tolerance; returns how many.

    ``worst`` is lowered to the least of them. An arc that enters takes a place from ``free``, of which ``state[0]``
    are left; places from ``state[1]`` on are free again when their arc leaves. ``state[2]`` is the number of all rows.
    """
    n, pivots = state[2], 0
    m = len(potential) - 1 - n
    lanes, stack = np.empty(min(m, 256)), np.empty(len(potential), np.int64)
    columns = potential[n : n + m]
    for i in range(costs.shape[0]):
        r = first + i
        column, least = _least_reduced(costs[i], columns, lanes)
        worst[0] = min(worst[0], least + potential[r])
        if least + potential[r] >= -tolerance:
            continue
        up_r, up_c = links[1, r], links[1, n + column]
        if (tail[up_r] == r and head[up_r] == n + column) or (tail[up_c] == r and head[up_c] == n + column):
            continue
        state[0] -= 1
        entering = free[state[0]]
        tail[entering], head[entering], cost[entering], flow[entering] = r, n + column, costs[i, column], 0.0
        leaving = _exchange(r, n + column, entering, cost[entering], flow, links, count, upward, potential, stack)
        if leaving >= state[1]:
            tail[leaving], head[leaving], cost[leaving] = 0, 0, 0.0
            free[state[0]] = leaving
            state[0] += 1
        pivots += 1
    return pivots


@njit(cache=True, nogil=True, **UNCOUNTED)
def _exchange(r, c, entering, cost, flow, links, count, upward, potential, stack):  # type: ignore[no-untyped-def]
    """Put an arc from row ``r`` to column ``c`` into the tree; returns the arc that leaves it."""
    leaving, on_row_side, top = _push_around(r, c, entering, flow, links[0], links[1], count, upward)
    left = links[1, leaving]
    below, above = (r, c) if on_row_side else (c, r)
    _recount(below, above, leaving, top, links[0], count)
    _rehang(below, above, leaving, entering, below == r, links, upward)
    change = potential[above] - potential[below] + (-cost if below == r else cost)
    if 2 * count[below] <= len(potential):
        _shift(below, -1, change, links, potential, stack)
    else:
        # Potentials matter up to a constant: what is not in the subtree is less to move.
        _shift(len(potential) - 1, below, -change, links, potential, stack)
    return left


@njit(cache=True, nogil=True, **UNCOUNTED)
def _push_around(r, c, entering, flow, parent, arc_up, count, upward):  # type: ignore[no-untyped-def]
    """Send as much as possible around the cycle of the entering arc; the node whose arc leaves, its side, the top.

    Of several arcs that become empty the last one leaves, seen along the cycle from its highest node.
    """
    a, b = r, c
    while a != b:
        # A subtree is smaller than every one that it is part of.
        if count[a] <= count[b]:
            a = parent[a]
        else:
            b = parent[b]
    amount, leaving, on_row_side = np.inf, -1, True
    x = r
    while x != a:
        if upward[x] and flow[arc_up[x]] < amount:
            amount, leaving, on_row_side = flow[arc_up[x]], x, True
        x = parent[x]
    x = c
    while x != a:
        if not upward[x] and flow[arc_up[x]] <= amount:
            amount, leaving, on_row_side = flow[arc_up[x]], x, False
        x = parent[x]
    if amount > 0:
        flow[entering] += amount
        x = r
        while x != a:
            flow[arc_up[x]] += -amount if upward[x] else amount
            x = parent[x]
        x = c
        while x != a:
            flow[arc_up[x]] += amount if upward[x] else -amount
            x = parent[x]
    flow[arc_up[leaving]] = 0.0
    return leaving, on_row_side, a


@njit(cache=True, nogil=True, **UNCOUNTED)
def _recount(below, above, leaving, top, parent, count):  # type: ignore[no-untyped-def]
    """Sizes of all subtrees once that of ``leaving`` hangs, by its node ``below``, on ``above``."""
    moved = count[leaving]
    x = parent[leaving]
    while x != top:
        count[x] -= moved
        x = parent[x]
    x = above
    while x != top:
        count[x] += moved
        x = parent[x]
    x, passed = below, 0
    while True:
        before = count[x]
        count[x] = moved - passed
        if x == leaving:
            return
        passed = before
        x = parent[x]


@njit(cache=True, nogil=True, **UNCOUNTED)
def _rehang(below, above, leaving, entering, points_up, links, upward):  # type: ignore[no-untyped-def]
    """Cut the subtree of ``leaving`` off and hang it, by its node ``below``, on ``above``."""
    x, new_parent, new_arc, new_upward = below, above, entering, points_up
    while True:
        old_parent, old_arc, old_upward = links[0, x], links[1, x], upward[x]
        _detach(x, links)
        attach(x, new_parent, links)
        links[1, x] = new_arc
        upward[x] = new_upward
        if x == leaving:
            return
        new_parent, new_arc, new_upward = x, old_arc, not old_upward
        x = old_parent


@njit(cache=True, nogil=True, **UNCOUNTED)
def _shift(top, without, change, links, potential, stack):  # type: ignore[no-untyped-def]
    """Move the potentials of a subtree, or of all that is not in the subtree of ``without``."""
    first_child, sibling = links[2], links[3]
    stack[0] = top
    count = 1
    while count > 0:
        count -= 1
        x = stack[count]
        potential[x] += change
        child = first_child[x]
        while child >= 0:
            if child != without:
                stack[count] = child
                count += 1
            child = sibling[child]


@njit(cache=True, nogil=True)
def renew_potentials(cost, links, upward, potential):  # type: ignore[no-untyped-def]
    """Potentials from the costs along the tree: free of what many small changes have summed up to."""
    arc_up, first_child, sibling = links[1], links[2], links[3]
    root = len(potential) - 1
    potential[root] = 0.0
    stack = np.empty(len(potential), np.int64)
    stack[0] = root
    count = 1
    while count > 0:
        count -= 1
        x = stack[count]
        child = first_child[x]
        while child >= 0:
            step = cost[arc_up[child]]
            potential[child] = potential[x] - step if upward[child] else potential[x] + step
            stack[count] = child
            count += 1
            child = sibling[child]


@njit(cache=True, nogil=True, **UNCOUNTED)
def _detach(x, links):  # type: ignore[no-untyped-def]
    after, before = links[3, x], links[4, x]
    if before >= 0:
        links[3, before] = after
    else:
        links[2, links[0, x]] = after
    if after >= 0:
        links[4, after] = before


@njit(cache=True, nogil=True, **UNCOUNTED)
def attach(x, parent, links):  # type: ignore[no-untyped-def]
    first = links[2, parent]
    links[0, x], links[3, x], links[4, x] = parent, first, -1
    if first >= 0:
        links[4, first] = x
    links[2, parent] = x


@njit(cache=True, nogil=True, **UNCOUNTED)
def settle(order, excess, rest, links, upward, flow):  # type: ignore[no-untyped-def]
    """Mass on the arcs of the tree from the weights alone, leaves first: free of what many pivots have summed up to.

    What a leaf has, ``excess`` and ``rest`` together, goes to its parent. Sums carry what float64 would round away, so
    that every sample's marginal is off by the rounding of its own weight, however small that is.
    """
    for node in order:
        parent, arc = links[0, node], links[1, node]
        if parent < 0:
            continue
        amount = excess[node] + rest[node]
        flow[arc] = max(amount if upward[node] else -amount, 0.0)
        # Knuth's sum of two numbers and its error.
        total = excess[parent] + excess[node]
        other = total - excess[parent]
        rest[parent] += (excess[parent] - (total - other)) + (excess[node] - other) + rest[node]
        excess[parent] = total


@njit(cache=True, nogil=True)
def forest(tail, head, cost, flow, size):  # type: ignore[no-untyped-def]
    """Empty cycles of arcs that carry mass, in the direction that costs less; the arcs of the forest that is left.

    Nodes are numbers below ``size``.
    """
    leader = np.arange(size)
    chosen = np.full(tail.size, False)
    late = np.empty(tail.size, np.int64)
    n_late = 0
    for a in range(tail.size):
        if flow[a] > 0.0:
            r, c = _find(leader, tail[a]), _find(leader, head[a])
            if r != c:
                leader[r] = c
                chosen[a] = True
            else:
                late[n_late] = a
                n_late += 1
    if n_late:
        _empty_cycles(tail, head, cost, flow, chosen, late[:n_late], size)
    return np.flatnonzero(chosen)


@njit(cache=True, nogil=True, **UNCOUNTED)
def _find(leader, node):  # type: ignore[no-untyped-def]
    while leader[node] != node:
        leader[node] = leader[leader[node]]
        node = leader[node]
    return node


@njit(cache=True, nogil=True)
def _empty_cycles(tail, head, cost, flow, chosen, late, size):  # type: ignore[no-untyped-def]
    """Each late arc closes a cycle with the forest: send mass around it until one of its arcs is empty."""
    first, after = np.full(size, -1, np.int64), np.full(2 * tail.size, -1, np.int64)
    before = np.full(2 * tail.size, -1, np.int64)
    for a in range(tail.size):
        if chosen[a]:
            _enter(2 * a, tail[a], first, after, before)
            _enter(2 * a + 1, head[a], first, after, before)
    came, queue = np.full(size, -1, np.int64), np.empty(size, np.int64)
    for a in late:
        _find_path(head[a], tail[a], tail, head, first, after, came, queue)
        # From the arc's tail back to its head: an arc that points that way loses when the late one gains.
        total, node = cost[a], tail[a]
        while node != head[a]:
            e = came[node]
            total += -cost[e] if tail[e] == node else cost[e]
            node = head[e] if tail[e] == node else tail[e]
        gain = 1.0 if total < 0.0 else -1.0
        amount, empty = (np.inf, -1) if gain > 0.0 else (flow[a], a)
        node = tail[a]
        while node != head[a]:
            e = came[node]
            if (tail[e] == node) == (gain > 0.0) and flow[e] < amount:
                amount, empty = flow[e], e
            node = head[e] if tail[e] == node else tail[e]
        flow[a] += gain * amount
        node = tail[a]
        while node != head[a]:
            e = came[node]
            flow[e] += -gain * amount if tail[e] == node else gain * amount
            node = head[e] if tail[e] == node else tail[e]
        flow[empty] = 0.0
        if empty != a:
            chosen[empty], chosen[a] = False, True
            _leave(2 * empty, tail[empty], first, after, before)
            _leave(2 * empty + 1, head[empty], first, after, before)
            _enter(2 * a, tail[a], first, after, before)
            _enter(2 * a + 1, head[a], first, after, before)


@njit(cache=True, nogil=True, **UNCOUNTED)
def _enter(half, node, first, after, before):  # type: ignore[no-untyped-def]
    after[half], before[half] = first[node], -1
    if first[node] >= 0:
        before[first[node]] = half
    first[node] = half


@njit(cache=True, nogil=True, **UNCOUNTED)
def _leave(half, node, first, after, before):  # type: ignore[no-untyped-def]
    if before[half] >= 0:
        after[before[half]] = after[half]
    else:
        first[node] = after[half]
    if after[half] >= 0:
        before[after[half]] = before[half]


@njit(cache=True, nogil=True, **UNCOUNTED)
def _find_path(source, target, tail, head, first, after, came, queue):  # type: ignore[no-untyped-def]
    """``came[x]``: the arc by which a walk through the forest from ``source`` first meets ``x``."""
    queue[0], at, size = source, 0, 1
    came[source] = -1
    while at < size:
        x = queue[at]
        at += 1
        if x == target:
            return
        half = first[x]
        while half >= 0:
            a = half >> 1
            if a != came[x]:
                y = head[a] if tail[a] == x else tail[a]
                came[y] = a
                queue[size] = y
                size += 1
            half = after[half]

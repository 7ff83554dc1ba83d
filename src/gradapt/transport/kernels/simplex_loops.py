"""Compiled loops of the network simplex; imported only when a solve needs them.

A tree is held in arrays: ``links`` has the parent of each node, the arc to it, the first child, the
next and the previous sibling; ``upward`` says whether that arc points to the parent.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["greedy", "hang", "pivots", "renew_potentials", "settle"]


@njit(cache=True, nogil=True)
def greedy(tail, head, flow, left, order):  # type: ignore[no-untyped-def]
    """Give each pair in turn all that both samples have left; the pairs used are a forest."""
    chosen = np.empty(len(left), np.int64)
    count = 0
    for arc in order:
        r, c = tail[arc], head[arc]
        if left[r] > 0 and left[c] > 0:
            amount = min(left[r], left[c])
            flow[arc] = amount
            left[r] -= amount
            left[c] -= amount
            chosen[count] = arc
            count += 1
    return chosen[:count]


@njit(cache=True, nogil=True)
def hang(n, chosen, tail, head, cost, flow, left, links, depth, upward, potential):  # type: ignore[no-untyped-def]
    """Hang every tree of the forest on the root, by the one node that has something left, if any."""
    size = len(left)
    root = size - 1
    start = np.zeros(size + 1, np.int64)
    for arc in chosen:
        start[tail[arc] + 1] += 1
        start[head[arc] + 1] += 1
    for node in range(size):
        start[node + 1] += start[node]
    place = start.copy()
    arcs = np.empty(2 * len(chosen), np.int64)
    for arc in chosen:
        arcs[place[tail[arc]]] = arc
        place[tail[arc]] += 1
        arcs[place[head[arc]]] = arc
        place[head[arc]] += 1
    seen = np.zeros(size, np.bool_)
    seen[root] = True
    stack = np.empty(size, np.int64)
    for with_rest in (True, False):
        for top_node in range(root):
            if seen[top_node] or (with_rest and left[top_node] <= 0):
                continue
            seen[top_node] = True
            flow[top_node] = left[top_node]
            # An arc without mass must point to the root: the tree is then strongly feasible.
            upward[top_node] = left[top_node] <= 0 or top_node < n
            _attach(top_node, root, links)
            links[1, top_node] = top_node
            depth[top_node] = 1
            potential[top_node] = -cost[top_node] if upward[top_node] else cost[top_node]
            stack[0] = top_node
            size_of_stack = 1
            while size_of_stack > 0:
                size_of_stack -= 1
                x = stack[size_of_stack]
                for k in range(start[x], start[x + 1]):
                    arc = arcs[k]
                    y = head[arc] if tail[arc] == x else tail[arc]
                    if seen[y]:
                        continue
                    seen[y] = True
                    _attach(y, x, links)
                    links[1, y] = arc
                    depth[y] = depth[x] + 1
                    upward[y] = tail[arc] == y
                    potential[y] = potential[x] - cost[arc] if upward[y] else potential[x] + cost[arc]
                    stack[size_of_stack] = y
                    size_of_stack += 1


@njit(cache=True, nogil=True)
def pivots(first, tail, head, cost, flow, tolerance, links, depth, upward, potential, cursor, most):  # type: ignore[no-untyped-def]
    """Exchange arcs until no candidate has a negative reduced cost, or ``most`` times; returns how often."""
    parent, arc_up = links[0], links[1]
    n_arcs = len(tail)
    block = max(64, int(np.sqrt(n_arcs - first)))
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
        r, c = tail[entering], head[entering]
        leaving, on_row_side = _push_around(r, c, entering, flow, parent, arc_up, depth, upward)
        below, above = (r, c) if on_row_side else (c, r)
        _rehang(below, above, leaving, entering, below == r, links, upward)
        if below == r:
            change = potential[above] - cost[entering] - potential[below]
        else:
            change = potential[above] + cost[entering] - potential[below]
        _shift_subtree(below, change, links, depth, potential, stack)
    cursor[0] = position
    return pivots


@njit(cache=True, nogil=True)
def _push_around(r, c, entering, flow, parent, arc_up, depth, upward):  # type: ignore[no-untyped-def]
    """Send as much as possible around the cycle of the entering arc; the node whose arc leaves, and on which side.

    Of several arcs that become empty the last one leaves, seen along the cycle from its highest node.
    """
    a, b = r, c
    while a != b:
        if depth[a] >= depth[b]:
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
    return leaving, on_row_side


@njit(cache=True, nogil=True)
def _rehang(below, above, leaving, entering, points_up, links, upward):  # type: ignore[no-untyped-def]
    """Cut the subtree of ``leaving`` off and hang it, by its node ``below``, on ``above``."""
    x, new_parent, new_arc, new_upward = below, above, entering, points_up
    while True:
        old_parent, old_arc, old_upward = links[0, x], links[1, x], upward[x]
        _detach(x, links)
        _attach(x, new_parent, links)
        links[1, x] = new_arc
        upward[x] = new_upward
        if x == leaving:
            return
        new_parent, new_arc, new_upward = x, old_arc, not old_upward
        x = old_parent


@njit(cache=True, nogil=True)
def _shift_subtree(top, change, links, depth, potential, stack):  # type: ignore[no-untyped-def]
    parent, first_child, sibling = links[0], links[2], links[3]
    stack[0] = top
    count = 1
    while count > 0:
        count -= 1
        x = stack[count]
        potential[x] += change
        depth[x] = depth[parent[x]] + 1
        child = first_child[x]
        while child >= 0:
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


@njit(cache=True, nogil=True)
def _detach(x, links):  # type: ignore[no-untyped-def]
    after, before = links[3, x], links[4, x]
    if before >= 0:
        links[3, before] = after
    else:
        links[2, links[0, x]] = after
    if after >= 0:
        links[4, after] = before


@njit(cache=True, nogil=True)
def _attach(x, parent, links):  # type: ignore[no-untyped-def]
    first = links[2, parent]
    links[0, x], links[3, x], links[4, x] = parent, first, -1
    if first >= 0:
        links[4, first] = x
    links[2, parent] = x


@njit(cache=True, nogil=True)
def settle(order, supply, links, upward, flow):  # type: ignore[no-untyped-def]
    """Mass on the arcs of the tree from the weights alone, leaves first: free of what many pivots have summed up to.

    What a leaf has goes to its parent. Sums carry what float64 would round away, so that every sample's marginal
    is off by the rounding of its own weight, however small that is.
    """
    excess, rest = supply.copy(), np.zeros_like(supply)
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

"""Compiled loops of the assignment solver; imported only when a solve needs them.

Every row of the problem keeps a short *list* of columns with a bound ``tau`` on the
value ``cost + price`` of all columns that are not in it. Prices only ever rise, so a
bound stays true for the whole run (the idea of Guthe and Thuerck, "Algorithm 1015",
ACM TOMS 2021, applied to an auction). The loops never see the cost matrix itself;
`listing_loops` makes the lists.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gradapt.transport.kernels.heap_loops import pop, sift_up

__all__ = ["bid", "count_slack", "place_bid", "shortest_paths"]

NEEDS_ROW, FINISHED, PAUSED = 1, 0, 2


@njit(cache=True, nogil=True)
def count_slack(idx, cost, length, tau, price, owner, partner, slack, queue):  # type: ignore[no-untyped-def]
    """Free every row whose partner is worse than its best by more than ``slack``; return the free rows' number."""
    free = 0
    for row in range(partner.size):
        best, mine = tau[row], np.inf
        for k in range(length[row]):
            value = cost[row, k] + price[idx[row, k]]
            best = min(best, value)
            if idx[row, k] == partner[row]:
                mine = value
        if partner[row] >= 0 and mine > best + slack:
            owner[partner[row]] = -1
            partner[row] = -1
        if partner[row] < 0:
            queue[free] = row
            free += 1
    return free


@njit(cache=True, nogil=True)
def place_bid(row, idx, cost, length, tau, price, owner, partner, eps):  # type: ignore[no-untyped-def]
    """Let a row take the best column of its list; the row that had it, -1 for none.

    -2, and nothing is done, where the list may no longer hold the best column.
    """
    best, second, column = np.inf, np.inf, -1
    for k in range(length[row]):
        value = cost[row, k] + price[idx[row, k]]
        if value < best:
            second = best
            best = value
            column = idx[row, k]
        elif value < second:
            second = value
    if best > tau[row] + 0.5 * eps:
        return -2
    second = min(second, tau[row])
    if second == np.inf:
        second = best
    price[column] += second - best + eps
    evicted = owner[column]
    owner[column] = row
    partner[row] = column
    if evicted >= 0:
        partner[evicted] = -1
    return evicted


@njit(cache=True, nogil=True)
def bid(queue, state, parked, idx, cost, length, tau, price, owner, partner, eps, limit):  # type: ignore[no-untyped-def]
    """Auction until the queue is dry or ``limit`` bids are made.

    ``state`` holds the queue's head, its size, the number of parked rows and the bids made.
    A row whose list may no longer hold its best column is parked.
    """
    head, size, n_parked, bids = state[0], state[1], state[2], 0
    capacity = queue.size
    while size > 0 and bids < limit:
        row = queue[head]
        head = head + 1 if head + 1 < capacity else 0
        size -= 1
        bids += 1
        evicted = place_bid(row, idx, cost, length, tau, price, owner, partner, eps)
        if evicted == -2:
            parked[n_parked] = row
            n_parked += 1
        elif evicted >= 0:
            tail = head + size
            queue[tail if tail < capacity else tail - capacity] = evicted
            size += 1
    state[0], state[1], state[2] = head, size, n_parked
    state[3] += bids
    return size


@njit(cache=True, nogil=True)
def _offer(item, value, state, heap, place, key):  # type: ignore[no-untyped-def]
    """Put ``item`` into the heap or lower its key."""
    key[item] = value
    at = place[item]
    if at < 0:
        at = state[1]
        heap[at] = item
        state[1] += 1
    sift_up(heap, place, key, at)


@njit(cache=True, nogil=True)
def _reach(row, column, value, state, heap, place, key, pred, touched, owner, best):  # type: ignore[no-untyped-def]
    """Offer ``column`` at distance ``value``, unless a nearer free column is known."""
    # A column that has left the heap is settled, whatever a rounding says.
    if value >= key[column] or value >= best[0] or (key[column] < np.inf and place[column] < 0):
        return
    if key[column] == np.inf:
        touched[state[2]] = column
        state[2] += 1
    pred[column] = row
    if owner[column] < 0:
        best[0] = value
    _offer(column, value, state, heap, place, key)


@njit(cache=True, nogil=True)
def _relax(row, n_cols, state, heap, place, key, pred, touched, rows, depth, best,  # type: ignore[no-untyped-def]
           idx, cost, length, tau, u, price, owner, wide_slot, wide):  # fmt: skip
    at = depth[row]
    slot = wide_slot[row]
    if slot >= 0:
        for j in range(n_cols):
            _reach(
                row,
                j,
                at + max(wide[slot, j] + price[j] - u[row], 0.0),
                state,
                heap,
                place,
                key,
                pred,
                touched,
                owner,
                best,
            )
        return
    for k in range(length[row]):
        j = idx[row, k]
        _reach(
            row, j, at + max(cost[row, k] + price[j] - u[row], 0.0), state, heap, place, key, pred, touched, owner, best
        )
    sentinel = at + max(tau[row] - u[row], 0.0)
    if sentinel < best[0]:
        _offer(n_cols + row, sentinel, state, heap, place, key)


@njit(cache=True, nogil=True)
def shortest_paths(free, state, heap, place, key, pred, touched, rows, depth, best,  # type: ignore[no-untyped-def]
                   idx, cost, length, tau, u, price, owner, partner, wide_slot, wide, limit):  # fmt: skip
    """Match every row of ``free`` by one shortest augmenting path (Dijkstra over the lists).

    Each row reached puts a sentinel into the heap, at the distance where columns outside its
    list might begin. When one is popped the row's list must be lengthened by the caller:
    the loop returns ``NEEDS_ROW`` with the row in ``state[4]`` and goes on from there when
    called again. ``state``: next free row, heap size, touched columns, visited rows, the row
    asked for (or -1), whether a search is under way.
    """
    n_cols = price.size
    while state[0] < free.size:
        if state[5] == 0:
            if limit == 0:
                return PAUSED
            limit -= 1
            root = free[state[0]]
            state[1], state[2], state[3], state[5] = 0, 0, 1, 1
            rows[0], depth[root], best[0] = root, 0.0, np.inf
            state[4] = root
        if state[4] >= 0:
            _relax(state[4], n_cols, state, heap, place, key, pred, touched, rows, depth, best,
                   idx, cost, length, tau, u, price, owner, wide_slot, wide)  # fmt: skip
            state[4] = -1
        sink = -1
        while sink < 0:
            state[1] -= 1
            item = pop(heap, place, key, state[1])
            if item >= n_cols:
                state[4] = item - n_cols
                return NEEDS_ROW
            if owner[item] < 0:
                sink = item
                break
            row = owner[item]
            depth[row] = key[item]
            rows[state[3]] = row
            state[3] += 1
            _relax(row, n_cols, state, heap, place, key, pred, touched, rows, depth, best,
                   idx, cost, length, tau, u, price, owner, wide_slot, wide)  # fmt: skip
        _augment(free[state[0]], sink, state, heap, place, key, pred, touched, rows, depth, u, price, owner, partner)
        state[0] += 1
        state[5] = 0
    return FINISHED


@njit(cache=True, nogil=True)
def _augment(root, sink, state, heap, place, key, pred, touched, rows, depth, u, price, owner, partner):  # type: ignore[no-untyped-def]
    distance = key[sink]
    for position in range(state[3]):
        row = rows[position]
        rise = distance - depth[row]
        u[row] += rise
        if row != root:
            price[partner[row]] += rise
    column = sink
    while True:
        row = pred[column]
        following = partner[row]
        owner[column] = row
        partner[row] = column
        if row == root:
            break
        column = following
    for position in range(state[1]):
        place[heap[position]] = -1
    for position in range(state[2]):
        key[touched[position]] = np.inf

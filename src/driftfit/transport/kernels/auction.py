"""Compiled loops of the assignment solver; imported only when a solve needs them.

Every row of the problem keeps a short *list* of columns with a bound ``tau`` on the
value ``cost + price`` of all columns that are not in it. Prices only ever rise, so a
bound stays true for the whole run (the idea of Guthe and Thuerck, "Algorithm 1015",
ACM TOMS 2021, applied to an auction). The loops never see the cost matrix itself;
`listing_loops` makes the lists.

Rows bid with the weight that they have not yet placed, for a *share* of a column (after Bertsekas and Castanon, "The
auction algorithm for the transportation problem", 1989). The shares of a column are a list, the cheapest first;
its price is that of the first. ``shares`` holds each row's weight that is not placed and whether it waits in the
queue; each column's first share, and of each share the next one, the row that holds it (-1 for none), its weight and
its price; a stack of unused places, with their number in front; and the weight of all rows that is not placed, how much
of that may stay so, and what is a rounding. In an assignment problem every share is a whole column.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED
from driftfit.transport.kernels.lists import list_rows

NEEDS_ROW, FINISHED, PAUSED = 1, 0, 2


@njit(cache=True, nogil=True, **UNCOUNTED)
def sift_up(heap, place, key, at):  # type: ignore[no-untyped-def]
    item = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if key[heap[parent]] <= key[item]:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = item
    place[item] = at


@njit(cache=True, nogil=True, **UNCOUNTED)
def _sift_down(heap, place, key, size):  # type: ignore[no-untyped-def]
    item, at = heap[0], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= key[item]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = item
    place[item] = at


@njit(cache=True, nogil=True, **UNCOUNTED)
def pop(heap, place, key, size):  # type: ignore[no-untyped-def]
    """Take the item of least key out of a heap of ``size + 1``."""
    top = heap[0]
    place[top] = -1
    if size > 0:
        heap[0] = heap[size]
        _sift_down(heap, place, key, size)
    return top


@njit(cache=True, nogil=True)
def release(idx, cost, floor, length, tau, price, shares, slack, queue):  # type: ignore[no-untyped-def]
    """Take shares from rows to which they are worse than their best by more than ``slack``; queue rows with weight.

    Returns how many these are.
    """
    free, queued, first, following, holder, mass, _, _, left = shares
    best = tau.copy()
    for row in range(free.size):
        for k in range(length[row]):
            if floor[row, k] >= best[row]:
                break
            best[row] = min(best[row], cost[row, k] + price[idx[row, k]])
    for column in range(first.size):
        at = first[column]
        while at >= 0:
            row = holder[at]
            if row >= 0:
                mine = np.inf
                for k in range(length[row]):
                    if idx[row, k] == column:
                        mine = cost[row, k] + price[column]
                        break
                if mine > best[row] + slack:
                    free[row] += mass[at]
                    holder[at] = -1
            at = following[at]
    count, left[0] = 0, 0.0
    for row in range(free.size):
        left[0] += free[row]
        queued[row] = free[row] > left[2]
        if queued[row]:
            queue[count] = row
            count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def enqueue(row, queue, state, queued):  # type: ignore[no-untyped-def]
    tail = state[0] + state[1]
    queue[tail if tail < queue.size else tail - queue.size] = row
    state[1] += 1
    queued[row] = True


@njit(cache=True, nogil=True, inline="always")
def place_bid(row, idx, cost, floor, length, tau, price, free, queued, first, following, holder, mass, ask, unused,  # type: ignore[no-untyped-def]
              left, eps, queue, state):  # fmt: skip
    """Let a row take shares of the best column of its list, the cheapest first, for all its weight if it can.

    Rows that lose theirs are queued. False, and nothing is done, where the list may no longer hold the best column.
    ``state`` is that of `bid`. (Arrays one by one: taking them out of a tuple for every bid would take longer than it.)
    """
    best, second, column = np.inf, np.inf, -1
    for k in range(length[row]):
        # Nothing from here on was cheaper when the list was made, and prices only rise.
        if floor[row, k] >= second:
            break
        value = cost[row, k] + price[idx[row, k]]
        if value < best:
            second = best
            best = value
            column = idx[row, k]
        elif value < second:
            second = value
    if best > tau[row] + 0.5 * eps:
        return False
    second = min(second, tau[row])
    if second == np.inf:
        second = best
    # Higher than before in any case, also where rounding swallows epsilon.
    raised = max(price[column] + (second - best) + eps, np.nextafter(price[column], np.inf))
    at = first[column]
    if mass[at] == free[row] and following[at] < 0 and holder[at] != row:
        # One share that fits, as always in an assignment problem, changes hands.
        loser, holder[at], ask[at] = holder[at], row, raised
        _lose(loser, mass[at], free, queued, left, queue, state)
        free[row] = 0.0
    else:
        _take(row, column, raised, free, queued, first, following, holder, mass, ask, unused, left, queue, state)
    price[column] = ask[first[column]]
    return True


@njit(cache=True, nogil=True, inline="always")
def _lose(loser, part, free, queued, left, queue, state):  # type: ignore[no-untyped-def]
    """Somebody takes a part of what a row has, or of what nobody has."""
    if loser < 0:
        left[0] -= part
        return
    free[loser] += part
    if not queued[loser] and free[loser] > left[2]:
        enqueue(loser, queue, state, queued)


@njit(cache=True, nogil=True, **UNCOUNTED)
def _take(row, column, raised, free, queued, first, following, holder, mass, ask, unused, left, queue, state):  # type: ignore[no-untyped-def]
    """Shares of a column that are cheaper than ``raised`` go to a row, as many as it has weight for, at that price."""
    wanted, taken, at = free[row], 0.0, first[column]
    while at >= 0 and ask[at] < raised and wanted > 0.0:
        part = mass[at] if holder[at] == row else min(mass[at], wanted)
        if holder[at] != row:
            wanted -= part
            _lose(holder[at], part, free, queued, left, queue, state)
        if part < mass[at] - left[2]:
            taken += part
            mass[at] -= part
            break
        # What is left of a rounding goes along.
        taken += mass[at]
        unused[0] += 1
        unused[unused[0]] = at
        at = following[at]
    free[row] = wanted
    first[column] = at
    new, before = unused[unused[0]], -1
    unused[0] -= 1
    while at >= 0 and ask[at] < raised:
        before, at = at, following[at]
    holder[new], mass[new], ask[new], following[new] = row, taken, raised, at
    if before >= 0:
        following[before] = new
    else:
        first[column] = new


@njit(cache=True, nogil=True, **UNCOUNTED)
def bid(queue, state, parked, idx, cost, floor, length, tau, price, shares, eps, limit):  # type: ignore[no-untyped-def]
    """Auction until enough is placed, the queue is dry or ``limit`` bids are made; how many rows are in it then.

    ``state`` holds the queue's head, its size, the number of parked rows and the bids made.
    A row whose list may no longer hold its best column is parked.
    """
    free, queued, first, following, holder, mass, ask, unused, left = shares
    bids = 0
    while state[1] > 0 and bids < limit and unused[0] > 1:
        if left[0] <= left[1]:
            state[1] = state[2] = 0
            break
        row = queue[state[0]]
        state[0] = state[0] + 1 if state[0] + 1 < queue.size else 0
        state[1] -= 1
        bids += 1
        if not place_bid(
            row, idx, cost, floor, length, tau, price, free, queued, first, following, holder, mass, ask, unused, left,
            eps, queue, state,
        ):  # fmt: skip
            parked[state[2]] = row
            state[2] += 1
        elif free[row] > left[2]:
            enqueue(row, queue, state, queued)
        else:
            queued[row] = False
    state[3] += bids
    return state[1]


@njit(cache=True, nogil=True)
def bid_and_list(matrix, factor, quantised, few, wanted, queue, state, parked, idx, cost, floor, length, tau, price,  # type: ignore[no-untyped-def]
                 shares, eps, limit):  # fmt: skip
    """Auction as `bid` does; where no more than ``few`` rows are parked they get new lists at once, from kept costs.

    ``state[4]`` counts these lists.
    """
    first = state[4]
    while True:
        size = bid(queue, state, parked, idx, cost, floor, length, tau, price, shares, eps, limit)
        if size > 0 or state[2] == 0 or state[2] > few or state[4] - first > idx.shape[0]:
            return size
        rows = parked[: state[2]].astype(np.int64)
        list_rows(matrix, factor, quantised, rows, rows, price, wanted, idx, cost, floor, length, tau)
        state[4] += rows.size
        queue[: rows.size] = rows
        state[0], state[1], state[2] = 0, rows.size, 0


@njit(cache=True, nogil=True, **UNCOUNTED)
def _offer(item, value, state, heap, place, key):  # type: ignore[no-untyped-def]
    """Put ``item`` into the heap or lower its key."""
    key[item] = value
    at = place[item]
    if at < 0:
        at = state[1]
        heap[at] = item
        state[1] += 1
    sift_up(heap, place, key, at)


@njit(cache=True, nogil=True, **UNCOUNTED)
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


@njit(cache=True, nogil=True, **UNCOUNTED)
def _relax(row, n_cols, state, heap, place, key, pred, touched, rows, depth, best,  # type: ignore[no-untyped-def]
           idx, cost, floor, length, tau, u, price, owner, wide_slot, wide):  # fmt: skip
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
        if at + (floor[row, k] - u[row]) >= best[0]:
            break
        j = idx[row, k]
        _reach(
            row, j, at + max(cost[row, k] + price[j] - u[row], 0.0), state, heap, place, key, pred, touched, owner, best
        )
    sentinel = at + max(tau[row] - u[row], 0.0)
    if sentinel < best[0]:
        _offer(n_cols + row, sentinel, state, heap, place, key)


@njit(cache=True, nogil=True, **UNCOUNTED)
def shortest_paths(free, state, heap, place, key, pred, touched, rows, depth, best,  # type: ignore[no-untyped-def]
                   idx, cost, floor, length, tau, u, price, owner, partner, wide_slot, wide, limit):  # fmt: skip
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
                   idx, cost, floor, length, tau, u, price, owner, wide_slot, wide)  # fmt: skip
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
                   idx, cost, floor, length, tau, u, price, owner, wide_slot, wide)  # fmt: skip
        _augment(free[state[0]], sink, state, heap, place, key, pred, touched, rows, depth, u, price, owner, partner)
        state[0] += 1
        state[5] = 0
    return FINISHED


@njit(cache=True, nogil=True, **UNCOUNTED)
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

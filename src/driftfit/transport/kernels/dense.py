"""Compiled loops for small assignments: costs as whole numbers that carry their column in the last bits.

One least element then gives value and place at once, and loops over whole numbers are made of vector instructions,
which those over floating point minima are not. An auction with a falling epsilon leaves a few rows to shortest
augmenting paths (Jonker and Volgenant 1987). The numbers have some fifty bits, so the assignment is optimal up to the
last digits of a float64; the proof that follows reads the costs themselves.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED

# Larger than any reduced cost, with room for sums.
_FAR = np.int64(2**61)
# Bits of a cost with its column, below those that prices may need.
_BITS = 57
# Columns whose samples stay in the processor's cache while all rows pass.
_TILE = 512
# Rows from which the spread of costs is learnt.
_SAMPLED = 32
# The first epsilon in units of that spread, the factor between two, and the last one times the number of rows.
_FIRST, _FACTOR, _LAST = 0.05, 5.0, 0.5
# The share of rows that is left to shortest paths, and bids for each row after which all are: ties. From given prices
# that many fewer, then all begins anew: they were poor.
_LEAVE, _BIDS, _WARM_BIDS = 0.02, 60, 20
# Unit roundoff of float64.
_UNIT = 2.0**-53


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy", **UNCOUNTED)
def _add_squares(row, y, k, first, at):  # type: ignore[no-untyped-def]
    """Squared differences of eight features of one sample to those of some others, added up."""
    last = first + row.size
    y0, y1, y2, y3 = y[k, first:last], y[k + 1, first:last], y[k + 2, first:last], y[k + 3, first:last]
    y4, y5, y6, y7 = y[k + 4, first:last], y[k + 5, first:last], y[k + 6, first:last], y[k + 7, first:last]
    a, b, c, d, e, f, g, h = at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]
    for j in range(row.size):
        p, q, r, s = a - y0[j], b - y1[j], c - y2[j], d - y3[j]
        t, u, v, w = e - y4[j], f - y5[j], g - y6[j], h - y7[j]
        row[j] += ((p * p + q * q) + (r * r + s * s)) + ((t * t + u * u) + (v * v + w * w))


@njit(cache=True, nogil=True, error_model="numpy", **UNCOUNTED)
def squared_costs(x, y, out):  # type: ignore[no-untyped-def]
    """Squared distances of rows of ``x`` to columns of ``y``, from their differences; features come in eights."""
    n, d = x.shape
    out[:, :] = 0.0
    for first in range(0, y.shape[1], _TILE):
        last = min(first + _TILE, y.shape[1])
        for i in range(n):
            row = out[i, first:last]
            for k in range(0, d, 8):
                _add_squares(row, y, k, first, x[i, k : k + 8])


@njit(cache=True, nogil=True, error_model="numpy", **UNCOUNTED)
def whole_costs(costs, bits, low, high, out):  # type: ignore[no-untyped-def]
    """Costs above the least of each column as whole numbers, with the column in the last ``bits``; their scale.

    The least are ``low`` afterwards. The scale is 0 where all costs of each column are equal, and not finite where the
    costs are not.
    """
    n, m = costs.shape
    for j in range(m):
        low[j] = high[j] = costs[0, j]
    for i in range(1, n):
        for j in range(m):
            low[j], high[j] = min(low[j], costs[i, j]), max(high[j], costs[i, j])
    spread = 0.0
    for j in range(m):
        spread = max(spread, high[j] - low[j])
    if not spread > 0.0 or not spread < np.inf:
        return spread
    scale = 2.0 ** (_BITS - bits) / spread
    for i in range(n):
        for j in range(m):
            out[i, j] = (np.int64((costs[i, j] - low[j]) * scale + 0.5) << bits) | j
    return scale


@njit(cache=True, nogil=True, error_model="numpy", **UNCOUNTED)
def _two_least(costs, i, v, room):  # type: ignore[no-untyped-def]
    """The least cost of a row less ``v``, which carries its column, and the second least."""
    mask = (np.int64(1) << v[v.size - 1]) - 1
    m = v.size - 1
    best = _FAR
    for j in range(m):
        value = costs[i, j] - v[j]
        room[j] = value
        best = min(best, value)
    room[best & mask] = _FAR
    second = _FAR
    for j in range(m):
        second = min(second, room[j])
    return best, second


@njit(cache=True, nogil=True, error_model="numpy", **UNCOUNTED)
def _reach(costs, i, v, ahead, key, pred):  # type: ignore[no-untyped-def]
    """Lower the keys of columns to what a way over row ``i`` takes; the least key."""
    best = _FAR
    for j in range(key.size):
        value = costs[i, j] - v[j] + ahead
        before = key[j]
        pred[j] = i if value < before else pred[j]
        value = min(value, before)
        key[j] = value
        best = min(best, value)
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def match(costs, bits, v, partner, owner, warm):  # type: ignore[no-untyped-def]
    """The best partner of each row, and prices ``v`` that prove it; ``v`` has one more entry, which holds ``bits``.

    ``warm`` says whether the prices are a start.
    """
    n = costs.shape[0]
    mask = (np.int64(1) << bits) - 1
    v[n] = bits
    room, queue = np.empty(n, np.int64), np.empty(n, np.int64)
    step = max(1, n // _SAMPLED)
    means = np.zeros((n + step - 1) // step)
    for k in range(means.size):
        total = 0.0
        for j in range(n):
            total += np.float64(costs[k * step, j] >> bits)
        means[k] = total / n
    spread = np.median(means)
    eps = max(np.int64(1), np.int64(_FIRST * spread))
    last = max(np.int64(1), np.int64(_LAST * spread / n))
    off = _mean_slack(costs, mask, v, room) if warm else eps
    if off >= eps or _auction(costs, mask, v, partner, owner, room, queue, max(off, last), last, _WARM_BIDS * n) == 0:
        v[:n] = 0
        _auction(costs, mask, v, partner, owner, room, queue, eps, last, _BIDS * n)
    _finish(costs, mask, v, partner, owner, room, queue)


@njit(cache=True, nogil=True, error_model="numpy", **UNCOUNTED)
def _mean_slack(costs, mask, v, slack):  # type: ignore[no-untyped-def]
    """How far prices could rise until each column is the best one of some row, on average: 0 for optimal prices."""
    n = costs.shape[0]
    slack[:] = _FAR
    for i in range(n):
        best = _FAR
        for j in range(n):
            best = min(best, costs[i, j] - v[j])
        for j in range(n):
            slack[j] = min(slack[j], costs[i, j] - v[j] - best)
    total = 0.0
    for j in range(n):
        total += np.float64(slack[j])
    return np.int64(total / n / (mask + 1))


@njit(cache=True, nogil=True, error_model="numpy", **UNCOUNTED)
def _auction(costs, mask, v, partner, owner, room, queue, eps, last, bids):  # type: ignore[no-untyped-def]
    """Bid with a falling epsilon until few rows are left, or so often; returns how many bids were left."""
    n, bits, leave = costs.shape[0], v[v.size - 1], np.int64(_LEAVE * costs.shape[0])
    partner[:], owner[:] = -1, -1
    while bids > 0:
        free, at, rise = 0, 0, eps << bits
        for i in range(n):
            j = partner[i]
            if j >= 0:
                best, _ = _two_least(costs, i, v, room)
                if costs[i, j] - v[j] > best + rise:
                    partner[i], owner[j] = -1, -1
            if partner[i] < 0:
                queue[free] = i
                free += 1
        while free > leave and bids > 0:
            i = queue[at]
            at = at + 1 if at + 1 < n else 0
            free, bids = free - 1, bids - 1
            best, second = _two_least(costs, i, v, room)
            j = best & mask
            v[j] -= (second & ~mask) - (best & ~mask) + rise if n > 1 else 0
            other = owner[j]
            partner[i], owner[j] = j, i
            if other >= 0:
                partner[other] = -1
                end = at + free
                queue[end if end < n else end - n] = other
                free += 1
        if eps <= last:
            break
        eps = max(np.int64(eps / _FACTOR), last)
    return bids


@njit(cache=True, nogil=True, error_model="numpy")
def _finish(costs, mask, v, partner, owner, key, popped):  # type: ignore[no-untyped-def]
    """Keep the pairs that are least in their rows, and match the other rows by shortest paths."""
    n = costs.shape[0]
    pred, seen, depth = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        best, _ = _two_least(costs, i, v, key)
        j, least = partner[i], best & mask
        if j >= 0 and (costs[i, j] - v[j]) & ~mask > best & ~mask:
            partner[i], owner[j] = -1, -1
        if partner[i] < 0 and owner[least] < 0:
            partner[i], owner[least] = least, i
    for source in range(n):
        if partner[source] >= 0:
            continue
        seen[:], key[:] = v[:n], _FAR
        i, ahead, count = source, np.int64(0), 0
        while True:
            best = _reach(costs, i, seen, ahead, key, pred)
            j = best & mask
            depth[j] = best & ~mask
            if owner[j] < 0:
                break
            popped[count], count, i = j, count + 1, owner[j]
            ahead = depth[j] - ((costs[i, j] - v[j]) & ~mask)
            # A column that is settled is never reached again, however low the way is.
            key[j], seen[j] = _FAR, -2 * _FAR
        for k in range(count):
            v[popped[k]] += depth[popped[k]] - depth[j]
        while True:
            i = pred[j]
            owner[j] = i
            partner[i], j = j, partner[i]
            if i == source:
                break


@njit(cache=True, nogil=True, error_model="numpy")
def _sum(values):  # type: ignore[no-untyped-def]
    """A sum with the roundings of its steps added up too (Neumaier 1974), and the sum of sizes."""
    total, lost, size = 0.0, 0.0, 0.0
    for x in values:
        following = total + x
        lost += (total - following) + x if abs(total) >= abs(x) else (x - following) + total
        total, size = following, size + abs(x)
    return total + lost, size


@njit(cache=True, nogil=True, error_model="numpy")
def prove(costs, relative, partner, u, v, paid, proof):  # type: ignore[no-untyped-def]
    """From a guess ``v`` at the second potential: a first one, the second that is feasible to it, and what they prove.

    ``paid`` is what each row pays. The proof is the cost of the assignment, a bound on the cost of every other, and
    what sums of this size can tell; each for a mass of 1. Costs may be off by ``relative`` times their size. A bound
    of minus infinity is that of no assignment.
    """
    n = costs.shape[0]
    taken = np.zeros(n, np.bool_)
    for i in range(n):
        taken[partner[i]] = True
        paid[i] = costs[i, partner[i]]
        u[i] = paid[i] - v[partner[i]]
    lowered = 1.0 - relative - 4.0 * _UNIT
    raised = 1.0 + relative + 4.0 * _UNIT
    v[:] = np.inf
    for i in range(n):
        if relative == 0.0:
            for j in range(n):
                v[j] = min(v[j], costs[i, j] - u[i])
        else:
            for j in range(n):
                v[j] = min(v[j], min(costs[i, j] * lowered, costs[i, j] * raised) - u[i])
    for j in range(n):
        v[j] -= 4.0 * _UNIT * abs(v[j])
    primal, size = _sum(paid)
    first, size0 = _sum(u)
    second, size1 = _sum(v)
    proof[0] = primal / n
    proof[1] = (first + second - 4.0 * _UNIT * (size0 + size1)) / n if taken.all() else -np.inf
    proof[2] = 32.0 * _UNIT * size / n


@njit(cache=True, nogil=True, error_model="numpy")
def assign(costs, relative, start, partner, u, v, paid, proof, kept):  # type: ignore[no-untyped-def]
    """The optimal assignment of one matrix of costs with its potentials and proof; ``kept`` is room of that size.

    ``start`` is a second potential to begin from, or empty.
    """
    n = costs.shape[0]
    bits = np.int64(0)
    while (1 << bits) < n:
        bits += 1
    low, high, prices, owner = np.empty(n), np.empty(n), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    scale = whole_costs(costs, bits, low, high, kept)
    if not scale < np.inf:
        proof[:] = -np.inf
        return
    if scale > 0.0:
        most = 2.0 ** (_BITS - bits)
        for j in range(start.size):
            prices[j] = np.int64(min(max((start[j] - low[j]) * scale, -most), most)) << bits
        match(kept, bits, prices, partner, owner, start.size > 0)
    else:
        prices[:] = 0
        for i in range(n):
            partner[i] = i
    for j in range(n):
        v[j] = low[j] + (np.float64(prices[j] >> bits) / scale if scale > 0.0 else 0.0)
    prove(costs, relative, partner, u, v, paid, proof)
    least = low.min()
    if proof[1] > -np.inf:
        # No plan costs less than the least cost.
        proof[1] = max(proof[1], least - (relative + 4.0 * _UNIT) * abs(least))


@njit(cache=True, nogil=True, error_model="numpy")
def assign_samples(x, y, starts, relative, start, partner, u, v, paid, proofs, room, whole_room):  # type: ignore[no-untyped-def]
    """The assignments of several problems between samples; those of problem ``k`` begin at ``starts[k]``.

    ``start`` has second potentials to begin from, or is empty. A partner is a number within the problem, and there is a
    proof for each problem. Of ``n`` samples of ``d`` features a problem takes ``n * (n + 2 * (d + 7))`` entries of
    ``room`` and ``n * n`` of ``whole_room``.
    """
    d = x.shape[1]
    width = d + -d % 8
    for k in range(starts.size - 1):
        a, b = starts[k], starts[k + 1]
        n = b - a
        costs, kept = room[: n * n].reshape(n, n), whole_room[: n * n].reshape(n, n)
        left = room[n * n : n * (n + width)].reshape(n, width)
        right = room[n * (n + width) : n * (n + 2 * width)].reshape(width, n)
        left[:, d:], right[d:] = 0.0, 0.0
        for i in range(n):
            for j in range(d):
                left[i, j], right[j, i] = x[a + i, j], y[a + i, j]
        squared_costs(left, right, costs)
        assign(costs, relative, start[a:b], partner[a:b], u[a:b], v[a:b], paid[a:b], proofs[k], kept)

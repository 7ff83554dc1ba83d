"""Compiled loops that leave no cycle among the arcs that carry mass."""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED

__all__ = ["forest"]


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

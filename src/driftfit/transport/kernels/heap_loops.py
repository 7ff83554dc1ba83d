"""A heap of numbers with keys, for the compiled searches of shortest paths."""

from __future__ import annotations

from numba import njit

from driftfit.transport.kernels import UNCOUNTED

__all__ = ["pop", "sift_up"]


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

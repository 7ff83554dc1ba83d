"""How many cores a solve may use, and compiled loops spread over them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

import numpy as np

__all__ = ["THREADED", "in_threads", "serial", "worker_count"]

T = TypeVar("T")

# Costs to read from which a second core is worth the call.
THREADED = 100_000

_thread = threading.local()
# Workers by their number, kept: starting threads anew would take longer than many a piece of work.
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # A forked process has none of its parent's threads.
    os.register_at_fork(after_in_child=_pools.clear)


def in_threads(work: Callable[[slice], T], size: int, *, small: bool = False) -> list[T]:
    """Run ``work`` on slices that cover ``range(size)``, one per core; for compiled loops that let go of the lock.

    Results are in the order of the slices.

    >>> sum(in_threads(lambda piece: piece.stop - piece.start, 10))
    10
    """
    workers = 1 if small else min(worker_count(), size)
    if workers <= 1:
        return [work(slice(0, size))]
    edges = np.linspace(0, size, workers + 1).astype(int)
    mine, *others = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    # Work inside of work is done where it is.
    pool = _pools.get(workers - 1)
    if pool is None:
        pool = _pools[workers - 1] = ThreadPoolExecutor(workers - 1, initializer=serial)
    jobs = [pool.submit(work, piece) for piece in others]
    try:
        first = work(mine)
    finally:
        # No piece is left behind that still writes into the caller's arrays.
        wait(jobs)
    return [first, *(job.result() for job in jobs)]


def serial() -> None:
    """From now on this thread does its work alone; for workers that run side by side already."""
    _thread.serial = True


def worker_count() -> int:
    """Cores this process may use: those it is bound to, or fewer where the environment says so.

    >>> worker_count() >= 1
    True
    """
    if getattr(_thread, "serial", False):
        return 1
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

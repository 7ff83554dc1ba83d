"""How many cores a solve may use, and compiled loops spread over them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

__all__ = ["in_threads", "serial", "worker_count"]


def in_threads(work: Callable[[slice], None], size: int, *, small: bool = False) -> None:
    """Run ``work`` on slices that cover ``range(size)``, one per core; for compiled loops that let go of the lock."""
    workers = 1 if small else min(worker_count(), size)
    if workers <= 1:
        work(slice(0, size))
        return
    edges = np.linspace(0, size, workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        for job in [pool.submit(work, slice(a, b)) for a, b in pairwise(edges)]:
            job.result()


_thread = threading.local()


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

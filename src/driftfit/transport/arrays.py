"""How arrays and tensors are handled by one code, and how many cores a solve may use."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
T = TypeVar("T")

# Costs to read from which a second core is worth the call.
THREADED = 100_000


@cache
def has_numba() -> bool:
    """Whether the compiled loops can be used."""
    return importlib.util.find_spec("numba") is not None


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a torch tensor; torch is not imported to find out.

    >>> is_tensor(np.zeros(3))
    False
    """
    return not isinstance(x, np.ndarray) and hasattr(x, "is_cuda") and hasattr(x, "device")


def as_double(x: Any) -> Any:
    """A dense array or tensor in float64, copied only if it has another type."""
    return x.double() if is_tensor(x) else np.asarray(x, dtype=np.float64)


def to_numpy(x: Any) -> NDArray[Any]:
    return np.asarray(x.detach().cpu().numpy() if is_tensor(x) else x)


def beside(x: Any, values: NDArray[Any] | slice) -> Any:
    """A vector where ``x`` lives, so that the two can be combined."""
    if not is_tensor(x) or isinstance(values, slice):
        return values
    import torch  # slow to import

    return torch.from_numpy(np.ascontiguousarray(values)).to(x.device)


def log_sum(exponents: Any, axis: int) -> Any:
    """Logarithm of the sum of exponentials along an axis."""
    if is_tensor(exponents):
        return exponents.logsumexp(dim=axis)
    largest = exponents.max(axis=axis, keepdims=True)
    total = np.exp(exponents - largest).sum(axis=axis)
    return np.log(total) + largest.squeeze(axis)


def softmax(exponents: Any) -> Any:
    """Exponentials, each row scaled to sum 1; tensors in float32, which holds them whatever the exponents are."""
    if is_tensor(exponents):
        return exponents.float().softmax(dim=1)
    exponents = exponents - exponents.max(axis=1, keepdims=True)
    np.exp(exponents, out=exponents)
    exponents /= exponents.sum(axis=1, keepdims=True)
    return exponents


def least(values: Any, axis: int) -> Any:
    """The minimum along an axis."""
    return values.amin(axis) if is_tensor(values) else values.min(axis=axis)


def taken(values: Any, place: Any, axis: int) -> Any:
    """Values at places along an axis."""
    return values.gather(axis, place) if is_tensor(values) else np.take_along_axis(values, place, axis=axis)


def smallest(values: Any, count: int, axis: int) -> tuple[Any, Any]:
    """Places and values of the ``count`` smallest along an axis, in no order."""
    count = min(count, values.shape[axis])
    if is_tensor(values):
        # Ranking only: float32 is enough and much faster.
        place = values.float().topk(count, dim=axis, largest=False, sorted=False).indices
    else:
        place = np.argpartition(values, count - 1, axis=axis).take(np.arange(count), axis=axis)
    return place, taken(values, place, axis)


def subtract_product(values: Any, left: Any, right: Any, factor: float) -> None:
    """Take a matrix product times a factor off some values, in place; on a device without a second such matrix.

    >>> x = np.ones((1, 1))
    >>> subtract_product(x, np.ones((1, 2)), np.ones((2, 1)), 3.0)
    >>> x.tolist()
    [[-5.0]]
    """
    if is_tensor(values):
        values.addmm_(left, right, alpha=-factor)
    else:
        values -= factor * (left @ right)


def concatenated(parts: list[Any]) -> Any:
    """Arrays or tensors one after the other."""
    if not is_tensor(parts[0]):
        return np.concatenate(parts)
    import torch  # slow to import

    return torch.cat(parts)


def vector(home: Any, size: int | tuple[int, int], value: float, *, whole: bool = False) -> Any:
    """A constant float64 (or int64) array where ``home`` lives."""
    filled = np.full(size, value, np.int64 if whole else np.float64)
    return beside(home, filled)


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

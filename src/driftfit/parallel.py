"""Where independent pieces of work run: in this process, in several of this machine, or on a cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from driftfit.errors import InputError
from driftfit.parallel_ray import Ray
from driftfit.parallel_tasks import (
    POLL_SECONDS,
    Batch,
    Engine,
    Failure,
    Lost,
    Outcome,
    Shared,
    attempt,
    dispatch,
    prepared,
    unsendable,
)

__all__ = ["Processes", "Ray", "Serial"]

ENGINES = ("serial", "processes", "ray")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Serial:
    """One task after the other, in this process."""

    @property
    def words(self) -> str:
        return "serial"

    @property
    def sharing(self) -> int:
        return 1

    def run(self, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
        scratch: dict[str, Any] = {}
        for batch in batches:
            if batch is None:
                time.sleep(POLL_SECONDS)
                continue
            shared = prepared(batch, scratch)
            for task in batch.tasks:
                yield attempt(batch.workload, shared, task)
            del shared


@dataclass(frozen=True)
class Processes:
    """Several processes of this machine, fresh ones, each with its share of the cores.

    They end with this process, however that ends. One that is ended from outside is replaced.

    >>> Processes(2).words
    '2 processes'
    """

    workers: int = 2

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"there must be at least 1 process, got {self.workers!r}")

    @property
    def words(self) -> str:
        return f"{self.workers} processes"

    @property
    def sharing(self) -> int:
        return self.workers

    def run(self, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
        crew = _ProcessCrew(self.workers)
        try:
            yield from dispatch(crew, batches)
        finally:
            crew.close()


def engine_from_word(
    word: str | None, workers: int | None = None, address: str | None = None, gpus: float | None = None
) -> Engine:
    """The engine that a command line asks for; without a word an address is for Ray, several workers for processes."""
    if word is None:
        word = "ray" if address is not None else "processes" if (workers or 1) > 1 else "serial"
    if word not in ENGINES:
        raise InputError(f"there is no engine {word!r}; choose among {', '.join(ENGINES)}")
    if address is not None and word != "ray":
        raise InputError(f"the address {address!r} is for the engine ray, got {word!r}")
    if gpus is not None and word != "ray":
        raise InputError(f"a number of GPUs for each cell ({gpus!r}) is for the engine ray, got {word!r}")
    if word == "ray":
        return Ray(workers, address, gpus)
    if word == "serial":
        if (workers or 1) > 1:
            raise InputError(f"the engine serial has one worker, got {workers}; use processes or ray")
        return Serial()
    return Processes(workers or 2)


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    line: Connection
    busy: bool = False
    batch: int = -1


@dataclass(eq=False)
class _ProcessCrew:
    size: int
    workers: dict[int, _Worker] = field(default_factory=dict)
    count: int = 0

    def idle(self) -> list[Hashable]:
        while len(self.workers) < self.size:
            self.workers[self.count] = self._start()
            self.count += 1
        return [number for number, worker in self.workers.items() if not worker.busy]

    def give(self, number: Hashable, shared: Shared, index: int) -> None:
        worker = self.workers[number]  # type: ignore[index]
        batch = None if worker.batch == shared.number else shared.batch
        worker.busy, worker.batch = True, shared.number
        try:
            # One that is gone already is noticed by `wait`.
            with suppress(OSError):
                worker.line.send((batch, shared.batch.tasks[index]))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise unsendable(error) from None

    def wait(self, seconds: float) -> list[tuple[Hashable, Outcome | Lost]]:
        ready = wait([worker.line for worker in self.workers.values()], timeout=seconds)
        found: list[tuple[Hashable, Outcome | Lost]] = []
        for number, worker in list(self.workers.items()):
            if worker.line not in ready:
                continue
            try:
                came: Outcome | Lost = worker.line.recv()
            except (EOFError, OSError):
                worker.process.join()
                came = Lost(f"a worker was ended from outside (exit code {worker.process.exitcode})")
                del self.workers[number]
                worker.line.close()
            if worker.busy:
                worker.busy = False
                found.append((number, came))
        return found

    def close(self) -> None:
        for worker in self.workers.values():
            worker.process.kill()
        for worker in self.workers.values():
            worker.process.join()
            worker.line.close()

    def _start(self) -> _Worker:
        # CUDA does not survive a fork.
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there,), daemon=True)
        with _few_threads(max(1, (os.cpu_count() or 1) // self.size)), _undivided():
            process.start()
        there.close()
        return _Worker(process, here)


@contextmanager
def _undivided() -> Iterator[None]:
    """Signals that come while a worker is started are answered afterwards: half started, it would complain.

    The worker begins with interrupts held back, and then ignores them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda own, frame: came.append(own)) for number in numbers}
    can_hold = hasattr(signal, "pthread_sigmask")  # not on Windows
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_hold else set()
    try:
        yield
    finally:
        if can_hold:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
    for own in came:
        signal.raise_signal(own)


@contextmanager
def _few_threads(count: int) -> Iterator[None]:
    """Linear algebra of all workers together has no more threads than the machine; libraries read this as they load."""
    before = {name: os.environ.get(name) for name in _THREADS}
    for name, value in before.items():
        if value is None or not value.isdecimal() or int(value) > count:
            os.environ[name] = str(count)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(line: Connection) -> None:
    """Do tasks until nobody gives any."""
    # The parent answers an interrupt, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    scratch: dict[str, Any] = {}
    workload: Any = None
    shared: Any = None
    while True:
        try:
            batch, task = line.recv()
            if batch is not None:
                shared = None
                workload, shared = batch.workload, prepared(batch, scratch)
            line.send(attempt(workload, shared, task))
        except (EOFError, BrokenPipeError):
            return
        except Exception as error:  # what was sent, or what is to be sent back, cannot be packed
            line.send(Outcome(None, failure=Failure.of(error)))


def _end_with_parent() -> None:
    """Leave as soon as the parent is gone, however it ended: nobody would read what is done here."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)

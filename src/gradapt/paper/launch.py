"""Run cells: those without a record, grouped so that shared work is done once.

Whoever runs a group claims its cells in the store first. So several processes, of one command or of several, share the
work by looking at the store and nothing else; the claims of a process that died are free for the others.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from gradapt import __version__
from gradapt.errors import InputError, SolverError
from gradapt.paper.cells import Cell
from gradapt.paper.gpu_sharing import shared_gpu
from gradapt.paper.store import LEASE_SECONDS, Store, new_owner

__all__ = ["DEFAULT_STORE", "Launch", "OnCell", "provenance_of", "run_cells"]

DEFAULT_STORE = Path("runs") / "paper.sqlite"

# Called after each finished cell with its accuracy.
OnCell = Callable[[Cell, float], None]

_LOG = logging.getLogger("gradapt")
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Launch:
    """Where cells run and where their records go.

    Attributes
    ----------
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    jobs : int
        Processes; each takes whole groups (one benchmark, study and seed).
    store : path
    """

    device: str = "auto"
    jobs: int = 1
    store: str | Path = DEFAULT_STORE

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1, got {self.jobs!r}")


def run_cells(
    cells: Sequence[Cell], store: Store, *, device: str = "auto", jobs: int = 1, on_cell: OnCell | None = None
) -> int:
    """Run every cell that the store does not hold yet; returns how many were run.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store
        Each finished cell becomes one record at once, so that an interrupted run goes on
        where it was.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    jobs : int
        Processes; each takes whole groups (one benchmark, study and seed).
    on_cell : callable, optional
        For progress displays.
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs!r}")
    finished = store.finished(cells)
    missing = [cell for cell in cells if cell not in finished]
    jobs = min(jobs, len(_grouped(missing)))
    if jobs > 1:
        from gradapt.learners.torch_samples import pick_device

        with nullcontext() if pick_device(device).type == "cpu" else shared_gpu():
            return _run_processes(missing, store, device, jobs, on_cell)
    return _run_here(missing, store, device, on_cell)


def _grouped(cells: Iterable[Cell]) -> dict[tuple[Any, ...], list[Cell]]:
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    return groups


def _run_here(cells: Sequence[Cell], store: Store, device: str, on_cell: OnCell | None, jobs: int = 1) -> int:
    """Run groups that nobody else has claimed until every cell is finished, by us or by others."""
    pools: dict[str, Any] = {}
    waiting, n_run = set(cells), 0
    patient = False
    with _owner(store) as owner:
        while waiting:
            claimed = False
            for group in _grouped(sorted(waiting)).values():
                mine = store.claim(group, owner)
                if mine:
                    claimed = True
                    run_group(mine, store.path, device, on_cell, pools, jobs)
                    n_run += len(mine)
                    waiting -= set(mine)
            _tell_finished(waiting, store, on_cell)
            if waiting and not claimed:
                if not patient and on_cell is not None:
                    _LOG.warning("gradapt: another run is at work on %d cells; waiting for it", len(waiting))
                patient = True
                time.sleep(_POLL_SECONDS)
    return n_run


@contextmanager
def _owner(store: Store) -> Iterator[str]:
    """A name to claim cells under; the claims live as long as the block."""
    owner, done = new_owner(), threading.Event()

    def renew() -> None:
        while not done.wait(LEASE_SECONDS / 6):
            # A store that is busy for long is asked again; the lease outlasts several tries.
            with suppress(InputError):
                store.renew(owner)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield owner
    finally:
        done.set()
        with suppress(InputError):
            store.release(owner)


def run_group(
    cells: Iterable[Cell],
    store_path: Path,
    device: str,
    on_cell: OnCell | None = None,
    pools: dict[str, Any] | None = None,
    jobs: int = 1,
) -> None:
    """Run the cells of one group one after another."""
    import torch

    from gradapt.learners.torch_pool import TrainerPool
    from gradapt.learners.torch_samples import pick_device
    from gradapt.paper.bench import Bench

    cells = sorted(cells)
    table, preset, study, seed, n_samples = cells[0].group
    place = pick_device(device)
    # Trainers of another table only hold memory.
    pools = {} if pools is None else pools
    own = f"{table} {preset} {study}"
    for name in [name for name in pools if name != own]:
        del pools[name]
    bench = Bench(table, preset, seed, place, n_samples, pools.setdefault(own, TrainerPool()), study, jobs=jobs)
    torch.set_float32_matmul_precision("high" if bench.settings.tf32 else "highest")
    store = Store(store_path)
    provenance = provenance_of(place, asdict(bench.settings))
    for cell in cells:
        started = time.perf_counter()
        if place.type == "cuda":
            torch.cuda.reset_peak_memory_stats(place)
        try:
            result = bench.run(cell)
        except torch.OutOfMemoryError:
            raise SolverError(
                f"{cell}: the memory of {place} is full; use fewer than {jobs} --jobs, or leave the device to this run "
                "alone. Finished cells are kept"
                if jobs > 1
                else f"{cell}: the memory of {place} is full; use --samples or another device. Finished cells are kept"
            ) from None
        seconds = time.perf_counter() - started
        store.add(cell, result, provenance, seconds, _peak_bytes(place))
        if on_cell is not None:
            on_cell(cell, result["transductive_last"])


def _in_worker(cells: list[Cell], store_path: Path, device: str, threads: int, jobs: int, answer: Connection) -> None:
    # The parent answers an interrupt, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        import torch
        from threadpoolctl import threadpool_limits

        torch.set_num_threads(threads)
        # Linear algebra of all workers together has no more threads than the machine.
        with threadpool_limits(threads):
            answer.send(_run_here(cells, Store(store_path), device, None, jobs))
    except (InputError, SolverError) as error:
        answer.send(error)
    except Exception as error:
        answer.send(SolverError(f"a worker failed ({type(error).__name__}: {error}). Finished cells are kept"))


def _end_with_parent() -> None:
    """Leave as soon as the parent is gone, however it ended: nobody would read what is done here."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _run_processes(cells: list[Cell], store: Store, device: str, jobs: int, on_cell: OnCell | None) -> int:
    # CUDA does not survive a fork.
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // jobs)
    workers: dict[BaseProcess, Connection] = {}
    waiting, n_run = set(cells), 0
    try:
        for _ in range(jobs):
            receiver, sender = context.Pipe(duplex=False)
            given = (cells, store.path, device, threads, jobs, sender)
            started = context.Process(target=_in_worker, args=given, daemon=True)
            started.start()
            sender.close()
            workers[started] = receiver
        while workers:
            _tell_finished(waiting, store, on_cell)
            wait([worker.sentinel for worker in workers], timeout=_POLL_SECONDS)
            for worker in [worker for worker in workers if not worker.is_alive()]:
                n_run += _answer_of(worker, workers.pop(worker))
        _tell_finished(waiting, store, on_cell)
    finally:
        for worker in workers:
            worker.kill()
    return n_run


def _answer_of(worker: BaseProcess, receiver: Connection) -> int:
    """How many cells a worker has run, or what it failed with."""
    try:
        answer = receiver.recv()
    except EOFError:
        raise SolverError(
            f"a worker was ended from outside (exit code {worker.exitcode}), perhaps for its memory; use fewer --jobs. "
            "Finished cells are kept"
        ) from None
    if isinstance(answer, Exception):
        raise answer
    return int(answer)


def _tell_finished(waiting: set[Cell], store: Store, on_cell: OnCell | None) -> None:
    # The store is the one place where the state lies; the display reads it from there.
    for cell, result in store.results(waiting).items():
        waiting.discard(cell)
        if on_cell is not None:
            on_cell(cell, result["transductive_last"])


def provenance_of(device: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Versions, device and settings that a record comes from."""
    import numpy
    import scipy
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {
        "gradapt": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "device": f"{device.type} ({name})",
        "settings": settings,
    }


def _peak_bytes(device: Any) -> int:
    if device.type == "cuda":
        import torch

        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)

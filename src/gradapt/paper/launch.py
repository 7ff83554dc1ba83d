"""Run cells: those without a record, grouped so that shared work is done once."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradapt import __version__
from gradapt.errors import InputError, SolverError
from gradapt.paper.cells import Cell
from gradapt.paper.store import Store

__all__ = ["DEFAULT_STORE", "Launch", "OnCell", "provenance_of", "run_cells"]

DEFAULT_STORE = Path("runs") / "paper.sqlite"

# Called after each finished cell with its accuracy.
OnCell = Callable[[Cell, float], None]

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
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in missing:
        groups.setdefault(cell.group, []).append(cell)
    if not missing:
        return 0
    if jobs == 1 or len(groups) == 1:
        pools: dict[str, Any] = {}
        for group in groups.values():
            run_group(group, store.path, device, on_cell, pools)
    else:
        _run_processes(list(groups.values()), store, device, jobs, on_cell)
    return len(missing)


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


_WORKER_POOLS: dict[str, Any] = {}


def _in_worker(cells: list[Cell], store_path: Path, device: str, threads: int, jobs: int) -> None:
    import torch

    torch.set_num_threads(threads)
    run_group(cells, store_path, device, None, _WORKER_POOLS, jobs)


def _run_processes(groups: list[list[Cell]], store: Store, device: str, jobs: int, on_cell: OnCell | None) -> None:
    import multiprocessing
    import os
    from concurrent.futures import ProcessPoolExecutor

    # CUDA does not survive a fork.
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting = {cell for group in groups for cell in group}
    jobs = min(jobs, len(groups))
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running = [pool.submit(_in_worker, group, store.path, device, threads, jobs) for group in groups]
        try:
            while waiting:
                # The store is the one place where the state lies; the display reads it from there.
                for cell, result in store.results(waiting).items():
                    waiting.discard(cell)
                    if on_cell is not None:
                        on_cell(cell, result["transductive_last"])
                for job in running:
                    if job.done():
                        job.result()
                if all(job.done() for job in running) and not store.finished(waiting):
                    break
                time.sleep(_POLL_SECONDS)
        except BaseException:
            for job in running:
                job.cancel()
            raise


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

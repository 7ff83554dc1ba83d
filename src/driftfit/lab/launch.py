"""Cells of the paper as a workload: groups that share data, source model, encodings and plans."""

from __future__ import annotations

import gc
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from driftfit import __version__
from driftfit.errors import InputError, SolverError
from driftfit.lab.cells import Cell
from driftfit.lab.gpu_sharing import has_gpu, shared_gpu
from driftfit.lab.launching import OnCell, Record, launch
from driftfit.lab.presets import FRONTIER
from driftfit.lab.store import Store
from driftfit.parallel import Bundle, Engine, Failure, Outcome, Processes, engine_from_word

__all__ = ["DEFAULT_STORE", "CellWork", "Launch", "provenance_of", "run_cells"]

DEFAULT_STORE = Path("runs") / "paper.sqlite"
_FULL = re.compile("CUDA error: out of memory|ALLOC_FAILED")


class DeviceFullError(SolverError):
    """No memory is left on the device."""


@dataclass(frozen=True)
class Launch:
    """Where cells run and where their records go.

    Attributes
    ----------
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    jobs : int
        Processes, where no engine is given.
    store : path
    engine : Engine, optional
        One of `driftfit.parallel`.
    command : str
        What is being run, for ``driftfit runs``.
    together : bool or None
        Whether the cells of a group run together, their trainings in lockstep; None: on a GPU. Their numbers are
        those of cells that run alone up to rounding.
    """

    device: str = "auto"
    jobs: int = 1
    store: str | Path = DEFAULT_STORE
    engine: Engine | None = None
    command: str = ""
    together: bool | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1, got {self.jobs!r}")


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    device: str = "auto",
    jobs: int = 1,
    engine: Engine | None = None,
    on_cell: OnCell | None = None,
    command: str = "",
    together: bool | None = None,
) -> int:
    """Run every cell that the store does not hold yet; returns how many were run.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store
        Finished cells become records at once, those that run together when all of them are
        finished, so that an interrupted run goes on where it was.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    jobs : int
        Processes, where no engine is given.
    engine : Engine, optional
        One of `driftfit.parallel`.
    on_cell : callable, optional
        For progress displays.
    command : str
        What is being run, for ``driftfit runs``.
    together : bool, optional
        As in `Launch`.
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs!r}")
    chosen = engine or engine_from_word(None, jobs)
    work = CellWork(device, chosen.sharing)
    on_gpu = device != "cpu" and has_gpu()
    several = isinstance(chosen, Processes) and chosen.workers > 1
    # What lets several processes of this machine use one GPU side by side.
    with shared_gpu() if on_gpu and several else nullcontext():
        # Candidates of the frontier are too different to train together, and too large to wait for each other.
        alike = on_gpu and not any(cell.study == FRONTIER for cell in cells)
        crowd = alike if together is None else together
        finished = launch(cells, work, store, chosen, on_cell=on_cell, command=command, together=crowd)
    # What found no room on the device beside other processes may find it alone, and what ran together cell by cell.
    more_room = [True, False] if crowd and work.sharing > 1 else [False] if crowd or work.sharing > 1 else []
    for company in more_room:
        full = [cell for cell, failure in finished.failures.items() if failure.kind == DeviceFullError.__name__]
        if full:
            again = launch(full, CellWork(device), store, on_cell=on_cell, command=command, together=company)
            others = {cell: failure for cell, failure in finished.failures.items() if cell not in full}
            finished = replace(finished, failures=others | again.failures, n_run=finished.n_run + again.n_run)
            if on_gpu:
                from driftfit.models.torch.samples import pick_device  # the cells have loaded torch here

                _hand_back_memory(pick_device(device))
    finished.raise_failed()
    return finished.n_run


@dataclass(frozen=True)
class CellWork:
    """How cells of one group are run: on one bench, which any worker may be handed.

    Attributes
    ----------
    device : str
    sharing : int
        Workers that share the device.
    """

    device: str = "auto"
    sharing: int = 1

    def prepare(self, tasks: tuple[Cell | Bundle, ...], scratch: dict[str, Any]) -> Any:
        """The bench of a group, with the data and source models that its cells need."""
        from driftfit.lab.bench import Bench
        from driftfit.models.torch.pool import TrainerPool
        from driftfit.models.torch.samples import pick_device

        cells = [cell for task in tasks for cell in (task.tasks if isinstance(task, Bundle) else (task,))]
        table, preset, study, seed, n_samples = cells[0].group
        place = pick_device(self.device)
        # Trainers of another table only hold memory.
        own = f"{table} {preset} {study}"
        for name in [name for name in scratch if name != own]:
            del scratch[name]
        _hand_back_memory(place)
        pool = scratch.setdefault(own, TrainerPool())
        bench = Bench(table, preset, seed, place, n_samples, pool, study, jobs=self.sharing)
        # Before the source model is trained: its captured steps serve the cells too.
        _set_precision(bench)
        with self._told_if_full(place):
            bench.prepare(cells)
        return bench

    def run(self, shared: Any, task: Cell | Bundle) -> Record | list[Outcome]:
        """The record of one cell, or what came of each cell of a bundle."""
        import torch

        place = shared.device
        _set_precision(shared)
        if place.type == "cuda":
            torch.cuda.reset_peak_memory_stats(place)
        started = time.perf_counter()
        if isinstance(task, Cell):
            result = self._attempted(shared, task)
            return _record(shared, result, time.perf_counter() - started)
        found = []
        # Neighbours on a device do the same work in another order, and are less in each other's way.
        for heads in (False, True) if shared.seed % 2 else (True, False):
            cells = [cell for cell in task.tasks if shared.trains_head(cell) is heads]
            ran = shared.trainers.together([partial(self._attempted, shared, cell) for cell in cells])
            # An exception holds on to the tensors of its frames; what it says does not.
            found += [(cells[number], result, error and Failure.of(error)) for number, result, error in ran]
        # Nobody can say which of the cells that ran together took how much of the time.
        seconds = (time.perf_counter() - started) / len(task.tasks)
        return [
            Outcome(cell, failure=failure)
            if failure is not None
            else Outcome(cell, _record(shared, result, seconds, len(task.tasks)))
            for cell, result, failure in found
        ]

    def _attempted(self, bench: Any, cell: Cell) -> dict[str, Any]:
        with self._told_if_full(bench.device):
            result: dict[str, Any] = bench.run(cell)
        return result

    @contextmanager
    def _told_if_full(self, device: Any) -> Iterator[None]:
        """No room on the device is an error of ours, with its remedy."""
        import torch

        try:
            yield
        except RuntimeError as error:
            # CUDA and its libraries have words of their own for it.
            if not isinstance(error, torch.OutOfMemoryError) and not _FULL.search(str(error)):
                raise
            remedy = "use --samples or another device"
            if self.sharing > 1:
                remedy = f"use fewer than {self.sharing} --jobs, or leave the device to this run alone"
            raise DeviceFullError(f"the memory of {device} is full; {remedy}") from None


def _hand_back_memory(device: Any) -> None:
    """What an earlier group of cells has left on a GPU goes to the processes beside this one.

    torch keeps freed memory for its own process. Trainers and their captured steps refer to each other, so that they
    are freed when they are looked for.
    """
    if device.type == "cuda":
        import torch

        gc.collect()
        torch.cuda.empty_cache()


def _set_precision(bench: Any) -> None:
    """Products of networks as the settings of the bench say."""
    import torch

    torch.set_float32_matmul_precision("high" if bench.settings.tf32 else "highest")


def _record(bench: Any, result: dict[str, Any], seconds: float, together: int = 1) -> Record:
    provenance = provenance_of(bench.device, asdict(bench.settings))
    if together > 1:
        provenance["cells_together"] = together
    return Record(result, provenance, seconds, _peak_bytes(bench.device))


def provenance_of(device: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Versions, device and settings that a record comes from."""
    import numpy
    import scipy
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {
        "driftfit": __version__,
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

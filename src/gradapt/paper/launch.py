"""Cells of the paper as a workload: groups that share data, source model, encodings and plans."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradapt import __version__
from gradapt.engines import Engine, OnCell, Processes, Record, Store, engine_from_word, launch
from gradapt.errors import InputError, SolverError
from gradapt.paper.cells import Cell
from gradapt.paper.gpu_sharing import shared_gpu

__all__ = ["DEFAULT_STORE", "CellWork", "Launch", "provenance_of", "run_cells"]

DEFAULT_STORE = Path("runs") / "paper.sqlite"


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
        One of `gradapt.engines`.
    command : str
        What is being run, for ``gradapt runs``.
    """

    device: str = "auto"
    jobs: int = 1
    store: str | Path = DEFAULT_STORE
    engine: Engine | None = None
    command: str = ""

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
        Processes, where no engine is given.
    engine : Engine, optional
        One of `gradapt.engines`.
    on_cell : callable, optional
        For progress displays.
    command : str
        What is being run, for ``gradapt runs``.
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs!r}")
    chosen = engine or engine_from_word(None, jobs)
    work = CellWork(device, chosen.sharing)
    with _shared(device, chosen):
        finished = launch(cells, work, store, chosen, on_cell=on_cell, command=command)
    finished.raise_failed()
    return finished.n_run


def _shared(device: str, engine: Engine) -> AbstractContextManager[Any]:
    """What lets several processes of this machine use one GPU side by side."""
    if not isinstance(engine, Processes) or engine.workers == 1:
        return nullcontext()
    from gradapt.learners.torch_samples import pick_device

    return nullcontext() if pick_device(device).type == "cpu" else shared_gpu()


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

    def prepare(self, tasks: tuple[Cell, ...], scratch: dict[str, Any]) -> Any:
        """The bench of a group, with the data and source models that its cells need."""
        from gradapt.learners.torch_pool import TrainerPool
        from gradapt.learners.torch_samples import pick_device
        from gradapt.paper.bench import Bench

        table, preset, study, seed, n_samples = tasks[0].group
        # Trainers of another table only hold memory.
        own = f"{table} {preset} {study}"
        for name in [name for name in scratch if name != own]:
            del scratch[name]
        pool = scratch.setdefault(own, TrainerPool())
        bench = Bench(table, preset, seed, pick_device(self.device), n_samples, pool, study, jobs=self.sharing)
        bench.prepare(tasks)
        return bench

    def run(self, shared: Any, task: Cell) -> Record:
        """The record of one cell."""
        import torch

        place = shared.device
        torch.set_float32_matmul_precision("high" if shared.settings.tf32 else "highest")
        started = time.perf_counter()
        if place.type == "cuda":
            torch.cuda.reset_peak_memory_stats(place)
        try:
            result = shared.run(task)
        except torch.OutOfMemoryError:
            remedy = "use --samples or another device"
            if self.sharing > 1:
                remedy = f"use fewer than {self.sharing} --jobs, or leave the device to this run alone"
            raise SolverError(f"the memory of {place} is full; {remedy}") from None
        seconds = time.perf_counter() - started
        return Record(result, provenance_of(place, asdict(shared.settings)), seconds, _peak_bytes(place))


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

"""Cells of the paper as a workload: groups that share data, source model, encodings and plans."""

from __future__ import annotations

import gc
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from driftfit import __version__
from driftfit.errors import InputError, SolverError
from driftfit.lab.cells import Cell
from driftfit.lab.launching import OnCell, Record, launch
from driftfit.lab.store import Store
from driftfit.parallel import Engine, engine_from_word

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
        Each finished cell becomes a record at once, so that an interrupted run goes on where it was.
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
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs!r}")
    chosen = engine or engine_from_word(None, jobs)
    finished = launch(cells, CellWork(device, chosen.sharing), store, chosen, on_cell=on_cell, command=command)
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

    def prepare(self, tasks: tuple[Cell, ...], scratch: dict[str, Any]) -> Any:
        """The bench of a group, with the data and source models that its cells need."""
        from driftfit.lab.bench import Bench
        from driftfit.models.torch.samples import pick_device

        table, preset, study, seed, n_samples = tasks[0].group
        place = pick_device(self.device)
        _hand_back_memory(place)
        bench = Bench(table, preset, seed, place, n_samples, study, jobs=self.sharing)
        _set_precision(bench)
        with self._told_if_full(place):
            bench.prepare(tasks)
        return bench

    def run(self, shared: Any, task: Cell) -> Record:
        """The record of one cell."""
        import torch

        place = shared.device
        _set_precision(shared)
        if place.type == "cuda":
            torch.cuda.reset_peak_memory_stats(place)
        started = time.perf_counter()
        with self._told_if_full(place):
            result = shared.run(task)
        seconds = time.perf_counter() - started
        return Record(result, provenance_of(place, asdict(shared.settings)), seconds, _peak_bytes(place))

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

    torch keeps freed memory for its own process.
    """
    if device.type == "cuda":
        import torch

        gc.collect()
        torch.cuda.empty_cache()


def _set_precision(bench: Any) -> None:
    """Products of networks as the settings of the bench say."""
    import torch

    torch.set_float32_matmul_precision("high" if bench.settings.tf32 else "highest")


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

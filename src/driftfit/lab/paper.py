"""The paper's tables: cells run in groups that share data, source model, encodings and plans; one call shows them."""

from __future__ import annotations

import gc
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from driftfit import __version__
from driftfit.errors import InputError, SolverError, meant
from driftfit.extras import has, need
from driftfit.lab.cells import BENCHMARKS, Cell, Options, Table
from driftfit.lab.launch import OnCell, Progress, Record, attended, launch
from driftfit.lab.layouts import TABLES, make_table
from driftfit.lab.output import as_markdown, write_outputs
from driftfit.lab.statistics import Entry, summarise
from driftfit.lab.store import Store
from driftfit.parallel import Engine, Serial

# Everything that can be asked for by name: the tables, and the one picture that has no cells.
EXHIBITS = (*TABLES, "vae")
DEFAULT_STORE = Path("runs") / "paper.sqlite"
_FULL = re.compile("CUDA error: out of memory|ALLOC_FAILED")


class DeviceFullError(SolverError):
    """No memory is left on the device."""


@dataclass(frozen=True)
class Launch:
    """Where cells run and where their records go.

    ``device``: ``"auto"``, ``"cpu"`` or ``"cuda"``. ``command``: what is being run, for ``driftfit runs``.
    """

    device: str = "auto"
    engine: Engine = field(default_factory=Serial)
    store: str | Path = DEFAULT_STORE
    command: str = ""


def run_cells(cells: Sequence[Cell], store: Store, where: Launch, on_cell: OnCell | None = None) -> int:
    """Run every cell that the store does not hold yet; returns how many were run.

    Each finished cell becomes a record at once, so that an interrupted run goes on where it was.
    """
    work = CellWork(where.device, where.engine.sharing)
    finished = launch(cells, work, store, where.engine, on_cell=on_cell, command=where.command)
    finished.raise_failed()
    return finished.n_run


@dataclass(frozen=True)
class CellWork:
    """How cells of one group are run: on one `Experiment`, which any worker may be handed.

    ``sharing``: workers that share the device.
    """

    device: str = "auto"
    sharing: int = 1

    def prepare(self, tasks: tuple[Cell, ...], scratch: dict[str, Any]) -> Any:
        """The experiment of a group, with the data and source models that its cells need."""
        from driftfit.lab.experiment import Experiment
        from driftfit.models.torch.samples import pick_device

        table, preset, study, seed, n_samples = tasks[0].group
        place = pick_device(self.device)
        _hand_back_memory(place)
        shared = Experiment(table, preset, seed, place, n_samples, study, jobs=self.sharing)
        _set_precision(shared)
        with self._told_if_full(place):
            shared.prepare(tasks)
        return shared

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
    """What an earlier group of cells has left on a GPU, and torch keeps, goes to the processes beside this one."""
    if device.type == "cuda":
        import torch

        gc.collect()
        torch.cuda.empty_cache()


def _set_precision(experiment: Any) -> None:
    """Products of networks as its settings say."""
    import torch

    torch.set_float32_matmul_precision("high" if experiment.settings.tf32 else "highest")


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


def run_tables(
    tables: Sequence[str],
    options: Options | None = None,
    *,
    seeds: int = 5,
    launch: Launch | None = None,
    output: str | Path | None = None,
    quiet: bool = False,
    progress: Progress | None = None,
) -> list[Entry]:
    """Run what is missing of the tables, print them and write them to ``output``.

    ``all`` stands for the four benchmarks. ``vae`` is a picture: it is always made anew, into ``output``.
    ``progress`` shows where a run stands.
    """
    if not has("torch"):
        # Where it is installed it is not imported to find out: that takes seconds, and workers import it themselves.
        need("torch", "paper", "running the paper's tables")
    unknown = [name for name in tables if name not in (*EXHIBITS, "all")]
    if unknown:
        near = meant(unknown[0], EXHIBITS)
        raise InputError(f"there is no table {unknown[0]!r}; choose among {', '.join(EXHIBITS)} and all{near}")
    names = list(dict.fromkeys(part for name in tables for part in (BENCHMARKS if name == "all" else (name,))))
    options, launch = options or Options(), launch or Launch(command=f"paper {' '.join(names)}")
    wanted = [make_table(name, options) for name in names if name != "vae"]
    cells = {table.name: table.cells(seeds) for table in wanted}
    everything = list(dict.fromkeys(cell for own in cells.values() for cell in own))
    store = Store(launch.store)
    started = time.perf_counter()
    with attended(store, everything, progress) as report:
        n_run = run_cells(everything, store, launch, report)
    seconds = time.perf_counter() - started
    about: dict[str, Any] = {
        "seeds": seeds,
        "first_seed": options.first_seed,
        "cells_run_now": n_run,
        "wall_seconds_all_tables_of_this_command": round(seconds, 1),
        "tables_of_this_command": names,
        "engine": launch.engine.words,
    }
    entries: list[Entry] = []
    for table in wanted:
        entries += _show(table, store.results(cells[table.name]), options, about, output, quiet)
    if wanted and not quiet:
        print(f"{n_run} of {len(everything)} cells run in {seconds:.1f} s; records in {store.path}")
    if "vae" in names:
        _run_vae(options, seeds, launch.device, output, quiet)
    return entries


def _show(
    table: Table,
    results: Mapping[Cell, Mapping[str, Any]],
    options: Options,
    about: Mapping[str, Any],
    output: str | Path | None,
    quiet: bool,
) -> list[Entry]:
    """Print one table and write its files."""
    rows = summarise(table, results)
    if not quiet:
        print(f"\n{table.title}\n\n{as_markdown(table, rows)}\n{table.note}")
    if output is not None:
        told = {"table": table.name, "title": table.title, "note": table.note, "preset": options.preset, **about}
        # A trial does not write over the files of a full run.
        trial = "" if options.n_samples is None else f"-{options.n_samples}-samples"
        name = f"{table.name}-{options.preset}{trial}"
        write_outputs(table, rows, results, Path(output), name, {**told, "n_samples": options.n_samples})
    return rows


def _run_vae(options: Options, seeds: int, device: str, output: str | Path | None, quiet: bool) -> None:
    from driftfit.lab.vae import run_vae

    folder = Path(DEFAULT_STORE.parent if output is None else output)
    run_vae(preset=options.preset, seeds=seeds, n_samples=options.n_samples, device=device, output=folder, quiet=quiet)  # type: ignore[arg-type]
    if not quiet:
        print(f"picture and numbers in {folder / 'vae.png'} and {folder / 'vae.json'}")

"""One call that runs tables of the paper, prints them and writes them down."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driftfit.errors import InputError
from driftfit.extras import has, need
from driftfit.lab.cells import Cell
from driftfit.lab.interrupts import interruptible
from driftfit.lab.launch import DEFAULT_STORE, Launch, run_cells
from driftfit.lab.layouts import TABLES, make_table
from driftfit.lab.output import print_table, write_outputs
from driftfit.lab.presets import BENCHMARKS
from driftfit.lab.progress import shown
from driftfit.lab.statistics import Entry, summarise
from driftfit.lab.store import Store
from driftfit.lab.table import Options, Table

__all__ = ["EXHIBITS", "run_tables"]

# Everything that can be asked for by name: the tables, and the one picture that has no cells.
EXHIBITS = (*TABLES, "vae")


def run_tables(
    tables: Sequence[str],
    options: Options | None = None,
    *,
    seeds: int = 5,
    launch: Launch | None = None,
    output: str | Path | None = None,
    quiet: bool = False,
) -> list[Entry]:
    """Run what is missing of the tables, print them and write them to ``output``.

    ``all`` stands for the four benchmarks. ``vae`` is a picture: it is always made anew, into ``output``.
    """
    if not has("torch"):
        # Where it is installed it is not imported to find out: that takes seconds, and workers import it themselves.
        need("torch", "paper", "running the paper's tables")
    unknown = [name for name in tables if name not in (*EXHIBITS, "all")]
    if unknown:
        raise InputError(f"there is no table {unknown[0]!r}; choose among {', '.join(EXHIBITS)} and all")
    names = list(dict.fromkeys(part for name in tables for part in (BENCHMARKS if name == "all" else (name,))))
    options, launch = options or Options(), launch or Launch()
    wanted = [make_table(name, options) for name in names if name != "vae"]
    cells = {table.name: table.cells(seeds) for table in wanted}
    everything = list(dict.fromkeys(cell for own in cells.values() for cell in own))
    store = Store(launch.store)
    started = time.perf_counter()
    n_finished = len(store.finished(everything))
    with interruptible(store, everything), shown(len(everything), n_finished, quiet=quiet) as report:
        n_run = run_cells(
            everything,
            store,
            device=launch.device,
            jobs=launch.jobs,
            engine=launch.engine,
            on_cell=report,
            command=launch.command or f"paper {' '.join(names)}",
        )
    seconds = time.perf_counter() - started
    about: dict[str, Any] = {
        "seeds": seeds,
        "first_seed": options.first_seed,
        "cells_run_now": n_run,
        "wall_seconds_all_tables_of_this_command": round(seconds, 1),
        "tables_of_this_command": names,
        "jobs": launch.jobs,
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
        print_table(table, rows)
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

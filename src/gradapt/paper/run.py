"""One call that runs tables of the paper, prints them and writes them down."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradapt.errors import InputError
from gradapt.paper.launch import run_cells
from gradapt.paper.layouts import TABLES, Options, make_table
from gradapt.paper.output import print_table, write_outputs
from gradapt.paper.presets import BENCHMARKS
from gradapt.paper.progress import shown
from gradapt.paper.statistics import Entry, summarise
from gradapt.paper.store import Store

__all__ = ["DEFAULT_STORE", "EXHIBITS", "run_tables"]

DEFAULT_STORE = Path("runs") / "paper.sqlite"
# Everything that can be asked for by name: the tables, and the one picture that has no cells.
EXHIBITS = (*TABLES, "vae")


def run_tables(
    tables: Sequence[str],
    *,
    preset: str = "reference",
    seeds: int = 5,
    given: Sequence[int] | None = None,
    generated: Sequence[int] | None = None,
    with_given: bool = False,
    device: str = "auto",
    jobs: int = 1,
    n_samples: int | None = None,
    store: str | Path = DEFAULT_STORE,
    output: str | Path | None = None,
    quiet: bool = False,
) -> list[Entry]:
    """Run what is missing of the tables, print them and write them to ``output``.

    ``all`` stands for the four benchmarks. ``vae`` is a picture: it is always made anew, into ``output``.
    """
    unknown = [name for name in tables if name not in (*EXHIBITS, "all")]
    if unknown:
        raise InputError(f"there is no table {unknown[0]!r}; choose among {', '.join(EXHIBITS)} and all")
    names = list(dict.fromkeys(part for name in tables for part in (BENCHMARKS if name == "all" else (name,))))
    options = Options(preset, given, generated, n_samples, with_given)
    wanted = [make_table(name, options) for name in names if name != "vae"]
    cells = {table.name: table.cells(seeds) for table in wanted}
    everything = list(dict.fromkeys(cell for own in cells.values() for cell in own))
    kept = Store(store)
    started = time.perf_counter()
    with shown(len(everything), len(kept.finished(everything)), quiet=quiet) as report:
        n_run = run_cells(everything, kept, device=device, jobs=jobs, on_cell=report)
    seconds = time.perf_counter() - started
    entries: list[Entry] = []
    for table in wanted:
        results = kept.results(cells[table.name])
        rows = summarise(table, results)
        entries += rows
        if not quiet:
            print_table(table, rows)
        if output is not None:
            about: dict[str, Any] = {
                "table": table.name,
                "title": table.title,
                "note": table.note,
                "preset": preset,
                "seeds": seeds,
                "n_samples": n_samples,
                "cells_run_now": n_run,
                "wall_seconds_all_tables_of_this_command": round(seconds, 1),
                "tables_of_this_command": names,
                "jobs": jobs,
            }
            # A trial does not write over the files of a full run.
            name = f"{table.name}-{preset}" + ("" if n_samples is None else f"-{n_samples}-samples")
            write_outputs(table, rows, results, Path(output), name, about)
    if wanted and not quiet:
        print(f"{n_run} of {len(everything)} cells run in {seconds:.1f} s; records in {kept.path}")
    if "vae" in names:
        _run_vae(preset, seeds, n_samples, device, output, quiet)
    return entries


def _run_vae(
    preset: str, seeds: int, n_samples: int | None, device: str, output: str | Path | None, quiet: bool
) -> None:
    from gradapt.paper.vae import run_vae

    folder = Path(DEFAULT_STORE.parent if output is None else output)
    run_vae(preset=preset, seeds=seeds, n_samples=n_samples, device=device, output=folder, quiet=quiet)  # type: ignore[arg-type]
    if not quiet:
        print(f"picture and numbers in {folder / 'vae.png'} and {folder / 'vae.json'}")

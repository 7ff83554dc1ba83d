"""The paper's tables: which cells they have, and one call that runs and prints them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradapt.errors import InputError
from gradapt.experiments.cells import Cell
from gradapt.experiments.launch import run_cells
from gradapt.experiments.output import print_table, write_outputs
from gradapt.experiments.presets import TABLES, settings
from gradapt.experiments.progress import shown
from gradapt.experiments.store import Store
from gradapt.experiments.summary import Entry, published_number, summarise

__all__ = ["DEFAULT_STORE", "run_tables", "table_cells"]

DEFAULT_STORE = Path("runs") / "paper.sqlite"
ALL_GIVEN = (0, 1, 2, 3, 4)
ALL_GENERATED = (0, 1, 2, 3, 4)


def table_cells(
    table: str,
    preset: str = "reference",
    *,
    seeds: int = 5,
    given: Sequence[int] = ALL_GIVEN,
    generated: Sequence[int] = ALL_GENERATED,
    n_samples: int | None = None,
) -> list[Cell]:
    """All cells of a table; the controls belong to it whatever is asked for.

    ``generated`` 0 stands for gradual self-training without generated domains.

    >>> cells = table_cells("covtype", seeds=1, given=[2], generated=[0, 4])
    >>> [(cell.method, cell.n_generated) for cell in cells]
    [('source-only', 0), ('frozen-gst', 0), ('label-transport', 0), ('gst', 0), ('goat', 4)]
    """
    if seeds < 1:
        raise InputError(f"seeds must be at least 1, got {seeds!r}")
    if any(count < 0 for count in (*given, *generated)) or not given or not generated:
        raise InputError(f"given and generated must be counts such as 0,2,4, got {given!r} and {generated!r}")
    digest = settings(table, preset).digest
    cells = []
    for seed in range(seeds):
        for n_given in given:
            columns = [("source-only", 0), ("frozen-gst", 0), ("label-transport", 0)]
            columns += [("goat" if count else "gst", count) for count in generated]
            cells += [Cell(table, preset, seed, n_given, method, count, n_samples, digest) for method, count in columns]
    return cells


def run_tables(
    tables: Sequence[str],
    *,
    preset: str = "reference",
    seeds: int = 5,
    given: Sequence[int] = ALL_GIVEN,
    generated: Sequence[int] = ALL_GENERATED,
    device: str = "auto",
    jobs: int = 1,
    n_samples: int | None = None,
    store: str | Path = DEFAULT_STORE,
    output: str | Path | None = None,
    quiet: bool = False,
) -> list[Entry]:
    """Run what is missing of the tables, print them and write them to ``output``."""
    kept = Store(store)
    entries: list[Entry] = []
    started = time.perf_counter()
    wanted = {
        table: table_cells(table, preset, seeds=seeds, given=given, generated=generated, n_samples=n_samples)
        for table in (TABLES if list(tables) == ["all"] else tables)
    }
    everything = [cell for cells in wanted.values() for cell in cells]
    with shown(len(everything), len(kept.finished(everything)), quiet=quiet) as report:
        n_run = run_cells(everything, kept, device=device, jobs=jobs, on_cell=report)
    seconds = time.perf_counter() - started
    for table, cells in wanted.items():
        results = kept.results(cells)
        rows = summarise(results)
        entries += rows
        if not quiet:
            print_table(rows, f"{table}, preset {preset}, {seeds} seeds (table {published_number(table)} of the paper)")
        if output is not None:
            about: dict[str, Any] = {
                "table": table,
                "preset": preset,
                "seeds": seeds,
                "n_samples": n_samples,
                "cells_run_now": n_run,
                "wall_seconds_all_tables_of_this_command": round(seconds, 1),
                "tables_of_this_command": list(wanted),
                "jobs": jobs,
            }
            write_outputs(rows, results, Path(output), f"{table}-{preset}", about)
    if not quiet:
        print(f"{n_run} of {len(everything)} cells run in {seconds:.1f} s; records in {kept.path}")
    return entries

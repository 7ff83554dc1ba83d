"""One call that runs a sweep, prints what it found and writes it down."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from driftfit.files import write_text
from driftfit.lab.interrupts import interruptible
from driftfit.lab.launching import launch
from driftfit.lab.progress import shown
from driftfit.lab.store import Store
from driftfit.lab.sweep_cells import SweepWork
from driftfit.lab.sweep_file import Sweep
from driftfit.lab.sweep_tables import SweepTable, as_markdown, summarise_sweep
from driftfit.parallel import Engine

__all__ = ["run_sweep"]


def run_sweep(
    sweep: Sweep,
    store: Store,
    engine: Engine | None = None,
    *,
    output: Path | None = None,
    quiet: bool = False,
    command: str = "",
) -> list[SweepTable]:
    """Run what is missing of a sweep; failed cells are shown in its tables and tried again by the next call.

    Parameters
    ----------
    sweep : Sweep
    store : Store
    engine : Engine, optional
    output : Path, optional
        Folder for ``NAME.md`` and ``NAME.json``.
    quiet : bool
    command : str
        What is being run, for ``driftfit runs``.
    """
    cells = list(sweep.cells)
    n_finished = len(store.finished(cells))
    with interruptible(store, cells), shown(len(cells), n_finished, quiet=quiet) as report:
        launch(cells, SweepWork(), store, engine, on_cell=report, command=command or f"sweep {sweep.name}")
    results = store.results(cells)
    tables = summarise_sweep(cells, results)
    if output is not None:
        runs = [{**json.loads(cell.key)["sweep"], **result} for cell, result in sorted(results.items())]
        content = {"name": sweep.name, "tables": [asdict(table) for table in tables], "runs": runs}
        write_text(output / f"{sweep.name}.md", f"# {sweep.name}\n\n" + "\n".join(map(as_markdown, tables)))
        write_text(output / f"{sweep.name}.json", json.dumps(content, indent=1) + "\n")
    return tables

"""A toy grid of 200 cells on every engine: the same records, the overhead of a cell, and the speed-up of two workers.

    python benchmarks/launchers.py [--cells 200] [--seconds 1.0] [--json results/launchers.json]

A cell multiplies a small matrix, then is busy for a tenth of its seconds and rests for the remainder: so other work on
the machine hardly lengthens it, and what is measured is the engine. Overhead is the time between two records when
cells take no time at all, the writing of the record to the disk included; starting the workers is counted apart. The
speed-up is the time that all cells took together by the time that the run took, its start included.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from driftfit.lab.launch import ToyCell, ToyWork, launch, toy_grid
from driftfit.lab.store import Store
from driftfit.parallel import Engine, Processes, Ray, Serial

ENGINES: dict[str, Engine] = {
    "1 Ray worker": Ray(1),
    "2 Ray workers": Ray(2),
    "2 processes": Processes(2),
}


def timed(engine: Engine, cells: list[ToyCell], seconds: float) -> tuple[dict[str, float], dict[ToyCell, str]]:
    """Start-up, time of the whole and time between records, and the records themselves."""
    moments: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "cells.sqlite")
        started = time.perf_counter()
        work = ToyWork(seconds, busy=0.1)
        launch(cells, work, store, engine, on_cell=lambda cell, _: moments.append(time.perf_counter())).raise_failed()
        whole = time.perf_counter() - started
        kept = {cell: json.dumps(result["vector"]) for cell, result in store.results(cells).items()}
        work_seconds = sum(result["seconds"] for result in store.results(cells).values())
    between = (moments[-1] - moments[0]) / (len(moments) - 1)
    told = {"wall": whole, "first": moments[0] - started, "between": between, "work": work_seconds}
    return told, kept


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cells = toy_grid(options.cells // 20, 20)
    found: dict[str, Any] = {
        "cells": len(cells),
        "seconds_of_a_cell": options.seconds,
        "cell": "a tenth of its seconds busy, the rest asleep",
        "cores": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "load_average_before": round(os.getloadavg()[0], 1),
        "engines": {},
    }
    expected = timed(Serial(), cells, 0.0)[1]
    for name, engine in ENGINES.items():
        empty, records = timed(engine, cells, 0.0)
        full, more = timed(engine, cells, options.seconds)
        own = {
            "identical_records": records == more == expected,
            "overhead_ms_per_cell": round(1000 * empty["between"], 1),
            "start_seconds": round(empty["first"], 2),
            "wall_seconds": round(full["wall"], 1),
            "seconds_of_all_cells": round(full["work"], 1),
            "speed_up": round(full["work"] / full["wall"], 2),
            "speed_up_once_started": round(full["work"] / (full["wall"] - full["first"] + options.seconds), 2),
        }
        found["engines"][name] = own
        print(name, own, flush=True)
    found["load_average_after"] = round(os.getloadavg()[0], 1)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

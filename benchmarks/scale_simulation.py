"""The full paper and a sweep of 10,000 cells on 1, 8 and 64 GPUs, by simulation with measured figures.

    python benchmarks/scale_simulation.py [--json results/scale.json]

Who does what is decided by the loop that hands out tasks (`driftfit.parallel_tasks.dispatch`), on workers that only
let a clock run. Measured: seconds of every cell on an H200 (results/*-reference.json), overhead of a cell and start of
a worker (results/launchers.json), bytes that cells of a group share (below). Assumed: a network of 10 Gbit/s.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftfit.parallel_tasks import Batch, Lost, Outcome, Shared, dispatch

RESULTS = Path(__file__).parents[1] / "results"
PAPER = ("rotated-mnist", "color-mnist", "portraits", "covtype", "uda", "covi", "encoders", "plans", "selection")
BYTES_PER_SECOND = 10e9 / 8
# What a bench takes along, by the bytes of one with 200 samples a domain, scaled up.
SHARED_BYTES = {"rotated-mnist": 3.9e8, "color-mnist": 1e8, "portraits": 1e8, "covtype": 1e8}


@dataclass
class SimulatedCrew:
    """Workers on a clock: the first of a batch prepares it, the others fetch it, each record passes the driver."""

    size: int
    overhead: float
    start: float
    clock: float = 0.0
    driver_free: float = 0.0
    ready: list[tuple[float, int]] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    knows: dict[int, int] = field(default_factory=dict)
    prepared: dict[int, float] = field(default_factory=dict)
    spent: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.free = list(range(self.size))
        self.clock = self.start

    def idle(self) -> list[Hashable]:
        return list(self.free)

    def give(self, worker: Any, shared: Shared, index: int) -> None:
        self.free.remove(worker)
        table, seconds, prepare = shared.batch.tasks[index]
        at = self.clock
        if self.knows.get(worker) != shared.number:
            if shared.number not in self.prepared:
                self.prepared[shared.number] = at + prepare
                self.spent["prepare"] += prepare
                at += prepare
            else:
                fetch = SHARED_BYTES.get(table, 1e8) / BYTES_PER_SECOND
                begun = max(at, self.prepared[shared.number])
                self.spent["wait for what is prepared"] += begun - at
                self.spent["fetch"] += fetch
                at = begun + fetch
            self.knows[worker] = shared.number
        self.spent["cells"] += seconds
        heapq.heappush(self.ready, (at + seconds, worker))

    def wait(self, seconds: float) -> list[tuple[Hashable, Outcome | Lost]]:
        end, worker = heapq.heappop(self.ready)
        # Records pass one by one through the driver, which writes them down and gives out the next task.
        self.driver_free = max(self.driver_free, end) + self.overhead
        self.spent["driver"] += self.overhead
        self.clock = self.driver_free
        self.free.append(worker)
        return [(worker, Outcome(None))]


def measured_groups(names: tuple[str, ...]) -> list[list[tuple[str, float, float]]]:
    """Cells as (table, seconds, seconds to prepare), by group.

    A source model is taken to cost what one step of self-training without given domains does: as many epochs on as
    many samples.
    """
    groups: dict[Any, list[tuple[str, float]]] = {}
    one_step: dict[str, list[float]] = {}
    for name in names:
        for run in json.loads((RESULTS / f"{name}-reference.json").read_text())["runs"]:
            cell = run["cell"]
            groups.setdefault((cell["table"], cell["study"], cell["seed"]), []).append((cell["table"], run["seconds"]))
            if cell["method"] == "gst" and cell["n_given"] == cell["n_generated"] == 0:
                one_step.setdefault(cell["table"], []).append(run["seconds"])
    prepare = {table: statistics.median(seconds) for table, seconds in one_step.items()}
    return [[(*cell, prepare[key[0]]) for cell in cells] for key, cells in groups.items()]


def sweep_groups(n_cells: int) -> list[list[tuple[str, float, float]]]:
    """A sweep: 40 settings on each data set and seed, with the times of measured cells."""
    rng, pool = random.Random(0), measured_groups(PAPER[:4])
    groups = []
    while sum(map(len, groups)) < n_cells:
        like = rng.choice(pool)
        groups.append([rng.choice(like) for _ in range(40)])
    return groups


def simulate(groups: list[list[Any]], n_gpus: int, overhead: float, start: float) -> dict[str, Any]:
    """Run the groups on so many GPUs."""
    crew = SimulatedCrew(n_gpus, overhead, start)

    def batches() -> Iterator[Batch | None]:
        yield from (Batch(None, tuple(group)) for group in groups)  # type: ignore[arg-type]

    n_cells = sum(1 for _ in dispatch(crew, batches()))
    wall = crew.clock
    spent = {name: round(seconds, 1) for name, seconds in crew.spent.items()}
    busy = sum(crew.spent[name] for name in ("cells", "prepare", "fetch"))
    return {
        "gpus": n_gpus,
        "cells": n_cells,
        "wall_seconds": round(wall, 1),
        "gpu_busy_share": round(busy / (wall * n_gpus), 3),
        "driver_busy_share": round(crew.spent["driver"] / wall, 3),
        "idle_gpu_seconds": round(wall * n_gpus - busy, 1),
        "longest_cell_seconds": round(max(cell[1] for group in groups for cell in group), 1),
        "seconds_by_kind": spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engines = json.loads((RESULTS / "launchers.json").read_text())["engines"]
    own = engines["2 Ray workers"]
    overhead, start = own["overhead_ms_per_cell"] / 1000, own["start_seconds"]
    found: dict[str, Any] = {"overhead_seconds": overhead, "start_seconds": start, "runs": {}}
    for name, groups in (("paper", measured_groups(PAPER)), ("sweep", sweep_groups(10_000))):
        found["runs"][name] = [simulate(groups, n, overhead, start) for n in (1, 8, 64, 512)]
        for row in found["runs"][name]:
            print(name, row)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""A run that can be disturbed, as a process of its own: ``python faulty.py STORE FOLDER --engine ray ...``.

Cells of a toy grid, which leave their process numbers in FOLDER. A file of FOLDER asks for a fault: ``kill`` ends the
worker of one cell each time, ``raise`` and ``memory`` let it fail, for as long as the file is there.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from driftfit import cli
from driftfit.lab.launch import ToyCell, ToyWork, interruptible, launch, toy_grid
from driftfit.lab.store import Store
from driftfit.parallel import Ray, engine_from_word

BAD = ToyCell(1, 1)


@dataclass(frozen=True)
class FaultyWork(ToyWork):
    folder: str = ""

    def run(self, shared, task):
        folder = Path(self.folder)
        (folder / f"pid-{os.getpid()}").touch()
        if task == BAD:
            if (folder / "kill").exists():
                os.kill(os.getpid(), signal.SIGKILL)
            if (folder / "raise").exists():
                raise RuntimeError("two\nlines")
            if (folder / "memory").exists():
                np.ones(1 << 46)
        return super().run(shared, task)


def small_store(pages):
    """Let every connection of this process have room for so many more pages, and no more."""
    plain, full = sqlite3.connect, []

    def connect(path, **options):
        connection = plain(path, **options)
        if not full:
            full.append(connection.execute("PRAGMA page_count").fetchone()[0] + pages)
        connection.execute(f"PRAGMA max_page_count = {full[0]}")
        return connection

    sqlite3.connect = connect


def run(options):
    cells = toy_grid(*(int(part) for part in options.cells.split("x")))
    work = FaultyWork(options.seconds, 0.0, 40, options.folder)
    engine = engine_from_word(options.engine, options.workers)
    store = Store(options.store)
    if options.pages is not None:
        small_store(options.pages)
    cluster, seen = None, []
    if options.remove_node_at is not None:
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 80 * 2**20})
        node = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
        engine = Ray(address=cluster.address)

    def on_cell(cell, accuracy):
        seen.append(cell)
        if cluster is not None and len(seen) == options.remove_node_at:
            cluster.remove_node(node, allow_graceful=False)

    try:
        with interruptible(store, cells):
            finished = launch(cells, work, store, engine, on_cell=on_cell, command="faulty")
            finished.raise_failed()
    finally:
        if cluster is not None:
            cluster.shutdown()
    print(f"{finished.n_run} run")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("folder")
    parser.add_argument("--engine", default="serial")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--cells", default="4x5")
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--remove-node-at", type=int)
    options = parser.parse_args()
    # Errors and interrupts are told as every command of driftfit tells them.
    cli.run_command = lambda arguments: run(options)
    cli.main([])


if __name__ == "__main__":
    # Other processes must find the workload by its name.
    sys.path.insert(0, str(Path(__file__).parent))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    import faulty

    faulty.main()

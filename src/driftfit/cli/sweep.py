"""`driftfit sweep`: methods and settings on several data sets and seeds, compared with and without target labels."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from driftfit.cli.parsing import Fail, declare_engine, engine_of, need_tables, output_path
from driftfit.cli.text import counted, printable

HELP = """Run methods and settings on several data sets and seeds, and compare them.

A YAML file names the data (benchmarks or your own tables), models, methods with lists of settings, and seeds. A cell is
one combination of these. An interrupted sweep goes on where it was. Failed cells are kept and shown; the exit code is
then 1."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", type=Path, metavar="FILE.yaml", help="what to run; docs/scale.md has an example")
    parser.add_argument("--store", default="runs/sweep.sqlite", help="file of finished cells [%(default)s]")
    parser.add_argument(
        "--output", default=Path("runs/sweeps"), type=output_path, help="folder for Markdown and JSON [%(default)s]"
    )
    declare_engine(parser)


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Run what is missing, print and write."""
    need_tables("sweep", "yaml")
    from driftfit.lab.sweep_file import read_file

    read_file(chosen.file)  # what is absurd is refused before anything large is imported
    from driftfit.lab.output import sweep_as_markdown
    from driftfit.lab.store import Store
    from driftfit.lab.sweep import read_sweep, run_sweep

    sweep = read_sweep(chosen.file)
    store = Store(chosen.store)
    command = shlex.join(chosen.arguments)
    engine = engine_of(chosen, on_cpu=True)
    tables = run_sweep(sweep, store, engine, output=chosen.output, command=command, progress=counted)
    for table in tables:
        print("\n".join(printable(line) for line in sweep_as_markdown(table).splitlines()))
        print()
    n_failed = sum(len(table.failed) for table in tables)
    if n_failed:
        print(f"{n_failed} of {len(sweep.cells)} cells failed; driftfit runs {store.path} --traceback shows where")
    print(f"records in {store.path}, tables in {chosen.output}")
    return 1 if n_failed else 0

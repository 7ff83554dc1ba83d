"""`driftfit label`: the rows of the last window whose labels would say most."""

from __future__ import annotations

import argparse
from pathlib import Path

from driftfit.cli.adapt import as_called
from driftfit.cli.parsing import Fail, at_least, need_tables, output_path
from driftfit.cli.table_options import settings_of
from driftfit.cli.text import printable, stages

HELP = """Write the rows of a run's last window that are most worth labelling, as CSV.

Reads the table of the run again. Most rows are those on which the old model and the remedies disagree; a column says
how much of the window each row stands for. Fill in the label column and give the file to adapt --labels."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that driftfit adapt wrote")
    parser.add_argument(
        "--budget", type=at_least(2, 1_000_000), default=50, metavar="N", help="rows to label [%(default)s]"
    )
    parser.add_argument("--out", "-o", type=output_path, required=True, help="CSV file to write")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Choose the rows and write them."""
    need_tables("label")
    if chosen.out.suffix != ".csv":
        fail(f"rows to label are written as .csv, got {str(chosen.out)!r}")
    from driftfit.app import check_table
    from driftfit.app.csv_files import without_formulas
    from driftfit.app.folder import table_of_run, write_predictions
    from driftfit.app.labelled_rows import wanted_rows

    told, _, _ = as_called(chosen.run)
    table = table_of_run(chosen.run, told.tables)
    with stages() as progress:
        checked = check_table(table, settings_of(told, fail), progress)
    rows = wanted_rows(checked, chosen.budget)
    write_predictions(without_formulas(rows), chosen.out)
    print(printable(f"{len(rows)} rows to label in column {told.label!r}: {chosen.out}"))
    return 0

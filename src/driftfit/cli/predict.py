"""`driftfit predict`: new rows, with the model that a run kept."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from driftfit.cli.parsing import Fail, declare_engine, engine_of, need_tables, output_path
from driftfit.cli.table_options import columns_in, declare_id
from driftfit.cli.text import printable, show_warnings

HELP = """Predict the rows of a new table with the model that a run kept.

Writes the columns row, prediction, predicted_probability, imputed_columns and the probability of every class. A table
is refused where a column of the model cannot be read in most rows; where single values cannot be read, imputed_columns
counts them for each row. A model of the remedy "recent scale" compares each row with those before it: give rows in
their order."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that driftfit adapt wrote")
    parser.add_argument(
        "tables",
        nargs="+",
        type=Path,
        metavar="NEW",
        help="CSV or Parquet files with the same columns, or folders of them",
    )
    parser.add_argument(
        "--old-model",
        metavar="PATH.py:NAME",
        help="the model in use, where the run kept it and it is Python code; the file is run",
    )
    parser.add_argument("--out", "-o", type=output_path, required=True, help="Parquet or CSV file to write")
    parser.add_argument(
        "--raw-text",
        action="store_true",
        help="write labels to CSV as they are; by default those that a spreadsheet would run as a formula "
        "(=, +, -, @ in front) get an apostrophe",
    )
    declare_id(parser)
    declare_engine(parser, "batches of rows")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Predict and write."""
    need_tables("predict")
    from driftfit.app import load_run, open_table
    from driftfit.app.checked import recorded
    from driftfit.app.csv_files import without_formulas
    from driftfit.app.folder import check_predictions_path, write_predictions
    from driftfit.app.own_model import own_model

    check_predictions_path(chosen.out, chosen.tables)
    predictor = load_run(chosen.run, None if chosen.old_model is None else own_model(chosen.old_model)).predictor
    predictor = replace(predictor, ids=columns_in(chosen.id))
    table = open_table(chosen.tables, predictor.texts)
    with recorded() as messages:
        frames = predictor.predict_frames(table, engine=engine_of(chosen))
        if chosen.out.suffix == ".csv" and not chosen.raw_text:
            frames = map(without_formulas, frames)
        n_rows = write_predictions(frames, chosen.out)
    show_warnings(messages)
    print(printable(f"{n_rows} predictions: {chosen.out}"))
    return 0

"""`gradapt predict`: new rows, with the model that a run kept."""

from __future__ import annotations

import argparse
from pathlib import Path

from gradapt.cli.parsing import Fail, need_tables

__all__ = ["HELP", "declare", "run"]

HELP = "Predict the rows of a new table: row, prediction, predicted_probability."


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that gradapt adapt wrote")
    parser.add_argument(
        "tables", nargs="+", type=Path, metavar="NEW", help="CSV or Parquet files with the same columns"
    )
    parser.add_argument("--out", "-o", type=Path, required=True, help="Parquet or CSV file to write")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Predict and write."""
    need_tables("predict")
    from gradapt.tables import load_run, open_table
    from gradapt.tables.folder import check_predictions_path, write_predictions

    check_predictions_path(chosen.out)
    predictor = load_run(chosen.run).predictor
    predictions = predictor.predict_table(open_table(chosen.tables))
    write_predictions(predictions, chosen.out)
    print(f"{len(predictions)} predictions: {chosen.out}")
    return 0

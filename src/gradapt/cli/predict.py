"""`gradapt predict`: new rows, with the model that a run kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["predict"]


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that gradapt adapt wrote.")],
    tables: Annotated[list[Path], typer.Argument(metavar="NEW...", help="CSV or Parquet files with the same columns.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet or CSV file to write.")],
) -> None:
    """Predict the rows of a new table: row, prediction, predicted_probability."""
    from gradapt.tables import load_run, open_table
    from gradapt.tables.folder import check_predictions_path, write_predictions

    check_predictions_path(out)
    predictor = load_run(run).predictor
    predictions = predictor.predict_table(open_table(tables))
    write_predictions(predictions, out)
    print(f"{len(predictions)} predictions: {out}")

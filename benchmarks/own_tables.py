"""Two real tables through `driftfit adapt`, with accuracies that the command itself never sees.

    DRIFTFIT_DATA=... python benchmarks/own_tables.py [--only electricity] [--json results/own_tables.json]

Electricity prices in the order of their rows, eight windows; forest cover in the order of the distance to water, five
windows. Labels after the first window are removed before the table is handed over. A third of the last window is held
out altogether; its labels are used for the table printed here and for nothing else.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from records import write_record

from driftfit.app import Column, Result, RowPosition, Settings, adapt_table, open_table, table_of
from driftfit.domains import ByQuantile
from driftfit.methods import GradualSelfTraining
from driftfit.selection import ChosenGOAT

SOIL, WILDERNESS = 40, 4
COVER_COLUMNS = [
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{number}" for number in range(1, WILDERNESS + 1)),
    *(f"Soil_Type{number}" for number in range(1, SOIL + 1)),
    "Cover_Type",
]


@dataclass(frozen=True, eq=False)
class Case:
    """A table on disk, the rows held out of it, and the settings to adapt it with."""

    name: str
    command: str
    path: Path
    held: pd.DataFrame
    settings: Settings


def electricity(data: Path, folder: Path) -> Case:
    frame = pd.read_csv(data / "elec2" / "elec.csv.gz")
    path, held = _split(frame, "target", len(frame) * 7 // 8, len(frame) // 8, folder / "elec.parquet")
    settings = Settings(label="target", order=RowPosition(), windows=ByQuantile(8))
    command = "driftfit adapt elec.parquet --label target --order @row --windows 8 -o RUN/"
    return Case("electricity", command, path, held, settings)


def forest_cover(data: Path, folder: Path) -> Case:
    frame = pd.read_csv(data / "covtype" / "covtype.data.gz", header=None, names=COVER_COLUMNS)
    order = "Horizontal_Distance_To_Hydrology"
    frame = frame.sort_values(order, kind="stable", ignore_index=True)
    edges = frame[order].to_numpy()[[len(frame) * 4 // 5, len(frame) // 5]]
    start, first = (int(np.searchsorted(frame[order], edge)) for edge in edges)
    path, held = _split(frame, "Cover_Type", start, first, folder / "cover.parquet")
    settings = Settings(label="Cover_Type", order=Column(order), windows=ByQuantile(5))
    command = f"driftfit adapt cover.parquet --label Cover_Type --order {order} --windows 5 -o RUN/"
    return Case("forest cover", command, path, held, settings)


def _split(frame: pd.DataFrame, label: str, start: int, n_first: int, path: Path) -> tuple[Path, pd.DataFrame]:
    """Write the table with labels in its first window only; return every third row from ``start`` on apart."""
    rows = np.arange(len(frame))
    held = (rows >= start) & (rows % 3 == 0)
    masked = frame.astype({label: "float64"})
    masked.loc[rows >= n_first, label] = np.nan
    masked[~held].to_parquet(path, index=False)
    return path, frame[held]


def accuracy(result: Result, which: str, case: Case) -> float:
    """Accuracy of the source or the adapted model on the held-out rows."""
    learner = result.source if which == "source" else result.adapted
    predictor = replace(result.predictor, model=learner.estimator)
    predicted = predictor.predict_table(table_of(case.held))["prediction"].to_numpy()
    return float((predicted == case.held[case.settings.label].to_numpy()).mean())


def percent(share: float) -> float:
    return round(100 * share, 2)


def row(case: Case) -> dict[str, Any]:
    """Accuracies on the held-out rows, in percent, and what the commands say."""
    table = open_table([case.path])
    started = time.process_time()
    goat = adapt_table(table, replace(case.settings, method=ChosenGOAT()))
    seconds = time.process_time() - started
    auto = adapt_table(table, case.settings)
    gst = adapt_table(table, replace(case.settings, method=GradualSelfTraining(freeze_encoder=True)))
    forced = adapt_table(table, replace(case.settings, n_generated=8))
    decision = goat.decision
    return {
        "table": case.name,
        "command": case.command,
        "source": percent(accuracy(goat, "source", case)),
        "self-training": percent(accuracy(gst, "adapted", case)),
        "GOAT": percent(accuracy(goat, "adapted", case)),
        "generated": goat.n_generated,
        "GOAT, 8 generated": percent(accuracy(forced, "adapted", case)),
        "estimate of the old": percent(decision.before.value),
        "estimate of GOAT": None if decision.after is None else percent(decision.after.value),
        "estimable": decision.before.estimable,
        "advice": decision.verdict.advice.value,
        "reason": str(decision.verdict),
        "gate kept": goat.kept,
        "gate": percent(accuracy(goat, goat.kept, case)),
        "sentence": decision.sentence,
        "auto chose": str(auto.choice.best),
        "auto": percent(accuracy(auto, auto.kept, case)),
        "processor seconds of GOAT": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", choices=("electricity", "cover"))
    parser.add_argument("--json", type=Path, dest="target", help="write both rows to this file")
    asked = parser.parse_args()
    data = Path(os.environ.get("DRIFTFIT_DATA", ""))
    if not (data / "elec2").is_dir():
        raise SystemExit("DRIFTFIT_DATA must name the folder that holds elec2/ and covtype/")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for make in (electricity, forest_cover):
            if asked.only in (None, "electricity" if make is electricity else "cover"):
                rows.append(row(make(data, Path(folder))))
                print(rows[-1], flush=True)
    if asked.target is not None:
        write_record(asked.target, rows, [Settings.seed], held_out="every third row of the last window")


if __name__ == "__main__":
    main()

"""Real tables that drift, read and cut the same way by every benchmark; ``DRIFTFIT_DATA`` names their folder.

Seven tables have a split of their own: windows along the order column, the first one labelled, and half of the last
one's rows held out to be judged on. A seed moves the edges of the windows and draws the rows.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app import Column, History, Limits, Settings, table_of
from driftfit.app.columns import conform
from driftfit.app.features import as_matrix
from driftfit.app.models import make_model, model_from_word
from driftfit.app.prepare import prepare
from driftfit.domains import ByEdges, DomainSequence
from driftfit.models import Learner, as_learner
from driftfit.seeds import derive_seed

N_ROWS = 2_500
ORDER = "@order"
COVER_COLUMNS = [f"n{number}" for number in range(10)] + [f"flag{number}" for number in range(44)] + ["cover"]
MODELS = ("logistic", "forest", "boosting")
# All rows of recidivism after this day are of people who came back: they were selected by their label.
LAST_DAY = "2014-04-01"


@dataclass(frozen=True)
class TableCase:
    """Where a table is, its label, its order, and the number of windows."""

    path: str
    label: str
    order: str | None
    n_windows: int = 5


TABLES = {
    "covtype": TableCase("covtype/covtype.data.gz", "cover", "n3"),
    "elec2": TableCase("elec2/elec.csv.gz", "target", None, 8),
    "recidivism": TableCase("tables/recidivism.parquet", "two_year_recid", "compas_screening_date"),
    "rodents": TableCase("tables/rodents.parquet", "species_id", "record_id"),
    "storms": TableCase("tables/storms.parquet", "status", "year"),
    "union": TableCase("tables/union.parquet", "union", "year"),
    "wages": TableCase("tables/wages.parquet", "above_median", "year"),
}


@dataclass(frozen=True, eq=False)
class Split:
    """One split of one table: windows without labels but the first's, and held-out rows of the last with theirs."""

    sequence: DomainSequence
    held: NDArray[np.float64]
    truth: NDArray[np.str_]


@cache
def frame_of(name: str) -> pd.DataFrame:
    """The table, sorted by its order, which keeps a column of its own; at most 100,000 rows of it."""
    case, data = TABLES[name], Path(os.environ["DRIFTFIT_DATA"])
    path = data / case.path
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, header=None, names=COVER_COLUMNS) if name == "covtype" else pd.read_csv(path)
        # Of the kinds of forest the two most frequent, as in the paper.
        frame = frame[frame["cover"] <= 2] if name == "covtype" else frame
    if name == "recidivism":
        frame = frame[frame[case.order] <= LAST_DAY]
    if case.order is not None:
        frame = frame.sort_values(case.order, kind="stable", ignore_index=True)
    frame = frame.iloc[np.linspace(0, len(frame) - 1, min(len(frame), 100_000)).astype(int)].reset_index(drop=True)
    place = np.arange(len(frame)) if case.order is None else frame[case.order].rank(method="dense").to_numpy()
    # A column that says when is no feature; on Cover Type the order is a measurement, which stays one.
    dropped = [case.order] if case.order is not None and name != "covtype" else []
    return frame.drop(columns=dropped).assign(**{ORDER: place, case.label: frame[case.label].astype(str)})


def split(name: str, seed: int) -> Split:
    """Windows of a table for a seed."""
    case, frame = TABLES[name], frame_of(name)
    rng = np.random.default_rng(derive_seed(seed, "remedies", name))
    # Up to half of a window is left out at the beginning: that moves every edge.
    frame = frame.iloc[int(rng.uniform(0.0, 0.5) * len(frame) / case.n_windows) :].reset_index(drop=True)
    edges = [frame[ORDER].iloc[len(frame) * number // case.n_windows] for number in range(case.n_windows)]
    held = (frame[ORDER] >= edges[-1]).to_numpy() & (rng.random(len(frame)) < 0.5)
    settings = Settings(
        label=case.label,
        order=Column(ORDER),
        windows=ByEdges(tuple(edges)),
        limits=Limits(N_ROWS, 2_000),
        seed=seed,
        history=History.FIRST,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = prepare(table_of(frame[~held]), settings)
        rows = as_matrix(prepared.preprocessing, conform(frame[held].drop(columns=[case.label, ORDER]), prepared.plans))
    return Split(prepared.training, rows, frame.loc[held, case.label].to_numpy(dtype=str))


def source_model(word: str, windows: DomainSequence, seed: int) -> Learner:
    """The old model, trained on the first window."""
    source = windows.source
    model = make_model(model_from_word(word), None, len(source), source.samples.shape[1], seed)
    return as_learner(model, source.classes).fit(source.samples, source.codes())

"""Remedies for drifting tables, judged with the labels that none of them sees.

    DRIFTFIT_DATA=... python benchmarks/remedies.py [--seeds 0 1] [--tables elec2 ...] [--csv FILE] [--chart FILE]

Seven real tables, each cut along its order column. The first window is labelled, the last one is the target; half of
the target's rows are held out altogether, and their labels are used for the table printed here and for nothing else.
A seed moves the edges of the windows and draws the rows: other seeds are other splits.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.domains import ByEdges, DomainSequence
from driftfit.errors import InputError
from driftfit.estimators.remedies import ChosenRemedy, table_remedies
from driftfit.learners import Learner, as_learner
from driftfit.methods import (
    ByConfusion,
    ImportanceWeights,
    MappedSource,
    Method,
    OwnScale,
    ProportionCorrection,
)
from driftfit.paths import Transport
from driftfit.seeds import derive_seed
from driftfit.tables import Column, Limits, Settings, table_of
from driftfit.tables.columns import conform
from driftfit.tables.models import make_model, model_from_word
from driftfit.tables.prepare import prepare
from driftfit.tables.preprocess import as_matrix

N_ROWS = 2_500
ORDER = "@order"
COVER_COLUMNS = [f"n{number}" for number in range(10)] + [f"flag{number}" for number in range(44)] + ["cover"]
MODELS = ("logistic", "forest", "boosting")


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


def remedies(seed: int) -> dict[str, Method]:
    """Every remedy as a value: those that are chosen from, and others."""
    plans = Transport(max_samples=2_000, seed=seed, certified=False)
    return table_remedies(seed=seed) | {
        "proportions (confusion)": ProportionCorrection(ByConfusion(), seed=seed),
        "own scale, mapped source": OwnScale(then=MappedSource(transport=plans)),
        "weights": ImportanceWeights(),
    }


@dataclass(frozen=True, eq=False)
class Split:
    """One split of one table: windows without labels but the first's, and held-out rows of the last with theirs."""

    sequence: DomainSequence
    held: NDArray[np.float64]
    truth: NDArray[np.str_]

    @property
    def majority(self) -> float:
        """Percent of the held-out rows that have the most frequent class: what always answering it would get."""
        return 100 * float(np.unique(self.truth, return_counts=True)[1].max()) / len(self.truth)

    def accuracy(self, learner: Learner) -> float:
        predicted = learner.classes[learner.logits(self.held).argmax(axis=1)]
        return float((predicted.astype(str) == self.truth).mean())


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


def upper(word: str, found: Split, seed: int) -> float:
    """Accuracy of the same model trained with labels of half of the held-out rows, on the other half."""
    half = np.random.default_rng(seed).random(len(found.truth)) < 0.5
    fit = np.flatnonzero(half)[:N_ROWS]
    classes = np.unique(found.truth[fit])
    model = make_model(model_from_word(word), None, len(fit), found.held.shape[1], seed)
    learner = as_learner(model, classes).fit(found.held[fit], np.searchsorted(classes, found.truth[fit]))
    return Split(found.sequence, found.held[~half], found.truth[~half]).accuracy(learner)


def runs(
    tables: list[str], models: list[str], seeds: list[int], done: set[tuple[str, str, int]]
) -> Iterator[dict[str, Any]]:
    """One row for each table, model and seed: accuracies in percent, what was chosen, and what was estimated."""
    for name in tables:
        for seed in seeds:
            left = [word for word in models if (name, word, seed) not in done]
            if not left:
                continue
            found = split(name, seed)
            for word in left:
                learner = source_model(word, found.sequence, seed)
                row: dict[str, Any] = {"table": name, "model": word, "seed": seed}
                row["old"] = 100 * found.accuracy(learner)
                row["majority"] = found.majority
                started = time.perf_counter()
                adaptation = ChosenRemedy(seed=seed).adapt(learner, found.sequence)
                choice, seconds = adaptation.choice, time.perf_counter() - started
                row |= {"chosen": str(choice.best), "choice": 100 * found.accuracy(adaptation.learner)}
                for remedy, method in remedies(seed).items():
                    try:
                        row[remedy] = 100 * found.accuracy(method.adapt(learner, found.sequence).learner)
                    except InputError:
                        row[remedy] = np.nan  # it does not fit, and says so
                # An alignment is ranked, and its gain in accuracy is not estimated.
                for end in ("gain", "low", "high"):
                    row[f"estimated {end}"] = np.nan if choice.fit is None else 100 * getattr(choice.fit, end)
                row["with labels"] = 100 * upper(word, found, seed)
                yield row | {"seconds": seconds}


def printed(table: pd.DataFrame, say: Callable[[str], None] = print) -> None:
    """Means over the seeds, then what was gained and what was lost."""
    numbers = table.drop(columns=[c for c in table.columns if c == "seed" or c.startswith("estimated")])
    mean = numbers.groupby(["table", "model"], sort=False).mean(numeric_only=True).round(1)
    picked = table.groupby(["table", "model"], sort=False)["chosen"].agg(lambda own: own.value_counts().to_dict())
    say("| table | model | chosen | " + " | ".join(mean.columns) + " |\n|" + "---|" * (3 + len(mean.columns)))
    for (name, word), row in mean.iterrows():
        chosen = ", ".join(f"{what} {count}" for what, count in picked[(name, word)].items())
        say(f"| {name} | {word} | {chosen} | " + " | ".join(f"{value:.1f}" for value in row) + " |")
    gain = table["choice"] - table["old"]
    best = table[["old", *remedies(0)]].max(axis=1) - table["old"]
    say(f"\n{len(table)} runs; mean gain {gain.mean():.2f} points, {best.mean():.2f} by the best with labels")
    harm = ", ".join(f"{-point} points: {(gain < point).mean():.1%}" for point in (-1, -3))
    say(f"worst {gain.min():.2f}; runs under the old model by more than {harm}")
    by_table = pd.DataFrame({"choice": gain, "best": best}).groupby([table["table"], table["model"]], sort=False).mean()
    say(by_table.round(1).to_string())
    judged = table[table["estimated gain"].notna()]
    own = judged["choice"] - judged["old"]
    for name, part in judged.groupby("chosen"):
        held = (part["estimated low"] <= own[part.index]) & (own[part.index] <= part["estimated high"])
        say(f"gain by {name} inside its interval: {held.mean():.0%} of {len(part)}")


def chart(table: pd.DataFrame, path: Path) -> None:
    """Estimated against true gain, in points, with the intervals that say 95 %; one point for each run that has one."""
    import matplotlib.pyplot as plt

    judged = table[table["estimated gain"].notna()]
    figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
    for (chosen, part), colour in zip(judged.groupby("chosen"), ("#1b6ca8", "#c8553d", "#4a7c59"), strict=False):
        true = part["choice"] - part["old"]
        ends = [part["estimated gain"] - part["estimated low"], part["estimated high"] - part["estimated gain"]]
        held = ((part["estimated low"] <= true) & (true <= part["estimated high"])).sum()
        label = f"{chosen}: {held} of {len(part)} inside"
        axes.errorbar(
            true, part["estimated gain"], yerr=ends, fmt="o", color=colour, ms=4, lw=1, alpha=0.8, label=label
        )
    span = [0.0, 1.05 * float((judged["choice"] - judged["old"]).max())]
    axes.plot(span, span, color="0.5", lw=1, zorder=0)
    axes.set(xlabel="true gain over the old model, points of accuracy", ylabel="estimated without target labels")
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--csv", type=Path, help="write every run to this file; those in it are not run again")
    parser.add_argument("--chart", type=Path, help="draw estimated against true gains into this file")
    chosen = parser.parse_args()
    if "DRIFTFIT_DATA" not in os.environ:
        raise SystemExit("DRIFTFIT_DATA must name the folder that holds covtype/, elec2/ and tables/")
    rows: list[dict[str, Any]] = []
    if chosen.csv is not None and chosen.csv.exists():
        rows = pd.read_csv(chosen.csv).to_dict("records")
    done = {(row["table"], row["model"], int(row["seed"])) for row in rows}
    for row in runs(chosen.tables, chosen.models, chosen.seeds, done):
        rows.append(row)
        if chosen.csv is not None:
            pd.DataFrame(rows).to_csv(chosen.csv, index=False, float_format="%.3f")
    printed(pd.DataFrame(rows))
    if chosen.chart is not None:
        chart(pd.DataFrame(rows), chosen.chart)


if __name__ == "__main__":
    main()

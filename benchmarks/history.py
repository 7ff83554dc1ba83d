"""What history is worth: backtests choose how to learn, on real tables whose newest window has no labels.

    DRIFTFIT_DATA=... python benchmarks/history.py [--half tuning|held-out] [--late 2 --windows 8] [--seeds 3]

Windows with equally many rows, at most 1,500 of each. The newest one, and the ``--late`` ones before it, have no
labels; those of the newest judge the answers and nothing else. What `adapt` answers is compared with a model of all
labels, with one of the first window, and with every way alone; the best of these is picked with the labels of the
newest window, which no user has. Constants were fixed on one half of the tables (every second name) and are reported
on the other. Every run is a line of the store, so that an interrupted command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harm
import numpy as np
import pandas as pd
from harm import MODELS, code_state, seeded, table_names
from numpy.typing import NDArray
from records import write_record
from scipy.special import softmax
from worlds import WINDOW

from driftfit.app import Column, Limits, Settings, table_of
from driftfit.app.checked import new_learner
from driftfit.app.prepare import Prepared, prepare
from driftfit.domains import ByValue
from driftfit.errors import InputError
from driftfit.files import write_text
from driftfit.methods import Adaptation, Method
from driftfit.models import Learner
from driftfit.selection import ALL_LABELS, Backtest, Metric, PredictionSets, backtest, history_ways
from driftfit.selection.by_history import with_held_back
from driftfit.selection.mixture import method_of

N_ROWS = 1_500
COVERAGE = 0.9


def hidden(case: harm.Case, late: int) -> pd.DataFrame:
    """The table as a user has it: no label in the newest window, nor in the ``late`` ones before it."""
    known = case.windows < case.windows.max() - late
    return case.frame.assign(**{case.label: case.frame[case.label].where(known, None)})


@dataclass(frozen=True, eq=False)
class Kept(Method):
    """A way that keeps the model of the sequence that it was last asked for: none is trained twice."""

    way: Method
    found: dict[int, Adaptation] = field(default_factory=dict)
    learns_from_history = True

    @property
    def needs_order(self) -> bool:
        return self.way.needs_order

    def adapt(self, learner: Learner, sequence: Any, on_step: Any = None, workspace: Any = None) -> Adaptation:
        if len(sequence) not in self.found:
            self.found[len(sequence)] = self.way.adapt(learner, sequence, on_step, workspace)
        return self.found[len(sequence)]


def run(name: str, word: str, seed: int, late: int, n_windows: int) -> dict[str, Any]:
    """One table with one model: what was chosen, and what every way alone would have got.

    The choice is the one that `ByHistory` makes for `adapt`, without labels of today or a declared assumption.
    """
    harm.N_ROWS, harm.N_WINDOWS = N_ROWS, n_windows
    case = harm.table_case(name, seed)
    settings = Settings(
        label=case.label, order=Column(WINDOW), windows=ByValue(), model=seeded(word, seed), seed=seed,
        limits=Limits(N_ROWS, 1_000), metric=Metric(),
    )  # fmt: skip
    prepared = prepare(table_of(hidden(case, late)), settings)
    learner, _ = new_learner(prepared, settings)
    history, today = prepared.history, prepared.training.target.samples
    if history is None:
        raise InputError("labels are in a single window: nothing can be measured")
    started = time.perf_counter()
    ways = {way: Kept(own) for way, own in history_ways(seed, in_order=prepared.in_order).items()}
    plain = ways[ALL_LABELS].adapt(learner, history).learner
    measured = backtest(history, learner, ways, metric=Metric(), late=late, seed=seed)
    best, answer = measured.best, plain
    if best != ALL_LABELS:
        answer = method_of(measured, best, ways).adapt(learner, history).learner
        measured = with_held_back(measured, best, answer, plain, history)
        best, answer = measured.best, plain if measured.held_back else answer
    seconds = time.perf_counter() - started
    row: dict[str, Any] = {"table": name, "model": word, "seed": seed, "late": late, "windows": n_windows}
    row |= {"seconds": round(seconds, 2), "answer": shares_right(answer, today, case), "chosen": best}
    gain = measured.gains[best]
    row |= {"lag": measured.late, "judged": len(measured.windows)}
    row |= {"gain": [gain.value, gain.low, gain.high], **covered(measured, answer, prepared, case)}
    row["ways"] = {}
    for way, method in ways.items():
        try:
            own = method.adapt(learner, history).learner
        except InputError:
            continue
        row["ways"][way] = shares_right(own, today, case)
    source = history[0]
    first = learner.fit(source.samples, source.codes(learner.classes))
    row["first"] = shares_right(first, today, case)
    return row


def covered(measured: Backtest, learner: Learner, prepared: Prepared, case: harm.Case) -> dict[str, float]:
    """How many rows of the newest window have the truth in their set of classes, and how large the sets are."""
    try:
        sets = PredictionSets.of(measured, measured.best, COVERAGE)
    except InputError:  # a single window can be judged: sets are refused
        return {}
    inside = sets.members(softmax(learner.logits(prepared.training.target.samples), axis=1))
    place = {str(name): number for number, name in enumerate(learner.classes)}
    truth = np.array([place.get(name, -1) for name in case.truth])
    right = (truth >= 0) & inside[np.arange(len(truth)), truth]
    return {"covered": float(right.mean()), "set size": float(inside.sum(axis=1).mean())}


def shares_right(learner: Any, samples: Any, case: harm.Case) -> float:
    """Share of the newest window that a model gets right."""
    codes = softmax(learner.logits(samples), axis=1).argmax(axis=1)
    return right(np.asarray(learner.classes)[codes].astype(str), case.truth)


def right(said: NDArray[Any], truth: NDArray[np.str_]) -> float:
    return float((said == truth).mean())


def done(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(*task)
        except Exception as error:  # a run that fails is a finding, and others go on
            name, word, seed, late, _ = task
            return {
                "table": name,
                "model": word,
                "seed": seed,
                "late": late,
                "error": f"{type(error).__name__}: {error}",
            }


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a group of runs says, in points of accuracy."""
    ran = [row for row in rows if "error" not in row]
    plain = np.array([row["ways"][ALL_LABELS] for row in ran])
    gain = 100 * (np.array([row["answer"] for row in ran]) - plain)
    best = 100 * (np.array([max([row["answer"], *row["ways"].values()]) for row in ran]) - plain)
    over_first = 100 * np.array([row["answer"] - row["first"] for row in ran])
    true = [row["answer"] - row["ways"][ALL_LABELS] for row in ran]
    held = [row["gain"][1] - 1e-9 <= own <= row["gain"][2] + 1e-9 for own, row in zip(true, ran, strict=True)]
    tables = sorted({row["table"] for row in ran})
    by_table = [
        float(np.mean([g for g, row in zip(gain, ran, strict=True) if row["table"] == name])) for name in tables
    ]
    return {
        "runs": len(rows),
        "failed": len(rows) - len(ran),
        "gain": float(gain.mean()),
        "best": float(best.mean()),
        "share of the best": float(gain.sum() / best.sum()) if best.sum() > 0 else None,
        "lost > 1": float((gain < -1).mean()),
        "lost > 3": float((gain < -3).mean()),
        "worst": float(gain.min()),
        "changed": float(np.mean([row["chosen"] != ALL_LABELS for row in ran])),
        "over the first window": float(over_first.mean()),
        "intervals that hold": float(np.mean(held)) if held else None,
        **set_figures(ran),
        "median table": float(np.median(by_table)),
        "without the largest table": float(np.mean(sorted(by_table)[:-1])) if len(by_table) > 1 else None,
        "seconds": float(np.mean([row["seconds"] for row in ran])),
    }


def set_figures(ran: list[dict[str, Any]]) -> dict[str, Any]:
    """Coverage of the sets, over tables."""
    tables: dict[str, list[float]] = {}
    for row in ran:
        if "covered" in row:
            tables.setdefault(row["table"], []).append(row["covered"])
    means = [float(np.mean(values)) for values in tables.values()]
    if not means:
        return {"covered": None, "tables covered by 80 %": None}
    return {"covered": float(np.mean(means)), "tables covered by 80 %": float(np.mean([one >= 0.8 for one in means]))}


def summary(rows: list[dict[str, Any]], halves: dict[str, str]) -> list[dict[str, Any]]:
    """A line for each half, model and lag."""
    lines = []
    for late in sorted({row["late"] for row in rows}):
        own = [row for row in rows if row["late"] == late]
        for half in sorted(set(halves.values())):
            part = [row for row in own if halves[row["table"]] == half]
            groups = {"all models": part, **{word: [r for r in part if r["model"] == word] for word in MODELS}}
            lines += [{"late": late, "tables": half, "model": word, **figures(g)} for word, g in groups.items() if g]
        lines.append({"late": late, "tables": "all", "model": "all models", **figures(own)})
    return lines


def markdown(lines: list[dict[str, Any]]) -> str:
    names = list(lines[0])
    told = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for line in lines:
        cells = [
            f"{line[n]:.2f}" if isinstance(line[n], float) else "–" if line[n] is None else str(line[n]) for n in names
        ]
        told.append(f"| {' | '.join(cells)} |")
    return "\n".join(told) + "\n"


def stored(store: Path) -> list[dict[str, Any]]:
    if not store.exists():
        return []
    return [json.loads(line) for line in store.read_text().splitlines() if line.endswith("}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("tuning", "held-out", "both"), default="both")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--late", type=int, default=0)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=Path("build/history.jsonl"))
    parser.add_argument("--json", type=Path, dest="target", default=Path("results/history.json"))
    parser.add_argument("--summary", action="store_true", help="run nothing, summarise the store")
    chosen = parser.parse_args()
    halves = {name: ("tuning", "held-out")[place % 2] for place, name in enumerate(table_names())}
    names = chosen.tables or [name for name, half in halves.items() if chosen.half in (half, "both")]
    have = {(row["table"], row["model"], row["seed"], row["late"]) for row in stored(chosen.store)}
    tasks = [
        (name, word, seed, chosen.late, chosen.windows)
        for seed in range(chosen.seeds)
        for name in names
        for word in chosen.models
        if (name, word, seed, chosen.late) not in have
    ]
    chosen.store.parent.mkdir(parents=True, exist_ok=True)
    if not chosen.summary:
        code = code_state()
        with chosen.store.open("a") as file, ProcessPoolExecutor(chosen.jobs) as pool:
            for number, row in enumerate(pool.map(done, tasks), 1):
                file.write(json.dumps(row | {"code": code}) + "\n")
                file.flush()
                print(f"{number} of {len(tasks)}: {row['table']}, {row['model']}, seed {row['seed']}", flush=True)
    rows = stored(chosen.store)
    lines = summary(rows, halves)
    failures = sorted({f"{row['table']}: {row['error']}" for row in rows if "error" in row})
    states = sorted({row["code"] for row in rows})
    write_record(chosen.target, lines, {row["seed"] for row in rows}, runs=rows, code=states, failures=failures)
    write_text(chosen.target.with_suffix(".md"), markdown(lines))
    print(markdown(lines), *failures, sep="\n")


if __name__ == "__main__":
    main()

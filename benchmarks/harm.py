"""Where adapting without labels does harm: made-up worlds whose truth is known, and real tables.

    python benchmarks/harm.py [--seeds 20] [--worlds NAME ...] [--models ...] [--arms ...] [--jobs 1] [--minutes 7]
    DRIFTFIT_DATA=... python benchmarks/harm.py --tables [NAME ...]

Only the first window keeps its labels; those of the last one judge the answers, and nothing else. An arm is ``frame``
(`adapt_frame`) or ``auto`` (`AutoAdaptedClassifier`), alone or with a declared assumption: ``frame:scale``;
``auto:declared`` declares the one that describes the world. Every run is a line of the store, so that an interrupted
command goes on where it stopped. Seeds come one after the other: what has been done so far covers all worlds alike.
Arms train the same models on the same rows over and over: each is trained once.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from real_tables import TABLES, TableCase, frame_of
from records import write_record
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from worlds import LABEL, WINDOW, WORDS, WORLDS, World

import driftfit
from driftfit.app import Checked, Column, Predictor, Settings, adapt_checked, check_frame
from driftfit.app.models import model_from_word
from driftfit.domains import ByQuantile, ByValue
from driftfit.estimators import AutoAdaptedClassifier
from driftfit.models import scikit
from driftfit.models.scikit import seed_open
from driftfit.seeds import derive_seed
from driftfit.selection.gains import accuracy_before

MODELS = ("logistic", "forest", "boosting")
DECLARED = "declared"
ARMS = ("frame", "auto", *(f"frame:{word}" for word in WORDS), f"auto:{DECLARED}")
N_WINDOWS, N_ROWS = 5, 2_500
POINT = 0.01


@dataclass(frozen=True, eq=False)
class Case:
    """A table with the labels of all windows, and what is known about it.

    ``fresh`` has more rows with the law of the last window, where they can be made.
    """

    name: str
    seed: int
    frame: pd.DataFrame
    label: str = LABEL
    fresh: pd.DataFrame | None = None
    holds: tuple[str, ...] = ()
    declared: str | None = None
    refutable: tuple[str, ...] = ()
    still: bool = False
    group: str | None = None

    @property
    def windows(self) -> NDArray[np.int64]:
        return self.frame[WINDOW].to_numpy()

    @property
    def hidden(self) -> pd.DataFrame:
        """The table as a user has it: no label after the first window."""
        return self.frame.assign(**{self.label: self.frame[self.label].where(self.frame[WINDOW] == 0, None)})

    @property
    def truth(self) -> NDArray[np.str_]:
        """The labels of the last window."""
        return self.frame.loc[self.windows == self.windows.max(), self.label].to_numpy(dtype=str)

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame.drop(columns=[self.label, WINDOW, *([self.group] if self.group else [])])

    def plain(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The features for scikit-learn, whose encoders do not take every kind of missing word."""
        rows = self.features(frame)
        words = rows.select_dtypes(exclude="number").astype(object)
        return rows.assign(**words.where(words.notna(), "missing").astype(str).astype(object))


@dataclass(frozen=True, eq=False)
class Answered:
    """What one arm said about the last window and about fresh rows, and what its reference would have said."""

    answer: pd.DataFrame
    reference: pd.DataFrame
    fresh: NDArray[np.str_] | None
    fresh_reference: NDArray[np.str_] | None
    said: dict[str, Any]

    @property
    def same(self) -> bool:
        """Whether answer and reference agree bit for bit, labels and probabilities."""
        return self.answer.equals(self.reference)


def said(choice: Any, decision: Any, diagnosis: Any) -> dict[str, Any]:
    """What a result says about itself; every name of its fields that this script reads is here.

    ``of`` tells whose accuracy is estimated. Without a ladder there are a decision and a diagnosis.
    """
    ladder = getattr(choice, "ladder", None)
    if ladder is None:
        kind = getattr(diagnosis, "kind", None)
        told = {"moved": None if kind is None else kind.name != "NOTHING", "chance": None, "used": None, "refused": {}}
        found = None if decision is None else decision.estimate
    else:
        refused = {str(word): tested.sentence for word, tested in ladder.tested.items() if tested.rejected}
        used = None if ladder.used is None else str(ladder.used)
        chance = next(
            (getattr(ladder.moved, name) for name in ("chance", "p_value", "p") if hasattr(ladder.moved, name)), None
        )
        told = {"moved": bool(ladder.moved.rejected), "chance": chance, "used": used, "refused": refused}
        found = ladder.estimate
        if found is None and decision is not None:
            found = decision.estimate
    told["chosen"] = None if choice is None else str(getattr(choice, "best", None))
    if found is not None:
        told |= {"value": found.value, "low": found.low, "high": found.high, "reliable": found.reliable}
    return told


def settings_for(case: Case, model: Any, word: str | None) -> Settings:
    """A user's settings; the group column is no feature in any version."""
    known = {part.name for part in fields(Settings)}
    more: dict[str, Any] = {} if word is None else {"assume": (word,)}
    if case.group is not None:
        name = next((name for name in ("groups", "group") if name in known), None)
        more |= {"drop": (case.group,)} if name is None else {name: case.group}
    return Settings(label=case.label, order=Column(WINDOW), windows=ByValue(), model=model, seed=case.seed, **more)


def knows_assumptions() -> bool:
    """Whether this version can be told assumptions."""
    return any(part.name == "assume" for part in fields(Settings))


def looked_at(case: Case, model: Any) -> Checked:
    """The table, checked with nothing declared: what all arms of `adapt_frame` share."""
    return check_frame(case.hidden, settings_for(case, model, None))


def declared_on(checked: Checked, word: str) -> Checked:
    """What `check_frame` finds where an assumption is declared; its test was made with those of all the others."""
    settings = replace(checked.settings, assume=(word,))
    ladder = checked.ladder
    if ladder is None:
        raise ValueError("assumptions are for the default method on columns")
    own = {name: one for name, one in ladder.tested.items() if name == word}
    ladder = replace(ladder, declared=settings.assume, tested=own)
    before = accuracy_before(ladder, checked.source, checked.prepared.sample, settings.seed)
    return replace(checked, settings=settings, ladder=ladder, decision=replace(checked.decision, before=before))


def by_frame(case: Case, checked: Checked, word: str | None) -> Answered:
    """`adapt_frame`, and the same table answered by its source model."""
    result = adapt_checked(checked if word is None else declared_on(checked, word))
    prepared, last = result.checked.prepared, result.predictor
    source = Predictor(prepared.plans, prepared.preprocessing, result.source.estimator, prepared.boolean)
    reference = source.predict_table(result.checked.table, prepared.windows[-1].rows, training=True)
    fresh = [None, None]
    if case.fresh is not None:
        fresh = [np.asarray(one.predict(case.features(case.fresh))[0]).astype(str) for one in (last, source)]
    told = said(result.choice, result.decision, result.checked.diagnosis)
    answer = pd.DataFrame(result.predictions)
    return Answered(answer, reference, *fresh, told)


def by_classifier(case: Case, model: Any, word: str | None) -> Answered:
    """`AutoAdaptedClassifier` on numbers that are prepared by the first window alone."""
    first, rows = case.windows == 0, case.plain(case.frame)
    encoding = preprocessing().fit(rows[first])
    X, last = encoding.transform(rows), case.windows == case.windows.max()
    more: dict[str, Any] = {} if word is None else {"assume": word}
    given: dict[str, Any] = {}
    if case.group is not None and "groups" in inspect.signature(AutoAdaptedClassifier.fit).parameters:
        given["groups"] = case.frame[case.group].to_numpy()
    clf = AutoAdaptedClassifier(model, random_state=case.seed, **more)
    clf.fit(X, case.hidden[case.label].to_numpy(), sample_domain=case.windows, **given)

    def table_of(estimator: Any) -> pd.DataFrame:
        chances = pd.DataFrame(np.asarray(estimator.predict_proba(X[last])))
        return chances.assign(prediction=estimator.predict(X[last]))

    fresh = [None, None]
    if case.fresh is not None:
        more_rows = encoding.transform(case.plain(case.fresh))
        fresh = [one.predict(more_rows).astype(str) for one in (clf.estimator_, clf.source_estimator_)]
    return Answered(
        table_of(clf.estimator_), table_of(clf.source_estimator_), *fresh, said(clf.choice_, clf.decision_, None)
    )


def preprocessing() -> ColumnTransformer:
    """Plain scikit-learn, so that a mark does not depend on what is judged."""
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", max_categories=20, sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("words", words, make_column_selector(dtype_exclude="number")),
        ]
    )


def marks(case: Case, model: Any) -> dict[str, float]:
    """What a plain model of the first window gets in the last one, and what one of the last window's own labels gets.

    The second is judged by cross-validation over blocks of rows, customers kept together.
    """
    first, last = (case.frame[case.windows == number] for number in (0, case.windows.max()))
    plain = Pipeline([("preprocessing", preprocessing()), ("model", clone(model))])
    fitted = clone(plain).fit(case.plain(first), first[case.label].to_numpy(dtype=str))
    found = {"plain": right(fitted.predict(case.plain(last)), case.truth)}
    folds: Any = StratifiedKFold(5) if case.group is None else StratifiedGroupKFold(5)
    own = cross_val_predict(
        plain, case.plain(last), case.truth, cv=folds, groups=None if case.group is None else last[case.group]
    )
    return found | {
        "upper": right(own, case.truth),
        "majority": float(pd.Series(case.truth).value_counts(normalize=True).max()),
    }


def right(predicted: Any, truth: NDArray[np.str_]) -> float:
    return float((np.asarray(predicted).astype(str) == truth).mean())


def run(case: Case, model_word: str, arm: str, checked: Checked | None = None) -> dict[str, Any]:
    """One arm on one table: what it did to the accuracy, and what it said.

    ``checked`` is what `looked_at` found, where that is there already.
    """
    kind, _, word = arm.partition(":")
    word = (case.declared or "") if word == DECLARED else word
    if kind == "frame":
        found = by_frame(
            case, checked if checked is not None else looked_at(case, seeded(model_word, case.seed)), word or None
        )
    else:
        found = by_classifier(case, seeded(model_word, case.seed), word or None)
    row = {"same": found.same, **found.said}
    row |= {"answer": right(found.answer["prediction"], case.truth)}
    row |= {"reference": right(found.reference["prediction"], case.truth)}
    if case.fresh is not None and found.fresh is not None and found.fresh_reference is not None:
        truth = case.fresh[case.label].to_numpy(dtype=str)
        row |= {"fresh answer": right(found.fresh, truth), "fresh reference": right(found.fresh_reference, truth)}
    if "low" in row:
        row["holds"] = bool(row["low"] <= row["answer"] <= row["high"])
    return row


def seeded(word: str, seed: int) -> Any:
    return seed_open(model_from_word(word), derive_seed(seed, "harm", word))


# Tables.


def table_names() -> list[str]:
    """Every real table that is there."""
    return sorted(real_tables())


@cache
def real_tables() -> dict[str, tuple[TableCase, tuple[str, ...]]]:
    """Real tables, and columns of each that must not be features: the number that the label was cut from, and text."""
    data = Path(os.environ["DRIFTFIT_DATA"])
    found: dict[str, tuple[TableCase, tuple[str, ...]]] = {name: (case, ()) for name, case in TABLES.items()}
    for one in json.loads((data / "drift" / "tables.json").read_text()):
        hidden = tuple(name for name in (one["target"], *one["text"]) if name is not None)
        found[one["name"]] = TableCase(f"drift/{one['name']}.parquet", one["label"], one["order"]), hidden
    return found


def table_case(name: str, seed: int) -> Case:
    """Five equal windows of a real table, at most 2,500 rows of each, in order."""
    case, hidden = real_tables()[name]
    if name in TABLES:
        frame = frame_of(name).copy()  # the next line takes a column out
        place = frame.pop("@order").to_numpy()
    else:
        frame = pd.read_parquet(Path(os.environ["DRIFTFIT_DATA"]) / case.path).sort_values(case.order, kind="stable")
        place = frame.pop(case.order).rank(method="dense").to_numpy()
    rng = np.random.default_rng(derive_seed(seed, "harm", name))
    parts = [rows for _, rows in ByQuantile(N_WINDOWS).cut(place)]
    parts = [np.sort(rng.permutation(rows)[:N_ROWS]) for rows in parts]
    windows = [frame.iloc[rows].assign(**{WINDOW: number}) for number, rows in enumerate(parts)]
    whole = pd.concat(windows, ignore_index=True).drop(columns=list(hidden))
    return Case(name, seed, whole.assign(**{case.label: whole[case.label].astype(str)}), case.label)


def world_case(name: str, seed: int) -> Case:
    """The table of a world with its truth."""
    world = WORLDS[name]
    return Case(
        name, seed, world.frame(seed), LABEL, world.fresh(seed),
        world.holds, world.declared, world.refutable, world.still, world.group,
    )  # fmt: skip


# Runs.

Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class Task:
    """The arms that are left to run on one table with one model."""

    name: str
    model: str
    seed: int
    arms: tuple[str, ...]
    real: bool

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each arm; a failure is a row as well."""
        with warnings.catch_warnings(), trained_once():
            warnings.simplefilter("ignore")
            case = (table_case if self.real else world_case)(self.name, self.seed)
            shared = marks(case, seeded(self.model, self.seed))
            checked = None
            if any(arm.startswith("frame") for arm in self.arms):
                try:
                    checked = looked_at(case, seeded(self.model, self.seed))
                except Exception:  # the same error is then told by each arm
                    checked = None
            for arm in self.arms:
                row = {"table": self.name, "model": self.model, "seed": self.seed, "arm": arm, **shared}
                try:
                    row |= run(case, self.model, arm, checked)
                except Exception as error:  # a run that fails is a finding, and others go on
                    row["error"] = f"{type(error).__name__}: {error}"
                yield row


@contextmanager
def trained_once() -> Iterator[None]:
    """Models are seeded: one that was trained on the same rows before is that one again."""
    fit, known = scikit.fit_weighted, {}

    def fit_once(*given: Any) -> Any:
        key = hashlib.blake2b(pickle.dumps(given), digest_size=16).digest()
        if key not in known:
            known[key] = fit(*given)
        return known[key]

    scikit.fit_weighted = fit_once
    try:
        yield
    finally:
        scikit.fit_weighted = fit


def done_rows(task: Task) -> list[dict[str, Any]]:
    return list(task.rows())


def finished(left: list[Task], jobs: int, minutes: float | None) -> Iterator[tuple[Task, list[dict[str, Any]]]]:
    """Tasks with their rows as they are done; none is begun after so many minutes."""
    until = np.inf if minutes is None else time.perf_counter() + 60.0 * minutes
    begun = (task for task in left if time.perf_counter() < until)
    if jobs == 1:
        yield from ((task, done_rows(task)) for task in begun)
        return
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(done_rows, task): task for task in islice(begun, 2 * jobs)}
        while running:
            for one in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(one), one.result()
                running |= {pool.submit(done_rows, task): task for task in islice(begun, 1)}


def tasks(
    names: list[str], models: list[str], seeds: Iterable[int], arms: list[str], done: set[Key], real: bool
) -> list[Task]:
    """What is left to do, seed by seed."""
    found = []
    for seed in seeds:
        for name in names:
            for word in models:
                left = [arm for arm in arms if (name, word, seed, arm) not in done and applies(name, arm, real)]
                found += [Task(name, word, seed, tuple(left), real)] if left else []
    return found


def applies(name: str, arm: str, real: bool) -> bool:
    """Whether there is something to declare, and somebody to declare it to."""
    word = arm.partition(":")[2]
    if word and not knows_assumptions():
        return False
    return word != DECLARED or (not real and WORLDS[name].declared is not None)


def stored(store: Path) -> list[dict[str, Any]]:
    """The runs in the store, the last one of each; a line that was cut off when a command was stopped is left out."""
    if not store.exists():
        return []
    found: dict[Key, dict[str, Any]] = {}
    for line in store.read_text().splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[key_of(row)] = row
    return list(found.values())


def key_of(row: dict[str, Any]) -> Key:
    return row["table"], row["model"], row["seed"], row["arm"]


def code_state() -> str:
    """A name for the state of the library's code: runs of several states should not be mixed."""
    root = Path(driftfit.__file__).parent
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def work(left: list[Task], store: Path, jobs: int, minutes: float | None = None) -> None:
    """Run what is left, one line of the store for each run."""
    code, n_done, started = code_state(), 0, time.perf_counter()
    store.parent.mkdir(parents=True, exist_ok=True)
    cut_off = store.exists() and not store.read_text().endswith("\n") and store.stat().st_size > 0
    with store.open("a") as file:
        file.write("\n" if cut_off else "")
        for task, rows in finished(left, jobs, minutes):
            file.writelines(json.dumps(row | {"code": code}) + "\n" for row in rows)
            file.flush()
            n_done += 1
            progress(n_done, len(left), started, task)


def progress(n_done: int, n_all: int, started: float, task: Task) -> None:
    spent = time.perf_counter() - started
    hours = spent / n_done * (n_all - n_done) / 3600
    print(f"{n_done} of {n_all}: {task.name}, {task.model}, seed {task.seed}; {hours:.1f} hours left", flush=True)


# Summary.


def declared_in(name: str, arm: str) -> str:
    """The word that an arm declares on a table; empty where it declares none."""
    word = arm.partition(":")[2]
    return (WORLDS[name].declared or "") if word == DECLARED else word


def share(values: pd.Series) -> float | None:
    known = values.dropna()
    return float(known.astype(float).mean()) if len(known) else None


def summary(rows: list[dict[str, Any]], by: tuple[str, ...] = ("table", "arm")) -> list[dict[str, Any]]:
    """One line for each table and arm."""
    names = (
        "error",
        "moved",
        "holds",
        "reliable",
        "used",
        "refused",
        "fresh answer",
        "fresh reference",
        "answer",
        "reference",
    )
    frame = pd.DataFrame(rows).reindex(columns=[*dict.fromkeys([*pd.DataFrame(rows).columns, *names])])
    return [dict(zip(by, key, strict=True)) | figures(part) for key, part in frame.groupby(list(by), sort=False)]


def truth_of(world: World, word: str) -> str | None:
    """Whether a declared assumption holds in a world, and if not, whether rows could show that."""
    if not word:
        return None
    return "holds" if word in world.holds else "refutable" if word in world.refutable else "wrong"


def figures(part: pd.DataFrame) -> dict[str, Any]:
    """What a group of runs of one table and arm says."""
    world = WORLDS.get(part["table"].iloc[0])
    ran = part[part["error"].isna()]
    gain = (ran["answer"] - ran["reference"]).astype(float)
    fresh = (ran["fresh answer"] - ran["fresh reference"]).astype(float).dropna()
    possible = (ran["upper"] - ran["reference"]).clip(lower=0.0).astype(float)
    reliable = ran[ran["reliable"].eq(True)]
    word = declared_in(part["table"].iloc[0], part["arm"].iloc[0])
    found: dict[str, Any] = {
        "runs": len(part),
        "failed": int(part["error"].notna().sum()),
        "lost a point": share(gain < -POINT),
        "lost a point, fresh rows": share(fresh < -POINT),
        "mean loss": share((-gain).clip(lower=0.0)),
        "worst": float(gain.min()) if len(gain) else None,
        "mean gain": share(gain),
        "mean gain, fresh rows": share(fresh),
        # Where an own model is hardly better there is nothing to gain, and a share of it would mean nothing.
        "share of the possible": float(gain.sum() / possible.sum()) if possible.mean() > POINT else None,
        "possible": share(possible),
        "reference": share(ran["reference"]),
        "plain": share(ran["plain"]),
        "as the reference": share(ran["same"]) if len(ran) else None,
        "said moved": share(ran["moved"]),
        "reliable": share(ran["reliable"].eq(True)) if len(ran) else None,
        "coverage": share(reliable["holds"]),
    }
    if word:
        found["refused"] = share(ran["refused"].map(lambda told: word in told))
        found["used"] = share(ran["used"].eq(word))
    if world is not None:
        found["still"] = world.still
        found["truth"] = truth_of(world, word)
    return found


COLUMNS = {
    "truth": "declared",
    "runs": "runs",
    "failed": "failed",
    "lost a point": "lost > 1 point",
    "lost a point, fresh rows": "lost > 1, fresh rows",
    "mean loss": "mean loss",
    "worst": "worst",
    "mean gain": "mean gain",
    "possible": "possible",
    "share of the possible": "of the possible",
    "as the reference": "same answers",
    "refused": "refused",
    "said moved": "said moved",
    "coverage": "coverage",
    "reliable": "reliable",
}
_POINTS = ("mean loss", "worst", "mean gain", "possible")
_COUNTS = ("runs", "failed")


def shown(name: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, str) or name in _COUNTS:
        return str(value)
    if name in _POINTS:
        return f"{100 * value:.1f}"
    return f"{100 * value:.0f} %"


def markdown(lines: list[dict[str, Any]], n_states: int) -> str:
    """The summary as a table; losses and gains in points of accuracy."""
    told = [
        "# What adapting without labels does, without and with declared assumptions",
        "",
        "Losses and gains in points of accuracy against the reference, on the rows of the last window; means over",
        "seeds and models. *Possible* is what a model of the last window's own labels gains. *Said moved* where",
        "nothing moves is a false alarm. *Coverage* is of intervals that are called reliable.",
        "",
        *([f"**These runs come from {n_states} states of the code.**", ""] if n_states > 1 else []),
        f"| table | arm | {' | '.join(COLUMNS.values())} |",
        "|" + "---|" * (2 + len(COLUMNS)),
    ]
    for line in lines:
        cells = " | ".join(shown(name, line.get(name)) for name in COLUMNS)
        told.append(f"| {line['table']} | {line['arm']} | {cells} |")
    return "\n".join(told) + "\n"


def kind_of(row: dict[str, Any]) -> str:
    """What is true about a run: nothing moves, or whether the declared assumption holds."""
    world = WORLDS.get(row["table"])
    if world is None:
        return "real tables"
    word = declared_in(row["table"], row["arm"])
    if world.still or not word:
        return "nothing moves" if world.still else "something moves"
    return "declared and true" if word in world.holds else "declared and not true"


def totals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each arm over all tables of a kind."""
    kinds = summary([row | {"kind": kind_of(row)} for row in rows], ("kind", "arm"))
    return [line | {"still": None, "truth": None} for line in kinds]


def write(rows: list[dict[str, Any]], target: Path, say: Callable[[str], None] = print) -> None:
    """The summary as JSON; as Markdown it is shown."""
    states = sorted({row["code"] for row in rows})
    lines = sorted(summary(rows), key=lambda line: (line["table"], line["arm"]))
    # With one model the lines are the same.
    by_model = summary(rows, ("table", "arm", "model")) if len({row["model"] for row in rows}) > 1 else []
    over_all = totals(rows)
    write_record(
        target, lines, {row["seed"] for row in rows}, by_model=by_model, totals=over_all, code=states,
        failures=sorted({f"{row['table']}, {row['arm']}: {row['error']}" for row in rows if row.get("error")}),
    )  # fmt: skip
    text = markdown(lines, len(states))
    text += "\n" + markdown([line | {"table": line["kind"]} for line in over_all], 1).split("\n", 6)[-1]
    say(text)


def chosen_by_user() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=None, help="how many; 20 for worlds, 1 for real tables")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--tables", nargs="*", help="real tables instead of worlds, all without names")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--arms", nargs="+", choices=ARMS, help="all for worlds, those of adapt_frame for tables")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="begin nothing after so many; the same command goes on later")
    parser.add_argument("--store", type=Path, help="one line for each run; build/harm.jsonl or build/harm_tables.jsonl")
    parser.add_argument("--json", type=Path, dest="target", help="results/harm.json or results/harm_tables.json")
    parser.add_argument("--again", action="store_true", help="run those that failed again")
    parser.add_argument("--summary", action="store_true", help="run nothing, summarise the store")
    chosen = parser.parse_args()
    real = chosen.tables is not None
    name = "harm_tables" if real else "harm"
    chosen.seeds = chosen.seeds if chosen.seeds is not None else 1 if real else 20
    chosen.arms = chosen.arms or [arm for arm in ARMS if not real or arm.startswith("frame")]
    chosen.store = chosen.store or Path("build") / f"{name}.jsonl"
    chosen.target = chosen.target or Path("results") / f"{name}.json"
    return chosen


def main() -> None:
    chosen = chosen_by_user()
    real = chosen.tables is not None
    if real and "DRIFTFIT_DATA" not in os.environ:
        raise SystemExit("DRIFTFIT_DATA must name the folder that holds covtype/, elec2/, tables/ and drift/")
    if chosen.jobs < 1:
        raise SystemExit(f"--jobs must be at least 1, got {chosen.jobs}")
    names = (chosen.tables or table_names()) if real else chosen.worlds
    unknown = sorted(set(names) - set(table_names())) if real else []
    if unknown:
        raise SystemExit(f"there is no table {unknown[0]!r}; there are {', '.join(table_names())}")
    rows = stored(chosen.store)
    done = {key_of(row) for row in rows if not (chosen.again and row.get("error"))}
    left = tasks(names, chosen.models, range(chosen.first, chosen.first + chosen.seeds), chosen.arms, done, real)
    if not knows_assumptions():
        print("this version takes no assumptions: arms that declare one are left out")
    if not chosen.summary:
        work(left, chosen.store, chosen.jobs, chosen.minutes)
    rows = stored(chosen.store)
    if not rows:
        raise SystemExit(f"{str(chosen.store)!r} holds no run")
    write(rows, chosen.target)


if __name__ == "__main__":
    main()

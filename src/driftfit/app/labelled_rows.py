"""A few labels of the last window: which rows to ask for, what they say about every candidate, and training on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.checked import Checked, of_one_kind
from driftfit.app.columns import conform
from driftfit.app.csv_files import as_it_was
from driftfit.app.features import as_matrix
from driftfit.app.own_model import label_codes
from driftfit.app.read import open_table
from driftfit.errors import InputError
from driftfit.methods import Adaptation, Method, ModelInUse, OnStep, SourceOnly
from driftfit.methods.history import OnHistory
from driftfit.methods.source_weights import LabelledTraining
from driftfit.parallel import Engine
from driftfit.selection import (
    ALL_LABELS,
    IN_USE,
    AccuracyEstimate,
    Choice,
    Chosen,
    Judgement,
    LadderChoice,
    Runs,
    backtest,
    history_ways,
    table_methods,
)
from driftfit.selection.accuracy import spread
from driftfit.selection.answers import worth_of
from driftfit.selection.backtest import FEWEST_WINDOWS, ForecastStore, judged_windows
from driftfit.selection.chosen import SOURCE
from driftfit.selection.mixture import method_of
from driftfit.selection.runs import OnCandidate
from driftfit.selection.view import effective_size

# Part of the budget that goes to rows on which all candidates agree: they say nothing about which is best, but without
# them no accuracy is known.
_AGREED = 0.2
# Part of the weight that the labelled rows get beside the source: as much as it, and nearly all.
_SHARES = {"evenly": 0.5, "mostly": 0.95}


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of the last window with their labels."""

    rows: NDArray[np.int64]  # rows of the table
    samples: NDArray[np.float64]  # their features
    # Labels as numbers of the model's classes; -1 for a class that the first window does not have.
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]  # how much of the last window each stands for; they sum to 1
    in_use: NDArray[np.int64] | None = None  # what the model in use says about them, where there is one

    def judge(self, runs: Runs) -> Judgement:
        """Right or wrong on each labelled row; a candidate that learnt from a row is asked without it."""
        right = {}
        for name, adaptation in runs.adaptations.items():
            method = runs.candidates[name].method
            if isinstance(method, LabelledTraining):
                said = np.full(len(self.codes), -1)
                said[self.codes >= 0] = method.held_out_codes(runs.learner, runs.sequence)
            elif isinstance(method, ModelInUse) and self.in_use is not None:
                said = self.in_use
            else:
                said = adaptation.learner.logits(self.samples).argmax(axis=1)
            right[name] = ((said == self.codes) & (self.codes >= 0)).astype(np.float64)
        return Judgement(right, self.weights, f"accuracy on {len(self.rows)} labelled rows of the last window")


def rows_to_ask(
    votes: Mapping[Any, NDArray[np.int64]], budget: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows whose labels say most about which candidate is best, and how much of all rows each stands for.

    Four fifths go to rows on which candidates disagree, spread evenly over the ways in which they do; the others to
    rows on which all agree. Inside each of the two every row has the same chance, so that weighted means are unbiased.

    ``votes`` is what each candidate says about every row.

    >>> old, new = np.zeros(100, int), np.repeat([0, 1], [90, 10])
    >>> rows, weights = rows_to_ask({"old": old, "new": new}, 10)
    >>> int((rows >= 90).sum()), round(float(weights[rows >= 90].sum()), 3), round(float(weights.sum()), 3)
    (8, 0.1, 1.0)
    """
    said = np.column_stack(list(votes.values()))
    if budget < 2:
        raise InputError(f"the budget must be at least 2 rows, got {budget}")
    rng = np.random.default_rng(seed)
    differ = np.flatnonzero((said != said[:, :1]).any(axis=1))
    agree = np.flatnonzero((said == said[:, :1]).all(axis=1))
    n_agree = min(len(agree), max(round(_AGREED * budget), budget - len(differ)))
    n_differ = min(len(differ), budget - n_agree)
    # Sorted by what the candidates say, every so-manieth row is taken: each way to disagree gets its share.
    mixed = rng.permutation(differ)
    ordered = mixed[np.lexsort(said[mixed].T)]
    taken = ordered[np.floor((rng.random() + np.arange(n_differ)) * len(ordered) / max(n_differ, 1)).astype(int)]
    other = rng.choice(agree, n_agree, replace=False) if n_agree else np.empty(0, dtype=np.int64)
    rows = np.concatenate([taken, other]).astype(np.int64)
    parts = [np.full(len(own), len(whole) / max(len(own), 1)) for own, whole in ((taken, differ), (other, agree))]
    weights = np.concatenate(parts)
    order = np.argsort(rows)
    return rows[order], weights[order] / weights.sum()


def wanted_rows(checked: Checked, budget: int) -> pd.DataFrame:
    """The rows of the last window most worth labelling, with their columns, a place for the label and their weight."""
    _check_columns(checked)
    prepared, settings = checked.prepared, checked.settings
    target = prepared.training.target
    votes = {SOURCE: checked.source.logits(target.samples).argmax(axis=1)}
    if checked.in_use is not None:
        votes[IN_USE] = checked.in_use.target
    for name, method in _remedies(checked).items():
        try:
            model = method.adapt(checked.source, prepared.training).learner
        except InputError:
            continue  # one that cannot be had has no say
        votes[name] = model.logits(target.samples).argmax(axis=1)
    chosen, weights = rows_to_ask(votes, budget, settings.seed)
    rows = prepared.target_rows[chosen]
    order = np.argsort(rows)
    names = list(dict.fromkeys([*settings.id, *(plan.column for plan in prepared.plans)]))
    frames = [frame for _, frame in checked.table.batches(rows[order], names)]
    wanted: pd.DataFrame = pd.concat(frames, ignore_index=True)
    row, weight = _own_columns(checked)
    wanted.insert(0, settings.label, "")
    wanted.insert(0, weight, weights[order])
    wanted.insert(0, row, rows[order])
    return wanted


def _own_columns(checked: Checked) -> tuple[str, str]:
    """What the numbers of rows and their weights are called, beside the columns that the table has."""
    row, weight = (f"driftfit_{own}" if own in checked.table.names else own for own in ("row", "weight"))
    return row, weight


def read_labelled(path: Path, checked: Checked) -> LabelledRows:
    """Labels of some rows of the last window from a CSV or Parquet file: ``row``, the label column, perhaps ``weight``.

    Where the table itself has columns of these names they are called ``driftfit_row`` and ``driftfit_weight``. Rows
    without a label are left out.
    """
    _check_columns(checked)
    label = checked.settings.label
    row, weight = _own_columns(checked)
    # A label that a spreadsheet would run was written with an apostrophe in front.
    table = open_table([path], (label, f"'{label}"))
    named = {as_it_was(name): name for name in table.names} | {name: name for name in table.names}
    missing = [name for name in (row, label) if name not in named]
    if missing:
        raise InputError(f"{str(path)!r} has no column {missing[0]!r}; driftfit label writes such a file")
    frame = table.columns([row, named[label], *([weight] if weight in table.names else [])])
    words = frame[named[label]].map(lambda value: "" if pd.isna(value) else as_it_was(str(value).strip()))
    frame, words = frame[words != ""], words[words != ""]
    rows = pd.to_numeric(frame[row], errors="coerce")
    last = checked.prepared.windows[-1].rows
    strange = ~rows.isin(last)
    if len(frame) == 0 or strange.any():
        wrong = "no label" if len(frame) == 0 else f"row {frame[row][strange].iloc[0]!r}, not one of the last window"
        raise InputError(f"{str(path)!r} holds {wrong}; fill in the file that driftfit label wrote")
    rows_found = rows.to_numpy(dtype=np.int64)
    if len(np.unique(rows_found)) < len(rows_found):
        raise InputError(f"{str(path)!r} names a row twice; leave one of them out")
    weights = frame[weight].to_numpy(dtype=np.float64) if weight in frame else np.ones(len(frame))
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(f"the weights in {str(path)!r} must be finite and not negative, and one above 0")
    return _labelled(checked, rows_found, words.to_numpy(dtype=str), weights)


def _labelled(
    checked: Checked, rows: NDArray[np.int64], words: NDArray[np.str_], weights: NDArray[np.float64]
) -> LabelledRows:
    order = np.argsort(rows)
    codes = label_codes(words[order], checked.source.classes.tolist(), checked.prepared.boolean)
    in_use = None if checked.in_use is None else checked.answers(rows[order])[0]
    samples = _features(checked, rows[order])
    return LabelledRows(rows[order], samples, codes, weights[order] / weights.sum(), in_use)


def _remedies(checked: Checked) -> dict[str, Method]:
    settings = checked.settings
    return table_methods(settings.limits.transport, settings.seed, in_order=checked.prepared.in_order)


def adapt_with_labels(
    checked: Checked,
    labelled: LabelledRows,
    on_step: OnStep = None,
    on_candidate: OnCandidate | None = None,
    engine: Engine | None = None,
    store: ForecastStore | None = None,
) -> Adaptation:
    """Every remedy, and models that learn from the labels, compared with the old model on the labelled rows."""
    known = labelled.codes >= 0
    candidates: dict[str, Method] = {}
    if checked.in_use is not None:
        candidates[IN_USE] = ModelInUse(checked.in_use.target)
    candidates |= {SOURCE: SourceOnly(), **_remedies(checked)}
    reference = None
    if checked.prepared.history is not None:
        # What the past chose is what the labels have to beat, or the model that is in use.
        chosen_before, ways = _of_history(checked, engine, store)
        reference = chosen_before if checked.in_use is None else IN_USE
        candidates |= ways
    if known.any():
        samples, codes, seed = labelled.samples[known], labelled.codes[known], checked.settings.seed
        candidates["trained with the labels"] = LabelledTraining(samples, codes, seed=seed)
        if checked.source.takes_weights:
            for word, share in _SHARES.items():
                candidates[f"trained with the labels, {word}"] = LabelledTraining(samples, codes, share, seed=seed)
    chosen = Chosen(candidates, labelled, guards=(), reference=reference, on_candidate=on_candidate, engine=engine)
    adaptation = chosen.adapt(checked.source, checked.prepared.training, on_step)
    choice: Choice = adaptation.choice
    found = tuple(measured(choice, name, labelled) for name in (choice.reference, choice.best))
    gain, clear = choice.gains[choice.best], choice.best != choice.reference
    sentence = f"of {len(choice.scores)} candidates {choice.best} is right on {100 * found[1].value:.0f} % of " + (
        f"{len(labelled.rows)} labelled rows, weighted by what they stand for"
    )
    if clear:
        sentence += (
            f"; that is {100 * gain.value:.0f} points ({100 * gain.low:.0f} .. {100 * gain.high:.0f}) more than "
        )
        sentence += f"the old model; next {choice.runner_up}"
    else:
        sentence += f"; none is clearly better, {choice.runner_up} comes next"
    told = LadderChoice.of(choice, measured=found, sentence=sentence)
    return replace(adaptation, choice=told)


def _of_history(checked: Checked, engine: Engine | None, store: ForecastStore | None) -> tuple[str, dict[str, Method]]:
    """The way to learn that backtests choose, and all others, as candidates."""
    history, settings = checked.prepared.history, checked.settings
    ways = history_ways(settings.seed, in_order=checked.prepared.in_order)
    reference = SOURCE
    if history is not None and len(judged_windows(history, 0)) >= FEWEST_WINDOWS:
        found = backtest(
            history, checked.source, ways, metric=settings.metric, late=settings.late, seed=settings.seed,
            engine=engine, store=store,
        )  # fmt: skip
        best = worth_of(found, found.best)[0]
        reference, ways = SOURCE if best == ALL_LABELS else best, {**ways, best: method_of(found, best, ways)}
    others: dict[str, Method] = {
        name: OnHistory(way, history) for name, way in ways.items() if history and name != ALL_LABELS
    }
    return reference, others


def measured(choice: Choice, name: Any, labelled: LabelledRows) -> AccuracyEstimate:
    """Accuracy of a candidate on the labelled rows, with the interval that so few of them allow."""
    size, words = effective_size(len(labelled.rows), labelled.weights), f"{len(labelled.rows)} labelled rows"
    return AccuracyEstimate.around(choice.scores[name], spread((choice.scores[name], size)), words)


def _check_columns(checked: Checked) -> None:
    if of_one_kind(checked.table, checked.source):
        raise InputError(
            "labels of some rows are for tables of columns and scikit-learn models, not for pictures or networks; "
            "put the labelled rows into the first window instead"
        )


def _features(checked: Checked, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    prepared = checked.prepared
    names = [plan.column for plan in prepared.plans]
    frames = [conform(frame, prepared.plans) for _, frame in checked.table.batches(rows, names)]
    return as_matrix(prepared.preprocessing, pd.concat(frames, ignore_index=True))

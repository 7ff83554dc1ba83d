"""The model that a run keeps, from a raw table to predictions, and what of the table could not be read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.app.columns import ColumnPlan, Kind, conform, missing_in
from driftfit.app.features import as_matrix
from driftfit.app.labels import is_true
from driftfit.app.own_model import OwnModel, label_codes
from driftfit.app.read import Table
from driftfit.app.settings import check_carried
from driftfit.errors import AdaptationWarning, InputError, SolverError
from driftfit.methods.recent_scale import rows_compared
from driftfit.models import as_learner
from driftfit.parallel import Batch, Engine, Serial
from driftfit.selection import PredictionSets


@dataclass(frozen=True, eq=False)
class Predictor:
    """Columns, preprocessing and a trained classifier.

    ``model``: trained on preprocessed features. ``boolean``: whether the labels are true and false. ``own``: the model
    that somebody had in use, where it was kept: it answers for itself. ``ids``: columns of the table that are carried
    along into the predictions. ``sets``: which classes go into the set of each row.
    """

    plans: tuple[ColumnPlan, ...]
    preprocessing: Any
    model: Any
    boolean: bool = False
    own: OwnModel | None = None
    ids: tuple[str, ...] = ()
    sets: PredictionSets | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """The classes as they are predicted."""
        classes = np.asarray(self.model.classes_)
        return self._labels(classes, np.arange(len(classes)))

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have."""
        return [plan.column for plan in self.plans if plan.kind is not Kind.DROPPED]

    @property
    def texts(self) -> frozenset[str]:
        """Columns that held words in training: a new file holds words there too, whatever they look like."""
        said = () if self.own is None else self.own.hidden
        return frozenset([*(plan.column for plan in self.plans if plan.type == "text"), *said])

    @property
    def n_compared(self) -> int:
        """Rows that each row is compared with, itself among them: 1 unless the model reads rows in their order."""
        return rows_compared(self.model)

    def predict(self, frame: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels and their probabilities, for a frame with the columns of the training table.

        Raises where a column cannot be read in most rows, and warns with counts where one cannot in some. Values that
        are simply missing are filled in as in training.
        """
        conformed, gaps = self._read(frame)
        gaps.refuse()
        for sentence in gaps.sentences(all_gaps=False):
            warnings.warn(sentence, AdaptationWarning, stacklevel=2)
        codes, probabilities = self._answer(conformed)
        return self.classes[codes], _of_named(codes, probabilities)

    def predict_table(
        self,
        table: Table,
        rows: NDArray[np.int64] | None = None,
        on_rows: Callable[[int], None] | None = None,
        *,
        training: bool = False,
    ) -> pd.DataFrame:
        """Predictions for some rows of a table, or all, a batch at a time.

        The columns are ``row``, those of ``ids``, ``prediction, predicted_probability, imputed_columns``, ``set`` where
        sets were asked for, and ``probability CLASS`` for each class; ``imputed_columns`` counts the columns of a row
        that were missing or unreadable and were filled in. Where a column cannot be read in most rows, nothing is
        predicted; where it cannot in some, a warning counts them.

        ``rows`` are ascending. ``training`` says that the model was trained on them: gaps were filled there as well,
        and are no surprise.
        """
        parts = list(self.predict_frames(table, rows, on_rows, training=training))
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def predict_frames(
        self,
        table: Table,
        rows: NDArray[np.int64] | None = None,
        on_rows: Callable[[int], None] | None = None,
        *,
        training: bool = False,
        engine: Engine | None = None,
    ) -> Iterator[pd.DataFrame]:
        """`predict_table` a batch at a time; whether columns could be read in most rows is known after the last.

        ``engine`` says where batches are predicted, side by side; they come in the order of their rows all the same.
        """
        self._check_ids(table)
        if self.own is not None:
            yield self._own_answers(self.own, table, np.arange(table.n_rows) if rows is None else rows)
            return
        known = table.features()
        if set(self.columns) - set(known):
            conform(pd.DataFrame(columns=known), self.plans)
        gaps = Gaps()
        # Rows that are compared with those before them go on from batch to batch.
        here = engine is None or isinstance(engine, Serial) or self.n_compared > 1
        for frame, found in self.batches(table, rows) if here else self._side_by_side(table, rows, engine):
            gaps.add(found)
            yield frame
            if on_rows is not None:
                on_rows(gaps.n_rows)
        if not gaps.n_rows:
            raise InputError("the table has no rows; there is nothing to predict")
        if not training:
            gaps.refuse()
        for sentence in gaps.sentences(all_gaps=not training):
            warnings.warn(sentence, AdaptationWarning, stacklevel=2)
        if gaps.n_rows < self.n_compared:
            warnings.warn(
                f"the model compares each row with the {self.n_compared} last ones, and there are {gaps.n_rows}; give "
                "rows in their order, with those before them",
                AdaptationWarning,
                stacklevel=2,
            )

    def batches(self, table: Table, rows: NDArray[np.int64] | None) -> Iterator[tuple[pd.DataFrame, Gaps]]:
        """Predictions of some rows, or all, and what could not be read."""
        before: pd.DataFrame | None = None
        for numbers, frame in table.batches(rows, list(dict.fromkeys([*self.columns, *self.ids]))):
            conformed, found = self._read(frame)
            filled = found.filled.pop()
            joined = conformed if before is None else pd.concat([before, conformed], ignore_index=True)
            codes, probabilities = self._answer(joined)
            codes, probabilities = codes[-len(conformed) :], probabilities[-len(conformed) :]
            before = joined.tail(self.n_compared - 1) if self.n_compared > 1 else None
            yield self._frame(numbers, frame, codes, probabilities, filled), found

    def _frame(
        self,
        numbers: NDArray[np.int64],
        frame: pd.DataFrame,
        codes: NDArray[np.int64],
        probabilities: NDArray[np.float64],
        filled: NDArray[np.int64],
    ) -> pd.DataFrame:
        """Predictions as they are written, with what is carried along from the rows."""
        shares = {f"probability {name}": probabilities[:, place] for place, name in enumerate(self.classes)}
        carried = {name: _of_one_type(frame[name].reset_index(drop=True)) for name in self.ids}
        said = {"prediction": self.classes[codes], "predicted_probability": _of_named(codes, probabilities)}
        sets = {} if self.sets is None else {"set": self.sets.words(probabilities, self.classes.tolist())}
        return pd.DataFrame({"row": numbers, **carried, **said, "imputed_columns": filled, **sets, **shares})

    def _check_ids(self, table: Table) -> None:
        """Raise where a column to carry along is not there, or has the name of one that is written."""
        check_carried(self.ids)
        for name in self.ids:
            if name not in table.names:
                raise InputError(f"the table has no column {name!r} to carry along")

    def _side_by_side(
        self, table: Table, rows: NDArray[np.int64] | None, engine: Any
    ) -> Iterator[tuple[pd.DataFrame, Gaps]]:
        spans: list[tuple[int, int, NDArray[np.int64] | None]] = []
        for start, stop in pairwise(table.spans()):
            own = None if rows is None else rows[slice(*np.searchsorted(rows, [start, stop]))]
            spans += [(start, stop, own)] if own is None or len(own) else []
        done: dict[int, list[tuple[pd.DataFrame, Gaps]]] = {}
        left = [start for start, *_ in spans]
        for outcome in engine.run(iter([Batch(_PredictWork(self, table), tuple(spans))])):
            if outcome.failure is not None:
                error = InputError if outcome.failure.refused else SolverError
                raise error(outcome.failure.text)
            done[outcome.task[0]] = outcome.value
            while left and left[0] in done:
                yield from done.pop(left.pop(0))

    def _own_answers(self, own: OwnModel, table: Table, rows: NDArray[np.int64]) -> pd.DataFrame:
        """What the model in use says, as labels where these are known; it tells no probability."""
        if len(rows) == 0:
            raise InputError("the table has no rows; there is nothing to predict")
        words = own.words(table, rows, self.columns, label="")
        classes = np.asarray(self.model.classes_)
        codes = label_codes(words, classes.tolist(), self.boolean)
        carried = pd.DataFrame()
        if self.ids:
            carried = pd.concat([frame for _, frame in table.batches(rows, list(self.ids))], ignore_index=True)
        unknown = np.full((len(rows), len(classes)), np.nan)
        found = self._frame(rows, carried, np.maximum(codes, 0), unknown, np.zeros(len(rows), int))
        # A class that is not known here is written as the model in use calls it.
        return found if (codes >= 0).all() else found.assign(prediction=words)

    def _read(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, Gaps]:
        conformed = conform(frame, self.plans)
        return conformed, find_gaps(frame, conformed, self.plans, self.preprocessing)

    def _answer(self, conformed: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The number of the class that is named for each row, and the probabilities of all."""
        features = as_matrix(self.preprocessing, conformed)
        classes = np.asarray(self.model.classes_)
        if hasattr(self.model, "predict_proba"):
            probabilities = np.asarray(self.model.predict_proba(features), dtype=np.float64)
        else:
            # Scores of a classifier without probabilities, brought to sum 1; they are not calibrated.
            probabilities = softmax(as_learner(self.model, classes).logits(features), axis=1)
        # A model may name another class than the likeliest one: by costs, or by a threshold.
        decide = getattr(getattr(self.model, "steps", [("", self.model)])[-1][1], "decide", None)
        said = probabilities.argmax(axis=1) if decide is None else decide(probabilities)
        return np.asarray(said), probabilities

    def _labels(self, classes: NDArray[Any], codes: NDArray[np.int64]) -> NDArray[Any]:
        known = np.array([is_true(name) for name in classes]) if self.boolean else classes
        return np.asarray(known[codes])


@dataclass(frozen=True, eq=False)
class _PredictWork:
    """Predict spans of rows."""

    predictor: Predictor
    table: Table

    def prepare(self, tasks: tuple[Any, ...], scratch: dict[str, Any]) -> None:
        """Nothing is shared but this."""

    def run(self, shared: None, task: tuple[int, int, NDArray[np.int64] | None]) -> list[tuple[pd.DataFrame, Gaps]]:
        """Predictions of one span, or of some rows of it."""
        start, stop, rows = task
        return list(self.predictor.batches(self.table, np.arange(start, stop) if rows is None else rows))


_WHAT = {
    Kind.NUMBER: "numbers",
    Kind.BOOLEAN: "yes or no",
    Kind.DATE: "dates",
    Kind.NUMBERS: "lists of as many numbers",
}
# A feature that is unreadable in a larger share of the rows is not the feature that the model was trained on.
_MOST = 0.5


@dataclass
class Gaps:
    """Cells of a table that a model did not see as they are."""

    n_rows: int = 0
    # For each row, the number of its columns that were filled in; an array for each batch.
    filled: list[NDArray[np.int64]] = field(default_factory=list)
    # Column to how many of its values are there and cannot be read: text among numbers, infinity, values beyond
    # 1e100.
    unreadable: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)  # column to how many of its values are not there
    # Column to how many of its words never occurred in training.
    unknown: dict[str, int] = field(default_factory=dict)
    n_blind: int = 0  # rows of which nothing at all could be read
    wordless: set[str] = field(default_factory=set)  # columns of words of which none was missing in training
    many: set[str] = field(default_factory=set)  # columns of more words than there are features for
    # An unreadable or unknown value of a column, and what it should have been.
    examples: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def add(self, other: Gaps) -> None:
        """Count another batch of rows."""
        self.n_rows += other.n_rows
        self.n_blind += other.n_blind
        self.filled += other.filled
        for mine, theirs in (
            (self.unreadable, other.unreadable),
            (self.missing, other.missing),
            (self.unknown, other.unknown),
        ):
            for column, count in theirs.items():
                mine[column] = mine.get(column, 0) + count
        self.examples = {**other.examples, **self.examples}
        self.kinds.update(other.kinds)
        self.wordless |= other.wordless
        self.many |= other.many

    def refuse(self) -> None:
        """Raise where a column is unreadable in most rows, or most rows are unreadable in every column."""
        for column, count in self.unknown.items():
            present = self.n_rows - self.missing.get(column, 0)
            # Where words are many, training saw a part of them.
            if count > (present - 1 if column in self.many else _MOST * present):
                raise InputError(
                    f"column {column!r}: {count} of {self.n_rows} words never occurred in training (such as "
                    f"{self.examples[column]}), where they are such as {self.kinds[column]}; write them as in the "
                    "training table, or run adapt on a table that has them"
                )
        for column, count in self.unreadable.items():
            if count > _MOST * self.n_rows:
                raise InputError(
                    f"column {column!r} cannot be read as {self.kinds[column]} in {count} of {self.n_rows} rows "
                    f"(such as {self.examples[column]}), and the model uses it; write it as in the training table"
                    + (": decimal points, nothing but numbers, none beyond 1e100" * (self.kinds[column] == "numbers"))
                )
        if self.n_blind > _MOST * self.n_rows:
            raise InputError(
                f"{self.n_blind} of {self.n_rows} rows hold nothing in any column that the model uses; "
                "is this the right table?"
            )

    def sentences(self, *, all_gaps: bool = True) -> list[str]:
        """What was filled in, a sentence for each column.

        Without ``all_gaps`` only of what is there and cannot be read, not of missing values and unknown words.
        """
        said = [
            f"column {column!r}: {count} of {self.n_rows} values cannot be read as {self.kinds[column]} "
            f"(such as {self.examples[column]}) and were filled in"
            for column, count in self.unreadable.items()
        ]
        if all_gaps:
            said += [
                f"column {column!r}: {count} of {self.n_rows} values are missing and "
                + ("count as none" if column in self.wordless else "were filled in")
                for column, count in self.missing.items()
            ]
            said += [
                f"column {column!r}: {count} of {self.n_rows} words never occurred in training and count as none"
                for column, count in self.unknown.items()
            ]
        return said


def _of_named(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of the class that is named, which need not be the likeliest one."""
    return np.asarray(probabilities[np.arange(len(codes)), codes])


def _of_one_type(values: pd.Series) -> pd.Series:
    """Words as words, so that a batch of gaps alone has the type of the others."""
    return values.astype("string") if values.dtype.kind == "O" else values


def find_gaps(frame: pd.DataFrame, conformed: pd.DataFrame, plans: tuple[ColumnPlan, ...], preprocessing: Any) -> Gaps:
    """Compare a frame with what was read from it."""
    found = Gaps(len(frame))
    filled = np.zeros(len(frame), dtype=np.int64)
    blind = np.ones(len(frame), dtype=bool)
    words = _known_words(preprocessing)
    for plan in plans:
        if plan.kind is Kind.DROPPED:
            continue
        absent = missing_in(frame[plan.column])
        if plan.kind in _WHAT:
            gap = np.isnan(conformed[list(plan.outputs)].to_numpy(np.float64)).all(axis=1)
            strange = gap & ~absent
            filled += gap
            blind &= gap
            _count(found.missing, plan.column, gap & absent)
            _count(found.unreadable, plan.column, strange)
            if strange.any():
                found.kinds[plan.column] = _WHAT[plan.kind] + (f" such as {plan.form}" if plan.form else "")
                found.examples[plan.column] = _example(frame[plan.column], strange)
            continue
        blind &= absent
        if plan.kind is Kind.TEXT:
            _count(found.missing, plan.column, absent)
            filled += absent
            continue
        known = words[plan.column]
        own, distinct = pd.factorize(conformed[plan.column])
        new = ~np.isin(np.asarray(distinct, dtype=str), known)[own] & ~absent
        _count(found.missing, plan.column, absent)
        _count(found.unknown, plan.column, new)
        if "missing" not in known:
            found.wordless.add(plan.column)
            filled += absent
        if plan.kind is Kind.MANY_CATEGORIES:
            found.many.add(plan.column)
        if new.any():
            found.kinds[plan.column] = ", ".join(repr(str(word)) for word in known[:3])
            found.examples[plan.column] = _example(frame[plan.column], new)
    found.filled.append(filled)
    found.n_blind = int(blind.sum())
    return found


def _example(values: pd.Series, cells: NDArray[np.bool_]) -> str:
    """The first of some cells, as Python writes it."""
    value = values.iloc[int(np.argmax(cells))]
    return repr(value.item() if isinstance(value, np.generic) else value)[:40]


def _count(counts: dict[str, int], column: str, cells: NDArray[np.bool_]) -> None:
    if cells.any():
        counts[column] = int(cells.sum())


def _known_words(preprocessing: Any) -> dict[str, NDArray[Any]]:
    """The words of each column that are known from training."""
    return {
        column: np.asarray(words, dtype=str)
        for _, encoder, columns in preprocessing.transformers_
        if hasattr(encoder, "categories_")
        for column, words in zip(columns, encoder.categories_, strict=True)
    }

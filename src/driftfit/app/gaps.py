"""What of a table could not be read and was filled in: counted, said, and refused where it is too much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import ColumnPlan, Kind
from driftfit.errors import InputError

__all__ = ["Gaps", "find_gaps"]

_WHAT = {Kind.NUMBER: "numbers", Kind.BOOLEAN: "yes or no", Kind.DATE: "dates"}
# A feature that is unreadable in a larger share of the rows is not the feature that the model was trained on.
_MOST = 0.5


@dataclass
class Gaps:
    """Cells of a table that a model did not see as they are.

    Attributes
    ----------
    n_rows : int
    filled : list of int arrays
        For each row, the number of its columns that were filled in; an array for each batch.
    unreadable : dict
        Column to how many of its values are there and cannot be read: text among numbers, infinity,
        values beyond 1e100.
    missing : dict
        Column to how many of its values are not there.
    unknown : dict
        Column to how many of its words never occurred in training.
    n_blind : int
        Rows of which nothing at all could be read.
    examples, kinds : dict
        An unreadable value of a column, and what it should have been.
    """

    n_rows: int = 0
    filled: list[NDArray[np.int64]] = field(default_factory=list)
    unreadable: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    n_blind: int = 0
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

    def refuse(self) -> None:
        """Raise where a column is unreadable in most rows, or most rows are unreadable in every column."""
        for column, count in self.unreadable.items():
            if count > _MOST * self.n_rows:
                raise InputError(
                    f"column {column!r} cannot be read as {self.kinds[column]} in {count} of {self.n_rows} rows "
                    f"(such as {self.examples[column]}), and the model uses it; write it as in the training table: "
                    "decimal points, nothing but numbers, none beyond 1e100"
                )
        if self.n_blind > _MOST * self.n_rows:
            raise InputError(
                f"{self.n_blind} of {self.n_rows} rows hold nothing in any column that the model uses; "
                "is this the right table?"
            )

    def sentences(self, *, all_gaps: bool = True) -> list[str]:
        """What was filled in, a sentence for each column.

        Parameters
        ----------
        all_gaps : bool
            Speak of missing values and unknown words too, not only of what is there and cannot be read.
        """
        said = [
            f"column {column!r}: {count} of {self.n_rows} values cannot be read as {self.kinds[column]} "
            f"(such as {self.examples[column]}) and were filled in"
            for column, count in self.unreadable.items()
        ]
        if all_gaps:
            said += [
                f"column {column!r}: {count} of {self.n_rows} values are missing and were filled in"
                for column, count in self.missing.items()
            ]
            said += [
                f"column {column!r}: {count} of {self.n_rows} words never occurred in training and count as none"
                for column, count in self.unknown.items()
            ]
        return said


def find_gaps(frame: pd.DataFrame, conformed: pd.DataFrame, plans: tuple[ColumnPlan, ...], preprocessing: Any) -> Gaps:
    """Compare a frame with what was read from it.

    Parameters
    ----------
    frame, conformed : DataFrame
        Before and after `conform`.
    plans : tuple of ColumnPlan
    preprocessing : ColumnTransformer
        Fitted; it knows the words of training.
    """
    found = Gaps(len(frame))
    filled = np.zeros(len(frame), dtype=np.int64)
    blind = np.ones(len(frame), dtype=bool)
    words = _known_words(preprocessing)
    for plan in plans:
        if plan.kind is Kind.DROPPED:
            continue
        absent = frame[plan.column].isna().to_numpy()
        if plan.kind in _WHAT:
            gap = np.isnan(conformed[plan.outputs[0]].to_numpy(np.float64))
            strange = gap & ~absent
            filled += gap
            blind &= gap
            _count(found.missing, plan.column, gap & absent)
            _count(found.unreadable, plan.column, strange)
            if strange.any():
                found.kinds[plan.column] = _WHAT[plan.kind]
                found.examples[plan.column] = repr(frame[plan.column].iloc[int(np.argmax(strange))])[:40]
            continue
        blind &= absent
        if plan.column in words:
            own, distinct = pd.factorize(conformed[plan.column])
            new = ~np.isin(np.asarray(distinct, dtype=str), words[plan.column])[own]
            _count(found.unknown, plan.column, new & ~absent)
    found.filled.append(filled)
    found.n_blind = int(blind.sum())
    return found


def _count(counts: dict[str, int], column: str, cells: NDArray[np.bool_]) -> None:
    if cells.any():
        counts[column] = int(cells.sum())


def _known_words(preprocessing: Any) -> dict[str, NDArray[Any]]:
    """The words of each column; where rare ones share a feature, a new word is one of them and no stranger."""
    known: dict[str, NDArray[Any]] = {}
    for name, encoder, columns in preprocessing.transformers_:
        if name == "categories":
            for place, column in enumerate(columns):
                known[column] = np.asarray(encoder.categories_[place], dtype=str)
    return known

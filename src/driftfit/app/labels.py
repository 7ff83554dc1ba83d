"""The label column: classes of one type, and which rows of the source can be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.windows import TRUTH, exact_number
from driftfit.domains.order import value_name
from driftfit.domains.samples import plain_labels
from driftfit.domains.words import nearly_alike
from driftfit.errors import InputError

# A class with fewer rows in the source can be neither learned nor checked.
_FEWEST = 3
_MOST_NUMBERS = 20
_MOST_CLASSES = 1_000
# Values that a column of labels may have while it is read in parts.
_MOST_DISTINCT = 100_000
# What labels are read from in the paper's setting.
_FIRST = "the first window"
_TRUTH = np.array(["False", "True"])


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of the source rows that can be used."""

    rows: NDArray[np.int64]  # rows of the table
    values: NDArray[Any]  # their labels
    boolean: bool  # whether the column held true and false, which models call by these words

    def in_order(self) -> Labels:
        """The same, in the order of the rows."""
        order = np.argsort(self.rows)
        return Labels(self.rows[order], self.values[order], self.boolean)


def is_true(name: Any) -> bool:
    """Whether a class of a column of truth values is the true one, by its word or by the number 1.

    >>> is_true("True"), is_true(np.int64(1)), is_true("False")
    (True, True, False)
    """
    return str(name) in ("True", "1")


def has_labels(column: pd.Series) -> NDArray[np.bool_]:
    """Which rows have a label; words without a letter are none.

    >>> has_labels(pd.Series(["a", "", None, " "])).tolist()
    [True, False, False, False]
    """
    present = column.notna().to_numpy(dtype=bool, copy=True)
    if column.dtype.kind not in "biufcmM" and not isinstance(column.dtype, pd.CategoricalDtype | pd.SparseDtype):
        blank = column[present].map(lambda value: isinstance(value, str) and not value.strip())
        present[np.flatnonzero(present)[blank.to_numpy(dtype=bool)]] = False
    return present


def read_labels(
    column: pd.Series, rows: NDArray[np.int64], who: str, *, guessed: bool = False, where: str = _FIRST
) -> tuple[Labels, list[str]]:
    """Labels of some rows; others are not looked at. Also returns sentences on what was left out.

    ``guessed`` says that the type of the column was guessed from the text of all rows, others among them: it is guessed
    again from these labels alone. ``where`` names the rows.
    """
    own = column.iloc[rows]
    if isinstance(own.dtype, pd.SparseDtype):
        own = pd.Series(own.to_numpy(), index=own.index)
    present = has_labels(own)
    said = _counted(int(present.sum()), len(present), who, where)
    rows, own = rows[present], own[present]
    values, boolean = _classes(own, who, guessed)
    rows, values, sentence = _without_rare(rows, values, who, where)
    return Labels(rows, values, boolean), said + sentence


def stream_labels(
    parts: Iterator[pd.Series], wanted: NDArray[np.bool_], who: str, *, guessed: bool = False, where: str = _FIRST
) -> tuple[Labels, list[str]]:
    """`read_labels` for a column that is read in parts; each distinct label is looked at once.

    ``wanted`` says of every row of the table whether it is looked at.
    """
    known: dict[Any, int] = {}
    rows, codes = [], []
    start = n_wanted = 0
    dtype: Any = None
    for part in parts:
        mine = wanted[start : start + len(part)]
        n_wanted += int(mine.sum())
        kept = mine & has_labels(part)
        if kept.any():
            own, distinct = pd.factorize(part[kept])
            dtype = part.dtype
            places = np.array([known.setdefault(label, len(known)) for label in distinct], dtype=np.int32)
            rows.append(start + np.flatnonzero(kept))
            codes.append(places[own])
        if len(known) > _MOST_DISTINCT:
            raise InputError(f"{who} has more than {_MOST_DISTINCT} values in {where}; is it an identifier?")
        start += len(part)
    said = _counted(sum(len(own) for own in rows), n_wanted, who, where)
    distinct_values, boolean = _classes(pd.Series(list(known), dtype=dtype), who, guessed)
    # Codes stay small where whole columns of words would not.
    classes, merged = np.unique(distinct_values, return_inverse=True)
    row_numbers, numbers = np.concatenate(rows), merged.astype(np.int32)[np.concatenate(codes)]
    found, kept_codes, sentence = _without_rare(row_numbers, numbers, who, where, classes)
    return Labels(found, classes[kept_codes], boolean), said + sentence


def _counted(n_present: int, n_wanted: int, who: str, where: str) -> list[str]:
    """What is said about rows without labels."""
    if not n_present:
        raise InputError(f"{who} has no label in {where}; the oldest rows must be labelled: is the order column right?")
    if n_present < n_wanted:
        return [f"{n_wanted - n_present} rows of {where} have no label and were left out of training"]
    return []


def _classes(own: pd.Series, who: str, guessed: bool) -> tuple[NDArray[Any], bool]:
    """Labels of one type, and whether they were true and false."""
    if own.dtype.kind == "O":
        own = own.astype(object)
        own = _guessed_again(own) if guessed else own
    boolean = bool(pd.api.types.is_bool_dtype(own.dtype)) or set(own.map(type)) <= {bool, np.bool_}
    return _TRUTH[own.to_numpy(np.int64)] if boolean else _plain(own, who), boolean


def _guessed_again(own: pd.Series) -> pd.Series:
    """Text as the numbers or truth values that it would be if nothing else stood in the column."""
    words = own.map(str).str.strip()
    numbers = words.map(exact_number)
    # A zero in front belongs to a word: classes 01 and 1 are two.
    if numbers.notna().all() and not words.str.match("[+-]?0[0-9]").any():
        return pd.Series(numbers.tolist(), index=own.index, dtype=object)
    if set(words.str.lower().unique()) <= TRUTH.keys():
        return words.str.lower().map(TRUTH)
    return own


def _plain(labels: pd.Series, who: str) -> NDArray[Any]:
    if labels.dtype.kind in "iu":
        return plain_labels(labels.to_numpy(dtype=object))
    if labels.dtype.kind in "mM":
        return np.array([value_name(value) for value in labels.to_numpy()], dtype=str)
    kinds = set(labels.map(type))
    if any(issubclass(kind, list | tuple | dict | set | np.ndarray | complex) for kind in kinds):
        raise InputError(
            f"{who} holds lists, records or complex numbers; a classifier needs classes: numbers, words or true and "
            "false"
        )
    if all(issubclass(kind, Integral | np.bool_) for kind in kinds):
        whole = plain_labels(labels.to_numpy(dtype=object))
        return whole if whole.dtype.kind in "iu" else labels.map(str).to_numpy(dtype=str)
    if all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds):
        exact = labels.map(exact_number)
        if exact.notna().all() and all(value == int(value) for value in exact):
            return _plain(pd.Series([int(value) for value in exact], dtype=object), who)
        n_distinct = int(labels.nunique())
        if n_distinct > _MOST_NUMBERS:
            raise InputError(
                f"{who} holds measured numbers ({n_distinct} distinct values); "
                "a classifier needs classes: cut it into classes first"
            )
        # 2.5 and 2.50 are one class, however they were written.
        labels = labels.map(lambda value: value if exact_number(value) is None else float(value))
    return labels.map(value_name).to_numpy(dtype=str)


def _without_rare(
    rows: NDArray[np.int64], values: NDArray[Any], who: str, where: str, names: NDArray[Any] | None = None
) -> tuple[NDArray[np.int64], NDArray[Any], list[str]]:
    """Rows whose class is not rare; ``names`` are the classes where the values are their numbers."""
    if names is None:
        classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    else:
        classes, codes, counts = names, values, np.bincount(values, minlength=len(names))
    if len(classes) < 2:
        raise InputError(f"{who} has the single class {classes[0]!s} in {where}; a classifier needs two")
    rare = counts < _FEWEST
    kept = ~rare[codes]
    if (~rare).sum() < 2:
        raise InputError(
            f"{who} has {len(classes)} classes in {len(rows)} rows of {where}, fewer than two of them "
            f"with {_FEWEST} rows; give more labelled rows or a wider window"
        )
    if (~rare).sum() > _MOST_CLASSES:
        raise InputError(f"{who} has {len(classes)} classes, more than {_MOST_CLASSES}; is it an identifier?")
    if kept.sum() < 0.5 * len(rows):
        raise InputError(
            f"{who} has {len(classes)} classes in {len(rows)} rows of {where}, and {int((~kept).sum())} rows are of a "
            f"class with fewer than {_FEWEST}; is it an identifier or a measured number? make classes of it first"
        )
    said = []
    if rare.any():
        shown = ", ".join(str(label) for label in classes[rare][:5])
        said.append(f"classes with fewer than {_FEWEST} rows in {where} were left out: {shown}")
    twins = nearly_alike(str(label) for label in classes)
    if twins is not None:
        said.append(f"the classes {twins[0]!r} and {twins[1]!r} are written nearly alike, and count as two")
    return rows[kept], values[kept], said

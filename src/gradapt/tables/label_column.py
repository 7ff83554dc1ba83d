"""The label column: classes of one type, and which rows of the source can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradapt.errors import InputError

__all__ = ["Labels", "read_labels"]

# A class with fewer rows in the source can be neither learned nor checked.
_FEWEST = 3
_MOST_NUMBERS = 20
_MOST_CLASSES = 1_000


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of the source rows that can be used.

    Attributes
    ----------
    rows : int array
        Rows of the table.
    values : int or text array
        Their labels.
    boolean : bool
        Whether the column held true and false, which models see as 1 and 0.
    """

    rows: NDArray[np.int64]
    values: NDArray[Any]
    boolean: bool


def read_labels(column: pd.Series, rows: NDArray[np.int64], who: str) -> tuple[Labels, list[str]]:
    """Labels of the source; later labels are not looked at. Also returns sentences on what was left out.

    Parameters
    ----------
    column : Series
        The label column of the whole table.
    rows : int array
        Rows of the source window.
    who : str
        How messages call the column.
    """
    own = column.iloc[rows]
    present = own.notna().to_numpy()
    if not present.any():
        raise InputError(
            f"{who} has no label in the first window; the oldest rows must be labelled: is the order column right?"
        )
    said = []
    if not present.all():
        said.append(f"{int((~present).sum())} rows of the first window have no label and were left out of training")
    later = int(column.notna().sum()) - int(present.sum())
    if later:
        said.append(f"{later} labels after the first window were not looked at")
    rows, own = rows[present], own[present]
    boolean = bool(pd.api.types.is_bool_dtype(own.dtype)) or set(own.map(type)) == {bool}
    values = own.to_numpy(np.int64) if boolean else _plain(own, who)
    rows, values, sentence = _without_rare(rows, values, who)
    return Labels(rows, values, boolean), said + sentence


def _plain(labels: pd.Series, who: str) -> NDArray[Any]:
    if labels.dtype.kind in "iu":
        return labels.to_numpy(np.int64)
    if labels.dtype.kind == "f" or set(labels.map(type)) <= {int, float, bool}:
        numbers = labels.to_numpy(np.float64)
        if np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and np.abs(numbers).max() < 2**53:
            return numbers.astype(np.int64)
        if len(np.unique(numbers)) > _MOST_NUMBERS:
            raise InputError(
                f"{who} holds measured numbers ({len(np.unique(numbers))} distinct values); "
                "a classifier needs classes: cut it into classes first"
            )
    return labels.map(str).to_numpy(dtype=str)


def _without_rare(
    rows: NDArray[np.int64], values: NDArray[Any], who: str
) -> tuple[NDArray[np.int64], NDArray[Any], list[str]]:
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise InputError(f"{who} has the single class {classes[0]!s} in the first window; a classifier needs two")
    rare = counts < _FEWEST
    kept = ~rare[codes]
    if (~rare).sum() < 2:
        raise InputError(
            f"{who} has {len(classes)} classes in {len(rows)} rows of the first window, fewer than two of them "
            f"with {_FEWEST} rows; give more labelled rows or a wider first window"
        )
    if (~rare).sum() > _MOST_CLASSES:
        raise InputError(f"{who} has {len(classes)} classes, more than {_MOST_CLASSES}; is it an identifier?")
    said = []
    if rare.any():
        shown = ", ".join(str(label) for label in classes[rare][:5])
        said.append(f"classes with fewer than {_FEWEST} rows in the first window were left out: {shown}")
    return rows[kept], values[kept], said

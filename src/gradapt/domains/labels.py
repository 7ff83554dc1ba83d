"""Labels as they arrive: which are missing, and which type they have of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_missing", "plain_labels"]


def is_missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are None, NaN or NaT.

    >>> is_missing(np.array([1.0, float("nan")])).tolist()
    [False, True]
    """
    if labels.dtype.kind in "biuUS":
        return np.zeros(labels.shape, dtype=bool)
    if labels.dtype.kind in "fc":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    # None, NaN, NaT and pandas' NA are the values that do not equal themselves, or say so.
    return np.array([value is None or bool(_differs_from_itself(value)) for value in labels.ravel()])


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels that share a column with missing ones arrive as objects: give them their own type back."""
    if labels.dtype.kind != "O" or labels.ndim != 1 or len(labels) == 0:
        return labels
    kinds = {type(value) for value in labels}
    same = len(kinds) == 1 or all(issubclass(kind, int | np.integer | float | np.floating) for kind in kinds)
    return np.array(labels.tolist()) if same and not is_missing(labels).any() else labels


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to become a truth value
        return True

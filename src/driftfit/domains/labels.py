"""Labels and groups as they arrive: which labels are missing, which type they have, which number a group has."""

from __future__ import annotations

import hashlib
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.checks import without_mask
from driftfit.errors import InputError

# Beyond this a float no longer tells neighbouring whole numbers apart.
_EXACT = 2.0**53


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
    return np.array([value is None or bool(_differs_from_itself(value)) for value in labels.ravel()], dtype=bool)


def as_labels(labels: Any) -> NDArray[Any]:
    """Labels as an array in which each keeps its own type: a word among them makes no text of the others.

    >>> as_labels([2, 10, "unknown"]).tolist()
    [2, 10, 'unknown']
    """
    labels = without_mask(labels)
    if hasattr(labels, "dtype"):
        return np.asarray(labels)
    array = object_array(labels)
    if len(array) and all(isinstance(label, list | tuple | np.ndarray) and len(label) == 1 for label in array):
        return object_array([label[0] for label in array])  # a single column
    return array


def object_array(values: Any) -> NDArray[Any]:
    """One object per value, each of its own type: lists stay lists, 1 and "a" stay a number and a word."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        return values
    try:
        # pyarrow wraps each of its values.
        items = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    except TypeError:
        raise InputError(f"one value for each sample is needed, got {values!r}") from None
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels that share a column with missing ones arrive as objects or floats: give them their own type back.

    >>> plain_labels(np.array([2.0, 10.0])).tolist(), plain_labels(np.array([2**63, 1], dtype=object)).dtype.name
    ([2, 10], 'uint64')
    """
    if labels.ndim != 1 or len(labels) == 0:
        return labels
    if labels.dtype.kind == "f":
        whole = bool((np.abs(labels) < _EXACT).all()) and bool((labels == np.round(labels)).all())
        return labels.astype(np.int64) if whole else labels
    if labels.dtype.kind != "O":
        return labels
    items = labels.tolist()
    kinds = {type(value) for value in items}
    if all(issubclass(kind, bool | np.bool_) for kind in kinds) or all(issubclass(kind, str) for kind in kinds):
        return np.array(items)
    if all(issubclass(kind, Integral | np.bool_) for kind in kinds):
        return _whole(items, labels)
    if all(issubclass(kind, Real | np.bool_) for kind in kinds) and not is_missing(labels).any():
        return plain_labels(np.array(items, dtype=np.float64))
    if len(kinds) == 1 and kinds <= {np.datetime64, np.timedelta64}:
        return np.array(items)
    return labels


def without_marks(labels: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
    """Labels in which a -1 that marks a missing one became None.

    A -1 marks a missing label beside words, and beside numbers where the first window does without it.

    ``first``: rows of the first window.

    >>> without_marks(np.array([0, 1, -1, 1]), np.array([0, 1])).tolist()
    [0, 1, None, 1]
    >>> without_marks(np.array([-1, 1, -1, 1]), np.array([0, 1])).tolist()
    [-1, 1, -1, 1]
    """
    if labels.dtype.kind not in "ifO":
        return labels
    marked = np.array([_is_number(label) and label == -1 for label in labels.tolist()], dtype=bool)
    if not marked.any():
        return labels
    beside_words = any(isinstance(label, str) for label in labels.tolist())
    if marked[first].any() and not beside_words:
        return labels
    own = labels.astype(object)
    own[marked] = None
    return own


def check_classes(labels: NDArray[Any], who: str) -> None:
    """Raise unless the labels of a source can be classes: numbers, truth values or words, all of one kind."""
    if labels.dtype.kind in "biufUmM":
        return
    if labels.dtype.kind == "O":
        kinds = sorted({type(label).__name__ for label in labels})
        # Whole numbers are objects still where no 64 bits hold them.
        if len(kinds) == 1 and kinds[0] not in ("list", "tuple", "dict", "ndarray", "bytes", "complex", "int"):
            try:
                np.unique(labels)
                return
            except TypeError:
                pass
        found = " and ".join(kinds[:3])
    else:
        found = {"S": "bytes", "c": "complex numbers"}.get(labels.dtype.kind, str(labels.dtype))
    raise InputError(
        f"{who} has labels of the kind {found}; give whole numbers or words, all of one kind, "
        "and numbers that fit into 64 bits"
    )


def _is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)


def _whole(items: list[Any], labels: NDArray[Any]) -> NDArray[Any]:
    low, high = min(items), max(items)
    if low >= -(2**63) and high < 2**63:
        return np.array(items, dtype=np.int64)
    # What no 64 bits hold stays as it is: as floats different labels would become one.
    return np.array(items, dtype=np.uint64) if low >= 0 and high < 2**64 else labels


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to become a truth value
        return True
    except ValueError:  # an array inside the array: several truth values
        return False


def group_codes(groups: Any, n: int, who: str) -> NDArray[np.int64]:
    """One whole number for the group of each row.

    A word gets a number that follows from the word alone, so that domains that were made one by one agree on it.

    ``groups``: whole numbers or words, one per row. ``n``: number of rows. ``who``: their name, for errors.

    >>> group_codes([7, 7, 3], 3, "groups").tolist()
    [7, 7, 3]
    >>> here, there = group_codes(["ann", "bob"], 2, "groups"), group_codes(["bob"], 1, "groups")
    >>> bool(here[1] == there[0]), bool(here[0] == there[0])
    (True, False)
    """
    values = as_labels(groups)
    if values.shape == (n, 1):
        values = values.ravel()
    if values.shape != (n,):
        raise InputError(f"{who} must have one entry for each of the {n} rows, got shape {values.shape}")
    missing = is_missing(values)
    if missing.any():
        raise InputError(
            f"{who}: {int(missing.sum())} of {n} entries are missing; give each of these rows a group of its own "
            "if they belong to nothing else, or leave them out"
        )
    values = plain_labels(values)
    if values.dtype.kind == "b" or (
        values.dtype.kind in "iu" and (values.dtype.itemsize < 8 or values.dtype.kind == "i")
    ):
        return values.astype(np.int64)
    # By their words: dates, words and numbers of any size.
    words, place = np.unique(values.astype(str), return_inverse=True)
    return np.array([_code(word) for word in words], dtype=np.int64)[place]


def _code(word: str) -> int:
    """63 bits: two of a million words get one number with a chance of one in ten million."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little") >> 1

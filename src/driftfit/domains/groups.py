"""What rows belong to, such as a customer: whole numbers as they are, words as numbers that are the same everywhere."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains.labels import as_labels, is_missing, plain_labels
from driftfit.errors import InputError


def group_codes(groups: Any, n: int, who: str) -> NDArray[np.int64]:
    """One whole number for the group of each row.

    A word gets a number that follows from the word alone, so that domains that were made one by one agree on it.

    Parameters
    ----------
    groups : array-like
        Whole numbers or words, one per row.
    n : int
        Number of rows.
    who : str
        Their name, for errors.

    Examples
    --------
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

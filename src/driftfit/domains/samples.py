"""Samples and labels as they come: arrays, frames, tensors and sparse matrices, and labels that may be missing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import without_mask
from driftfit.errors import InputError

# Rows that a class keeps in a sample.
_FEWEST_OF_A_CLASS = 5


def is_tensor(samples: Any) -> bool:
    """Whether samples are a torch tensor; torch itself is not imported for the answer."""
    return type(samples).__module__.partition(".")[0] == "torch" and hasattr(samples, "is_cuda")


def is_frame(samples: Any) -> bool:
    """Whether samples are a data frame of whatever library: something with named columns."""
    return hasattr(samples, "columns") and hasattr(samples, "shape")


def with_rows(samples: Any) -> Any:
    """Samples that can hand out rows: a pyarrow table, which has columns alone, becomes a pandas frame."""
    if type(samples).__module__.partition(".")[0] == "pyarrow" and hasattr(samples, "to_pandas"):
        return samples.to_pandas()
    return samples


def take_rows(samples: Any, rows: NDArray[Any]) -> Any:
    """Some rows, by number and in that order, as the same kind of container.

    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).tolist()
    [[3.0], [1.0]]
    """
    if isinstance(samples, Interpolated):
        return samples.select(rows)
    if is_tensor(samples):
        return samples.index_select(0, _index_on(samples, rows))
    if hasattr(samples, "iloc"):
        return samples.iloc[rows]
    return samples[rows]


def stack_rows(parts: Sequence[Any]) -> Any:
    """The rows of several containers of one kind, one below the other; tensors stay on their device.

    >>> stack_rows([np.array([[1.0]]), np.array([[2.0], [3.0]])]).ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    first = parts[0]
    if is_tensor(first):
        import torch  # only where there are tensors already

        return torch.cat(list(parts))
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    if hasattr(first, "iloc"):
        import pandas as pd  # only where there are its frames already

        return pd.concat(list(parts), ignore_index=True)
    if is_frame(first):
        return reduce(lambda above, below: above.vstack(below), parts)
    return np.concatenate([np.asarray(part) for part in parts])


def some_rows(
    n: int, most: int | None, random: int | np.random.Generator, labels: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """At most ``most`` of ``n`` row numbers, drawn without replacement, in ascending order; all if there are no more.

    With the ``labels`` of the rows a class that is rare keeps five of its rows, or all that it has.

    >>> some_rows(3, 5, random=0).tolist(), len(some_rows(10, 4, random=0))
    ([0, 1, 2], 4)
    >>> some_rows(10_000, 20, random=0, labels=np.arange(10_000) > 9_997)[-2:].tolist()
    [9998, 9999]
    """
    if most is None or n <= most:
        return np.arange(n)
    rng = np.random.default_rng(random)
    rows = rng.choice(n, most, replace=False)
    return np.sort(rows if labels is None else _with_every_class(rows, labels, rng))


def _with_every_class(rows: NDArray[np.int64], labels: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """The rows, some of frequent classes exchanged for those of classes that would be lost."""
    seen, counts = np.unique(labels[rows], return_counts=True)
    rare = np.flatnonzero(~np.isin(labels, seen[counts >= _FEWEST_OF_A_CLASS]))
    wanted: list[int] = []
    for name in np.unique(labels[rare]):
        own = rare[labels[rare] == name]
        left = np.setdiff1d(own, rows)
        missing = min(_FEWEST_OF_A_CLASS, len(own)) - (len(own) - len(left))
        wanted += rng.choice(left, max(missing, 0), replace=False).tolist()
    spare = np.setdiff1d(rows, rare)
    wanted = wanted[: len(spare)]
    kept = rng.permutation(spare)[len(wanted) :] if wanted else spare
    return np.concatenate([kept, np.intersect1d(rows, rare), np.array(wanted, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Rows ``(1 - position) * x0[rows] + position * x1[cols]``, formed when they are taken.

    A generated domain so costs two index vectors instead of a copy of the features.

    >>> x0, x1 = np.array([[0.0], [10.0]]), np.array([[12.0], [2.0]])
    >>> Interpolated.of(x0, x1, np.array([0, 1]), np.array([1, 0]), 0.5).whole().ravel().tolist()
    [1.0, 11.0]
    """

    x0: Any
    x1: Any
    rows: Any
    cols: Any
    position: float

    @classmethod
    def of(cls, x0: Any, x1: Any, rows: NDArray[Any], cols: NDArray[Any], position: float) -> Interpolated:
        """With the indices where the samples are."""
        if is_tensor(x0):
            return cls(x0, x1, _index_on(x0, rows), _index_on(x0, cols), position)
        return cls(x0, x1, rows, cols, position)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.x0.shape[1:])

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self.x0.shape[1:])

    @property
    def device(self) -> Any:
        """Where the samples are, if they are tensors."""
        return self.x0.device

    def take(self, rows: Any) -> Any:
        """The chosen rows themselves."""
        if is_tensor(self.x0):
            start = self.x0.index_select(0, self.rows.index_select(0, rows))
            if self.position == 0.0:
                return start
            return start.lerp_(self.x1.index_select(0, self.cols.index_select(0, rows)), self.position)
        return (1.0 - self.position) * self.x0[self.rows[rows]] + self.position * self.x1[self.cols[rows]]

    def whole(self) -> Any:
        """All rows."""
        if sp.issparse(self.x0):
            return self.take(np.arange(len(self)))
        if is_tensor(self.x0):
            return self.take(_index_on(self.x0, np.arange(len(self))))
        return self.take(slice(None))

    def with_rows(self, rows: Any, cols: Any) -> Interpolated:
        """Other pairs of the same samples."""
        return Interpolated(self.x0, self.x1, rows, cols, self.position)

    def put(self, out: Any) -> None:
        """Form all rows where there is room for them: in a tensor of any shape with a row for each."""
        import torch  # only where there are tensors already

        start = self.x0.index_select(0, self.rows).view(out.shape)
        if self.position == 0.0:
            out.copy_(start)
        else:
            torch.lerp(start, self.x1.index_select(0, self.cols).view(out.shape), self.position, out=out)

    def select(self, rows: Any) -> Interpolated:
        """The chosen rows, still to be formed."""
        chosen = _index_on(self.x0, rows) if is_tensor(self.x0) else rows
        return Interpolated(self.x0, self.x1, self.rows[chosen], self.cols[chosen], self.position)


def _index_on(samples: Any, rows: Any) -> Any:
    """Row numbers as a tensor beside the samples."""
    import torch  # only where there are tensors already

    if isinstance(rows, torch.Tensor):
        return rows.to(samples.device)
    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64)).to(samples.device)


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

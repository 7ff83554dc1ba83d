"""Order values as what they are: ranks that compare as the values do, and a name for each distinct value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.checks import without_mask
from driftfit.domains.samples import is_missing, object_array
from driftfit.domains.words import misplaced
from driftfit.errors import InputError


@dataclass(frozen=True, eq=False)
class Ranked:
    """Values put in order.

    ``ranks``: place of each row's value among the distinct ones. ``values``: the distinct values, ascending; all
    categories, used or not, where they are categories. ``closed``: whether they are categories, so that no other value
    has a place.
    """

    ranks: NDArray[np.int64]
    values: tuple[Any, ...]
    closed: bool = False

    @property
    def used(self) -> list[int]:
        """Ranks that occur, ascending."""
        return [int(place) for place in np.unique(self.ranks)]

    def span(self, rows: NDArray[np.int64]) -> str:
        """The lowest and the highest value of some rows, as a name."""
        low, high = (value_name(self.values[place]) for place in (self.ranks[rows].min(), self.ranks[rows].max()))
        return low if low == high else f"{low}..{high}"

    def place(self, value: Any) -> int:
        """How many distinct values come before one."""
        if self.closed:
            names = [value_name(known) for known in self.values]
            if value_name(value) not in names:
                raise InputError(f"{value!r} is none of the ordered categories {', '.join(names[:10])}")
            return names.index(value_name(value))
        try:
            return bisect_left(self.values, value)
        except TypeError as error:
            raise InputError(f"{value!r} cannot be compared with the order values ({error})") from None


def rank(values: Any, who: str, remedy: str = "use one sortable type, such as the year") -> Ranked:
    """Put values in order: categories by their own order, everything else as it compares.

    ``who`` and ``remedy``: how messages call them, and what to do about values without an order.

    >>> rank([2**62 + 1, 2**62, 2**62 + 1], "year").values
    (4611686018427387904, 4611686018427387905)
    """
    categories = category_ranks(values)
    if categories is not None:
        ranks, names = categories
        return Ranked(ranks, tuple(names), closed=True)
    array = values if isinstance(values, np.ndarray) else object_array(values)
    if array.dtype.kind in "biufmMUS":
        distinct, inverse = np.unique(array, return_inverse=True)
        _check_words(distinct, who)
        return Ranked(np.asarray(inverse, dtype=np.int64), tuple(distinct))
    items = array.tolist()
    try:
        if any(isinstance(item, complex) for item in items):
            raise TypeError("complex numbers have no order")  # numpy would compare the real parts first
        ordered = sorted(set(items))
    except TypeError as error:
        raise InputError(f"the values of {who} cannot be put in order ({error}); {remedy}") from None
    _check_words(ordered, who)
    place = {value: number for number, value in enumerate(ordered)}
    return Ranked(np.array([place[value] for value in items], dtype=np.int64), tuple(ordered))


def _check_words(ordered: Iterable[Any], who: str) -> None:
    """Raise where values are text, and their order as words may not be the order that they speak of.

    >>> _check_words(["2023-10-02", "2023-10-27", "2024-01-01"], "day")
    >>> _check_words(["month 10", "month 2"], "month")
    Traceback (most recent call last):
        ...
    driftfit.errors.InputError: month is text, and as far as can be told its order as words is not that of time or \
numbers: 'month 10' comes before 'month 2'; write dates as 2023-10-27 and numbers with leading zeros or as numbers, or \
give the order: --order-words first,second,... or ordered categories
    """
    words = list(ordered)
    if not all(isinstance(value, str) or (isinstance(value, bytes) and value.isascii()) for value in words):
        return
    pair = misplaced([value_name(value) for value in words])
    if pair is not None:
        raise InputError(
            f"{who} is text, and as far as can be told its order as words is not that of time or numbers: "
            f"{pair[0]!r} comes before {pair[1]!r}; write dates as 2023-10-27 and numbers with leading zeros or as "
            "numbers, or give the order: --order-words first,second,... or ordered categories"
        )


def category_ranks(values: Any) -> tuple[NDArray[np.int64], list[Any]] | None:
    """Ranks and categories where values are ordered categories of pandas, polars or pyarrow; None elsewhere.

    Missing values have the rank -1.
    """
    if getattr(getattr(values, "type", None), "ordered", False) and hasattr(values, "to_pandas"):
        values = values.to_pandas()  # a dictionary of pyarrow
    dtype: Any = getattr(values, "dtype", None)
    if not hasattr(dtype, "categories"):
        return None
    if getattr(dtype, "ordered", False):
        codes = values.cat.codes if hasattr(values, "cat") else values.codes
        return np.asarray(codes, dtype=np.int64), list(dtype.categories)
    if type(dtype).__name__ == "Enum":  # polars knows an order for these alone
        return np.asarray(values.to_physical().cast(int).fill_null(-1).to_numpy(), np.int64), list(dtype.categories)
    return None


def value_name(value: Any) -> str:
    """A value in words: all digits of a number, the day alone of a date at midnight.

    >>> value_name(2**62), value_name(np.datetime64("2020-01-01T00:00:00", "ns")), value_name(b"abc")
    ('4611686018427387904', '2020-01-01', 'abc')
    """
    if isinstance(value, np.datetime64):
        whole, _, part = str(value).partition(".")
        return (f"{whole}.{part}" if part.strip("0") else whole).removesuffix("T00:00:00")
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


def order_values(values: Any, n: int, name: str) -> Any:
    """Order values of ``n`` samples, nothing missing, in whatever container keeps their order."""
    ranks = category_ranks(values)
    if ranks is not None:
        shape: tuple[int, ...] = ranks[0].shape
        missing = ranks[0] < 0
    else:
        # np.asarray would turn [1, "a"] into text and hide that it cannot be ordered.
        plain = without_mask(values)
        array = np.asarray(plain) if hasattr(plain, "dtype") else plain
        values = array if isinstance(array, np.ndarray) and array.dtype.kind != "O" else object_array(array)
        values = values.ravel() if values.shape == (n, 1) else values
        shape, missing = values.shape, is_missing(values)
    if shape != (n,):
        raise InputError(f"{name} must have one entry for each of the {n} samples, got shape {shape}")
    if missing.any():
        raise InputError(f"{name} is missing for {int(missing.sum())} of {n} samples; drop them or fill it in")
    return values

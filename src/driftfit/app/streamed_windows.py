"""Windows of a table that is not held in memory: the order column is read in parts, as often as needed.

The same windows as `cut_windows` makes, exactly: quantiles are found by counting keys of 16 bits at a time. What is
kept of each row is one byte, the number of its window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.windows import (
    FEWEST_ROWS,
    MOST_WINDOWS,
    ByCalendar,
    Window,
    as_dates,
    check_rule,
    comparable,
    exact_number,
    joined_groups,
    window_names,
)
from driftfit.domains import ByEdges, ByQuantile, ByValue
from driftfit.domains.windows import Windows
from driftfit.errors import InputError

# Reads the order column from its beginning, a part at a time.
Parts = Callable[[], Iterator[pd.Series]]
Values = NDArray[Any]
Streamable = ByQuantile | ByEdges | ByValue | ByCalendar

_BITS = 16
_MISSING = -1


def can_stream(rule: Windows) -> TypeGuard[Streamable]:
    """Whether windows of this rule can be cut in parts."""
    return isinstance(rule, ByQuantile | ByEdges | ByValue | ByCalendar)


def stream_windows(parts: Parts, n_rows: int, rule: Streamable, who: str) -> tuple[list[Window], list[str]]:
    """`cut_windows` for a column of numbers or dates that is read in parts."""
    check_rule(rule, who)

    def values() -> Iterator[tuple[NDArray[np.bool_], Values]]:
        for part in parts():
            known = ~np.asarray(part.isna())
            yield known, comparable(part[known], who) if known.any() else np.empty(0)

    seen = _Seen()
    for known, own in values():
        seen.add(own, int(len(known) - len(own)))
    if seen.n_known == 0:
        raise InputError(f"{who} has no values; choose another order column")
    said = [f"{seen.n_missing} rows without a value of {who} were left out"] if seen.n_missing else []
    if seen.low == seen.high:
        name = window_names([(seen.low, seen.low)])[0]
        raise InputError(f"{who} is constant ({name}); the order column must vary")
    coder = _coder(rule, values, seen, who)
    codes = np.full(n_rows, _MISSING, dtype=np.int16)
    groups: dict[int, _Seen] = {}
    start = 0
    for known, own in values():
        part = codes[start : start + len(known)]
        if len(own):
            part[known] = coder.of(own)
            for code in np.unique(part[known]):
                groups.setdefault(int(code), _Seen()).add(own[part[known] == code], 0)
        start += len(known)
    return _named(rule, coder, codes, groups, said, who)


@dataclass(eq=False)
class _Seen:
    """How many values there are, and the ends of them."""

    n_known: int = 0
    n_missing: int = 0
    low: Any = None
    high: Any = None

    def add(self, values: Values, n_missing: int) -> None:
        self.n_missing += n_missing
        if len(values):
            self.n_known += len(values)
            low, high = values.min(), values.max()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)


@dataclass(eq=False)
class _ByStarts:
    """Windows that begin at some values; a row belongs to the last one that it has reached."""

    starts: Values

    def of(self, values: Values) -> NDArray[np.int64]:
        return np.searchsorted(self.starts, values, side="right")

    def order(self, codes: list[int]) -> list[int]:
        return sorted(codes)

    def name(self, code: int) -> str:
        return ""


@dataclass(eq=False)
class _ByKey:
    """A window for each distinct value, or for each period of a calendar, numbered as they come."""

    calendar: ByCalendar | None
    who: str
    known: dict[Any, int] = field(default_factory=dict)

    def of(self, values: Values) -> NDArray[np.int64]:
        keys: Any = values if self.calendar is None else self.calendar.periods(values)
        own, distinct = pd.factorize(keys)
        places = [self.known.setdefault(key, len(self.known)) for key in distinct]
        if len(self.known) > MOST_WINDOWS:
            raise InputError(f"{self.who} gives more than {MOST_WINDOWS} windows; ask for fewer with --windows")
        return np.asarray(places)[own]

    def order(self, codes: list[int]) -> list[int]:
        return [self.known[key] for key in sorted(self.known)]

    def name(self, code: int) -> str:
        return next(str(key) for key, own in self.known.items() if own == code)


def _coder(rule: Streamable, values: Any, seen: _Seen, who: str) -> _ByStarts | _ByKey:
    if isinstance(rule, ByCalendar):
        return _ByKey(rule, who)
    if isinstance(rule, ByValue):
        return _ByKey(None, who)
    if isinstance(rule, ByEdges):
        return _ByStarts(np.array(sorted({_edge(edge, seen.low, rule, who) for edge in rule.edges})))
    ranks = [seen.n_known * number // rule.n for number in range(1, rule.n)]
    return _ByStarts(np.unique(_ranked(lambda: (own for _, own in values()), ranks, seen.low)))


def _ranked(read: Callable[[], Iterator[Values]], ranks: list[int], like: Any) -> Values:
    """The values at some places of the sorted column, found in four passes of 16 bits each."""
    prefixes, left = [0] * len(ranks), list(ranks)
    for shift in range(64 - _BITS, -1, -_BITS):
        counts = {prefix: np.zeros(1 << _BITS, dtype=np.int64) for prefix in prefixes}
        for own in read():
            keys = _keys(own)
            high, digit = keys >> np.uint64(shift) >> np.uint64(_BITS), (keys >> np.uint64(shift)) & np.uint64(0xFFFF)
            for prefix, found in counts.items():
                mine = digit if shift == 64 - _BITS else digit[high == np.uint64(prefix)]
                found += np.bincount(mine.astype(np.int64), minlength=1 << _BITS)
        for place, prefix in enumerate(prefixes):
            ends = np.cumsum(counts[prefix])
            at = int(np.searchsorted(ends, left[place], side="right"))
            left[place] -= int(ends[at - 1]) if at else 0
            prefixes[place] = (prefix << _BITS) | at
    return _values(np.array(prefixes, dtype=np.uint64), np.asarray(like).dtype)


_SIGN = np.uint64(1 << 63)


def _keys(values: Values) -> NDArray[np.uint64]:
    """Numbers of 64 bits that compare as the values do."""
    if values.dtype.kind == "f":
        bits = values.astype(np.float64).view(np.uint64)
        return np.where(bits & _SIGN, ~bits, bits | _SIGN)
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) ^ _SIGN


def _values(keys: NDArray[np.uint64], dtype: Any) -> Values:
    if dtype.kind == "f":
        return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)
    if dtype.kind == "u":
        return keys
    whole = (keys ^ _SIGN).view(np.int64)
    return whole.view(dtype) if dtype.kind in "mM" else whole


def _edge(edge: Any, like: Any, rule: ByEdges, who: str) -> Any:
    """The least value of the column's type that has reached an edge."""
    if isinstance(like, np.datetime64):
        date = as_dates(pd.Series([str(edge)], dtype=object))
        if date.isna().any():
            raise InputError(f"{who} holds dates; give the values {list(rule.edges)!r} as dates such as 2024-01-31")
        return date.dt.tz_localize(None).to_numpy()[0]
    if isinstance(like, np.timedelta64):
        raise InputError(f"{who} holds durations; cut by --windows instead of --given")
    number = exact_number(edge) if not isinstance(edge, str) else None
    if number is None:
        raise InputError(f"{who} holds numbers; the values {list(rule.edges)!r} are not numbers")
    if isinstance(like, np.floating):
        near = float(number)
        return near if near >= number else math.nextafter(near, math.inf)
    info = np.iinfo(np.asarray(like).dtype)
    # Beyond the type nothing, or everything, has reached it; the highest value alone is taken for both.
    return np.asarray(like).dtype.type(min(max(math.ceil(number), info.min), info.max))


def _named(
    rule: Windows, coder: _ByStarts | _ByKey, codes: Any, groups: dict[int, _Seen], said: list[str], who: str
) -> tuple[list[Window], list[str]]:
    """Codes in order and merged where windows are small, each with its name."""
    order = coder.order(list(groups))
    if len(order) > MOST_WINDOWS:
        raise InputError(f"{who} gives {len(order)} windows, more than {MOST_WINDOWS}; ask for fewer with --windows")
    if isinstance(rule, ByQuantile) and len(order) < rule.n:
        said.append(f"{rule.n} windows were asked for and {len(order)} made: rows of equal order stay together")
    merged = joined_groups([groups[code].n_known for code in order])
    if len(merged) < len(order):
        said.append(f"{len(order) - len(merged)} windows with fewer than {FEWEST_ROWS} rows joined a neighbour")
    if len(merged) < 2:
        raise InputError(
            f"{sum(own.n_known for own in groups.values())} rows along {who} do not fill two windows of at least "
            f"{FEWEST_ROWS} rows; give more rows or another order column"
        )
    final = np.full(max(order) + 2, _MISSING, dtype=np.int8)  # the last entry is that of missing values
    for number, places in enumerate(merged):
        for place in places:
            final[order[place]] = number
    small = final[codes]
    if isinstance(rule, ByCalendar) and len(merged) == len(order):
        names = [coder.name(code) for code in order]
    else:
        names = window_names([(groups[order[own[0]]].low, groups[order[own[-1]]].high) for own in merged])
    sizes = [sum(groups[order[place]].n_known for place in own) for own in merged]
    return [
        Window(name, None, (small, number), size) for number, (name, size) in enumerate(zip(names, sizes, strict=True))
    ], said

"""From an order column to windows: values put in order as what they are, cut, named, and merged where too small."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.domains import ByEdges, ByQuantile, ByValue
from driftfit.domains.order import Ranked, rank, value_name
from driftfit.domains.samples import object_array
from driftfit.domains.windows import Windows
from driftfit.domains.words import alphabetical, iso_date, unclear_numbers
from driftfit.errors import InputError

_PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
FEWEST_ROWS = 5
MOST_WINDOWS = 100
# How truth values are written, also by a German Excel.
TRUTH = {"true": True, "false": False, "wahr": True, "falsch": False}
_REMEDY = "choose a column of numbers, dates, words or ordered categories"


@dataclass(frozen=True, eq=False)
class Window:
    """A named group of rows."""

    name: str
    numbers: NDArray[np.int64] | None  # its rows, where they are kept
    # The window of every row of the table, and the number of this one; for tables that are not held in memory.
    coded: tuple[NDArray[np.int8], int] | None = None
    size: int = 0  # how many rows there are

    @property
    def rows(self) -> NDArray[np.int64]:
        """Its rows, ascending; looked up anew each time in a table that is not held in memory."""
        if self.coded is None:
            return np.empty(0, dtype=np.int64) if self.numbers is None else self.numbers
        return np.flatnonzero(self.coded[0] == self.coded[1])

    def __len__(self) -> int:
        return len(self.rows) if self.coded is None else self.size


@dataclass(frozen=True)
class ByCalendar:
    """One window per hour, day, week, month, quarter or year of a date column.

    >>> dates = np.array(["2024-01-05", "2024-01-20", "2024-02-01"], dtype="datetime64[ns]")
    >>> [(name, rows.tolist()) for name, rows in ByCalendar("month").cut(dates)]
    [('2024-01', [0, 1]), ('2024-02', [2])]
    """

    period: str

    def __post_init__(self) -> None:
        if self.period not in _PERIODS:
            raise InputError(f"there is no calendar period {self.period!r}; choose one of {', '.join(_PERIODS)}")

    def periods(self, order: NDArray[Any]) -> Any:
        """The period of each date."""
        if order.dtype.kind != "M":
            raise InputError(
                f"windows by {self.period} need an order column of dates, such as 2023-10-27; --window-by value makes "
                "a window of each value, --windows 5 cuts by the number of rows"
            )
        return pd.DatetimeIndex(order).to_period(_PERIODS[self.period])

    def __str__(self) -> str:
        return f"one for each {self.period}"

    def cut(self, order: NDArray[Any]) -> list[tuple[str, NDArray[np.int64]]]:
        codes, distinct = pd.factorize(self.periods(order), sort=True)
        return [(str(period), np.flatnonzero(codes == number)) for number, period in enumerate(distinct)]


def check_rule(rule: Windows, who: str) -> None:
    """Raise where so many windows are asked for that nothing is gained by looking at the rows."""
    if isinstance(rule, ByQuantile) and rule.n > MOST_WINDOWS:
        raise InputError(f"{who}: {rule.n} windows are more than {MOST_WINDOWS}; ask for fewer with --windows")


def cut_windows(order: pd.Series, rule: Windows, who: str) -> tuple[list[Window], list[str]]:
    """Cut the rows into windows along the order column; also returns sentences on what was left out or merged.

    Values are numbers, dates (time zones are brought to UTC), ordered categories, text, or whatever else Python can put
    in order.
    """
    check_rule(rule, who)
    said: list[str] = []
    missing = np.asarray(order.isna())
    if missing.all():
        raise InputError(f"{who} has no values; choose another order column")
    if missing.any():
        said.append(f"{int(missing.sum())} rows without a value of {who} were left out")
    known = np.flatnonzero(~missing)
    values = comparable(order[~missing], who)
    ranked = rank(values, who, _REMEDY)
    if len(ranked.used) < 2:
        raise InputError(f"{who} is constant ({_one(ranked.values[ranked.used[0]])}); the order column must vary")
    if not ranked.closed and isinstance(ranked.values[0], str) and alphabetical(ranked.values):
        shown = ", ".join(map(repr, ranked.values[:5])) + (", ..." if len(ranked.values) > 5 else "")
        said.append(f"{who} holds words, taken alphabetically: {shown}; --order-words gives another order")
    groups = _groups(rule, values, ranked, who)
    if isinstance(rule, ByQuantile) and len(groups) < rule.n:
        said.append(f"{rule.n} windows were asked for and {len(groups)} made: rows of equal order stay together")
    merged = [
        np.sort(np.concatenate([groups[place][1] for place in own]))
        for own in joined_groups([len(rows) for _, rows in groups])
    ]
    if len(merged) < len(groups):
        said.append(f"{len(groups) - len(merged)} windows with fewer than {FEWEST_ROWS} rows joined a neighbour")
    if len(merged) < 2:
        raise InputError(
            f"{len(known)} rows along {who} do not fill two windows of at least {FEWEST_ROWS} rows; "
            "give more rows or another order column"
        )
    calendar = isinstance(rule, ByCalendar) and len(merged) == len(groups)
    ends = [(ranked.values[ranked.ranks[rows].min()], ranked.values[ranked.ranks[rows].max()]) for rows in merged]
    names = [name for name, _ in groups] if calendar else window_names(ends)
    return [Window(name, known[rows]) for name, rows in zip(names, merged, strict=True)], said


def in_given_order(order: pd.Series, words: tuple[str, ...], who: str) -> pd.Series:
    """A column of words as categories in the order that somebody gives.

    >>> in_given_order(pd.Series(["Q1-22", "Q1-23", "Q2-22"]), ("Q1-22", "Q2-22", "Q1-23"), "order").cat.codes.tolist()
    [0, 2, 1]
    """
    names = {value: value_name(exact_number(value) if isinstance(value, float) else value) for value in order.unique()}
    strange = [name for value, name in names.items() if not pd.isna(value) and name not in words]
    if strange:
        raise InputError(
            f"{who} has the value {strange[0]!r}, which is not among the order words {', '.join(words)}; name each one"
        )
    texts = [None if pd.isna(value) else names[value] for value in order]
    return pd.Series(pd.Categorical(texts, categories=list(words), ordered=True), index=order.index)


def parse_values(text: str) -> tuple[Any, ...]:
    """Comma-separated values: numbers where all are numbers, text otherwise.

    >>> parse_values("1990, 2000.5"), parse_values("2024-01-01,2024-06-01")
    ((1990, 2000.5), ('2024-01-01', '2024-06-01'))
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"no values in {text!r}; separate them by commas")
    numbers = tuple(exact_number(part) for part in parts)
    return tuple(parts) if any(number is None for number in numbers) else numbers


def exact_number(value: Any) -> Any:
    """A number with all its digits, also of text; None where it is none, or not finite.

    >>> exact_number("9007199254740993"), exact_number("2.0"), exact_number("1e400"), exact_number("week 3")
    (9007199254740993, 2, None, None)
    """
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,4000}\s*", value):
        return int(value)
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return value if value.is_finite() else None
    if not isinstance(value, str | float | np.floating) or "_" in str(value):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def as_dates(values: pd.Series) -> pd.Series:
    """Dates in UTC; what is no date, or may be more than one, is missing. Time zones may be mixed, none means UTC.

    >>> as_dates(pd.Series(["2024-01-31", "31.01.2024 12:00", "1/2/2024", "2024-01-31 09:00 PST"])).dt.day.tolist()
    [31.0, 31.0, nan, nan]
    """
    plain = [iso_date(v) if isinstance(v, str) else None if isinstance(v, int | float) else v for v in values]
    try:
        dates = pd.to_datetime(
            pd.Series(plain, values.index, dtype=object), utc=True, errors="coerce", format="ISO8601"
        ).dt.as_unit("ns")
    except (ValueError, TypeError, OverflowError, AttributeError):
        dates = pd.Series(pd.NaT, index=values.index).dt.tz_localize("UTC")
    assert isinstance(dates, pd.Series)
    return dates


def comparable(order: pd.Series, who: str) -> Any:
    """The column as numbers or dates where it holds them, and as what it is elsewhere."""
    if isinstance(order.dtype, pd.CategoricalDtype) and order.dtype.ordered:
        return order
    if isinstance(order.dtype, pd.DatetimeTZDtype):
        return order.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if order.dtype.kind in "mM":
        return order.to_numpy()
    if pd.api.types.is_bool_dtype(order.dtype):
        return order.to_numpy(np.int64)
    if order.dtype.kind in "iu":
        return order.to_numpy(np.uint64 if order.dtype.kind == "u" else np.int64)
    if order.dtype.kind == "f":
        values = order.to_numpy(np.float64) + 0.0  # both zeros are one value
        if not np.isfinite(values).all():
            raise InputError(f"{who} holds infinity; drop these rows")
        return values
    items = object_array(order.astype(object).to_numpy())
    if any(isinstance(item, list | dict | set | np.ndarray | complex) for item in items):
        raise InputError(f"{who} holds lists, records or complex numbers, which have no order; {_REMEDY}")
    # The first value tells most columns of dates and words apart from numbers.
    if exact_number(items[0]) is not None:
        numbers = {item: exact_number(item) for item in set(items)}
        if unclear_numbers([item for item in numbers if isinstance(item, str)]):
            return items
        if all(number is not None for number in numbers.values()):
            return object_array([numbers[item] for item in items])
    dates = as_dates(order.astype(object))
    if dates.notna().all():
        return dates.dt.tz_localize(None).to_numpy()
    return items


def _groups(rule: Windows, values: Any, ranked: Ranked, who: str) -> list[tuple[str, NDArray[np.int64]]]:
    """The rows of each window, in order; only calendars look at more than the ranks."""
    if isinstance(rule, ByCalendar):
        cut = rule.cut(values if isinstance(values, np.ndarray) else ranked.ranks)
    elif isinstance(rule, ByValue) and len(ranked.used) > MOST_WINDOWS:
        raise InputError(
            f"{who} gives {len(ranked.used)} windows, more than {MOST_WINDOWS}; ask for fewer with --windows"
        )
    else:
        cut = (ByEdges(_edges(rule, ranked, who)) if isinstance(rule, ByEdges) else rule).cut(ranked.ranks)
    groups = [(name, rows) for name, rows in cut if len(rows)]
    if len(groups) > MOST_WINDOWS:
        raise InputError(f"{who} gives {len(groups)} windows, more than {MOST_WINDOWS}; ask for fewer with --windows")
    return groups


def _edges(rule: ByEdges, ranked: Ranked, who: str) -> list[int]:
    """The edges as ranks."""
    first = ranked.values[0]
    if ranked.closed:
        return [ranked.place(edge) for edge in rule.edges]
    if isinstance(first, np.datetime64):
        dates = as_dates(pd.Series([str(edge) for edge in rule.edges], dtype=object))
        if dates.isna().any():
            raise InputError(f"{who} holds dates; give the values {list(rule.edges)!r} as dates such as 2024-01-31")
        return [ranked.place(edge) for edge in dates.dt.tz_localize(None).to_numpy()]
    if isinstance(first, np.timedelta64):
        raise InputError(f"{who} holds durations; cut by --windows instead of --given")
    if isinstance(first, str):
        return [ranked.place(str(edge)) for edge in rule.edges]
    numbers = [exact_number(edge) if not isinstance(edge, str) else None for edge in rule.edges]
    if any(number is None for number in numbers):
        raise InputError(f"{who} holds numbers; the values {list(rule.edges)!r} are not numbers")
    return [ranked.place(number) for number in numbers]


def joined_groups(sizes: list[int]) -> list[list[int]]:
    """Windows by place, where those that are too small join the one before; the first joins the one after.

    >>> joined_groups([9, 2, 9, 9]), joined_groups([1, 9])
    ([[0, 1], [2], [3]], [[0, 1]])
    """
    merged: list[list[int]] = []
    total = 0
    for place, size in enumerate(sizes):
        if merged and (size < FEWEST_ROWS or total < FEWEST_ROWS):
            merged[-1].append(place)
            total += size
        else:
            merged.append([place])
            total = size
    return merged


def window_names(ends: list[tuple[Any, Any]]) -> list[str]:
    """The first and the last value of each window; with all digits where fewer would give two the same name."""
    shown = [value for pair in ends for value in dict.fromkeys(pair)]
    short = len({_one(value) for value in shown}) == len(shown)
    names = [tuple(dict.fromkeys(_one(value) if short else value_name(value) for value in pair)) for pair in ends]
    return ["..".join(pair) for pair in names]


def _one(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value).isoformat().removesuffix("T00:00:00")
    if isinstance(value, np.timedelta64):
        return str(pd.Timedelta(value))
    return f"{float(value):.10g}" if isinstance(value, float | np.floating) else value_name(value)

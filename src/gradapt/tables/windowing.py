"""From an order column to windows: values that can be compared, cut, named, and merged where they are too small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradapt.domains import ByEdges
from gradapt.domains.windows import Windows
from gradapt.errors import InputError

__all__ = ["ByCalendar", "Window", "cut_windows", "parse_values"]

_PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
_FEWEST_ROWS = 5
_MOST_WINDOWS = 100


@dataclass(frozen=True)
class Window:
    """A named group of rows."""

    name: str
    rows: NDArray[np.int64]


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

    def cut(self, order: NDArray[Any]) -> list[tuple[str, NDArray[np.int64]]]:
        if order.dtype.kind != "M":
            raise InputError(f"windows by {self.period} need an order column of dates; cut by --windows instead")
        periods = pd.DatetimeIndex(order).to_period(_PERIODS[self.period])
        codes, distinct = pd.factorize(periods, sort=True)
        return [(str(period), np.flatnonzero(codes == number)) for number, period in enumerate(distinct)]


def cut_windows(order: pd.Series, rule: Windows, who: str) -> tuple[list[Window], list[str]]:
    """Cut the rows into windows along the order column; also returns sentences on what was left out or merged.

    Parameters
    ----------
    order : Series
        One value per row: numbers, dates (time zones are brought to UTC) or text.
    rule : Windows
        `ByQuantile`, `ByValue`, `ByEdges`, `ByCount` or `ByCalendar`.
    who : str
        How messages call the column.
    """
    said: list[str] = []
    missing = np.asarray(order.isna())
    if missing.all():
        raise InputError(f"{who} has no values; choose another order column")
    if missing.any():
        said.append(f"{int(missing.sum())} rows without a value of {who} were left out")
    known = np.flatnonzero(~missing)
    values, texts = _comparable(order[~missing], who)
    if isinstance(rule, ByEdges):
        rule = ByEdges(_edges(rule, values, texts, who))
    if len(values) < 2 or (values == values[0]).all():
        raise InputError(f"{who} is constant ({_name(values[:1], texts)}); the order column must vary")
    groups = [(name, rows) for name, rows in rule.cut(values) if len(rows)]
    if len(groups) > _MOST_WINDOWS:
        raise InputError(f"{who} gives {len(groups)} windows, more than {_MOST_WINDOWS}; ask for fewer with --windows")
    merged = _merge_small([rows for _, rows in groups])
    if len(merged) < len(groups):
        said.append(f"{len(groups) - len(merged)} windows with fewer than {_FEWEST_ROWS} rows joined a neighbour")
    if len(merged) < 2:
        raise InputError(
            f"{len(values)} rows along {who} do not fill two windows of at least {_FEWEST_ROWS} rows; "
            "give more rows or another order column"
        )
    calendar = isinstance(rule, ByCalendar) and len(merged) == len(groups)
    names = [name for name, _ in groups] if calendar else [_name(values[rows], texts) for rows in merged]
    return [Window(name, known[rows]) for name, rows in zip(names, merged, strict=True)], said


def parse_values(text: str) -> tuple[Any, ...]:
    """Comma-separated values: numbers where all are numbers, text otherwise.

    >>> parse_values("1990, 2000"), parse_values("2024-01-01,2024-06-01")
    ((1990.0, 2000.0), ('2024-01-01', '2024-06-01'))
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"no values in {text!r}; separate them by commas")
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        return tuple(parts)


def _comparable(order: pd.Series, who: str) -> tuple[NDArray[Any], list[str] | None]:
    """The column as numbers or dates; text becomes its place in the alphabet, and the words are returned."""
    if isinstance(order.dtype, pd.DatetimeTZDtype):
        return np.asarray(order.dt.tz_convert("UTC").dt.tz_localize(None), dtype="datetime64[ns]"), None
    if order.dtype.kind == "M":
        return np.asarray(order, dtype="datetime64[ns]"), None
    if pd.api.types.is_bool_dtype(order.dtype) or order.dtype.kind in "iufm":
        values = np.asarray(order, dtype=np.float64)
        if not np.isfinite(values).all():
            raise InputError(f"{who} holds infinity; drop these rows")
        return values, None
    text = order.astype(object)
    numbers = pd.to_numeric(text.map(_plain), errors="coerce")
    if numbers.notna().all() and np.isfinite(numbers.to_numpy(np.float64)).all():
        return numbers.to_numpy(np.float64), None
    dates = as_dates(text)
    if dates.notna().all():
        return np.asarray(dates.dt.tz_localize(None), dtype="datetime64[ns]"), None
    words, codes = np.unique(text.map(str).to_numpy(dtype=str), return_inverse=True)
    return codes.astype(np.float64), [str(word) for word in words]


def as_dates(values: pd.Series) -> pd.Series:
    """Dates in UTC; what is not an ISO date is missing. Time zones may be mixed, none means UTC."""
    looks = values.map(lambda value: not isinstance(value, str) or (len(value) >= 8 and value[:4].isdigit()))
    kept = values.where(looks.astype(bool) & ~values.map(lambda v: isinstance(v, int | float | bool)))
    try:
        dates = pd.to_datetime(kept, utc=True, errors="coerce", format="mixed").dt.as_unit("ns")
    except (ValueError, TypeError, OverflowError, AttributeError):
        dates = pd.Series(pd.NaT, index=values.index).dt.tz_localize("UTC")
    assert isinstance(dates, pd.Series)
    return dates


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)


def _edges(rule: ByEdges, values: NDArray[Any], texts: list[str] | None, who: str) -> list[Any]:
    """The edges in the same terms as the column."""
    if texts is not None:
        return [float(np.searchsorted(texts, str(edge))) for edge in rule.edges]
    if values.dtype.kind == "M":
        dates = as_dates(pd.Series([str(edge).removesuffix(".0") for edge in rule.edges], dtype=object))
        if dates.isna().any():
            raise InputError(f"{who} holds dates; give the values {list(rule.edges)!r} as dates such as 2024-01-31")
        return list(np.asarray(dates.dt.tz_localize(None), dtype="datetime64[ns]"))
    if not all(isinstance(edge, int | float) for edge in rule.edges):
        raise InputError(f"{who} holds numbers; the values {list(rule.edges)!r} are not numbers")
    return [float(edge) for edge in rule.edges]


def _merge_small(groups: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Windows that are too small join the one before; the first joins the one after."""
    merged: list[NDArray[np.int64]] = []
    for rows in groups:
        if merged and (len(rows) < _FEWEST_ROWS or len(merged[-1]) < _FEWEST_ROWS):
            merged[-1] = np.sort(np.concatenate([merged[-1], rows]))
        else:
            merged.append(rows)
    return merged


def _name(values: NDArray[Any], texts: list[str] | None) -> str:
    low, high = (_one(value, texts) for value in (values.min(), values.max()))
    return low if low == high else f"{low}..{high}"


def _one(value: Any, texts: list[str] | None) -> str:
    if texts is not None:
        return texts[int(value)]
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value).isoformat().removesuffix("T00:00:00")
    return f"{float(value):.10g}"

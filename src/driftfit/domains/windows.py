"""From a data frame with a label and an order column to a `DomainSequence`.

Windows are frozen values: `ByValue()`, `ByQuantile(n)`, `ByEdges(edges)`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftfit.domains.domain import Domain
from driftfit.domains.order import category_ranks, rank, value_name
from driftfit.domains.samples import is_missing, object_array, without_marks
from driftfit.domains.sequence import DomainSequence, sorted_domains
from driftfit.errors import InputError
from driftfit.extras import need

Cut = list[tuple[str, NDArray[np.int64]]]


class Windows(Protocol):
    """A frozen value that cuts an order column into named groups of rows."""

    def cut(self, order: NDArray[Any]) -> Cut: ...


@dataclass(frozen=True)
class ByValue:
    """One window for each distinct value of the order column."""

    def __str__(self) -> str:
        return "one for each value"

    def cut(self, order: NDArray[Any]) -> Cut:
        return sorted_domains(order, len(order))


@dataclass(frozen=True)
class ByQuantile:
    """``n`` windows of nearly equal size; rows with equal order values stay together."""

    n: int = 5

    def __post_init__(self) -> None:
        _check_at_least(self.n, 2, "the number of windows")

    def __str__(self) -> str:
        return f"{self.n} with equally many rows"

    def cut(self, order: NDArray[Any]) -> Cut:
        ranked = np.sort(order, kind="stable")
        n = min(self.n, len(ranked))  # more windows than rows are one for each row
        starts = [ranked[len(ranked) * i // n] for i in range(1, n)]
        return _cut_at(order, starts)


@dataclass(frozen=True)
class ByEdges:
    """Windows that begin at the given values of the order column; the first begins at the lowest row."""

    edges: Sequence[Any]

    def __str__(self) -> str:
        return f"beginning at {', '.join(map(str, self.edges))}"

    def cut(self, order: NDArray[Any]) -> Cut:
        return _cut_at(order, list(self.edges))


def from_table(
    table: Any, *, label: str, order: str, windows: Windows | None = None, weight: str | None = None
) -> DomainSequence:
    """Cut a data frame (pandas, polars, pyarrow, ...) into a sequence of domains.

    ``table``: features, one label column and one order column; labels may be missing anywhere. ``label`` and ``order``:
    names of the columns. Neither is a feature. ``windows``: `ByQuantile(5)` by default. ``weight``: name of a column of
    sample weights.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, None, None], "year": [1, 1, 2, 2]})
    >>> [domain.name for domain in from_table(table, label="y", order="year", windows=ByValue())]
    ['1', '2']
    """
    need("narwhals", "tables", "DomainSequence.from_table")
    import narwhals.stable.v1 as nw

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise InputError(f"table must be a data frame, got {type(table).__name__}; pandas.DataFrame(...) makes one")
    for column in (label, order) if weight is None else (label, order, weight):
        if column not in frame.columns:
            raise InputError(f"the table has no column {column!r}; it has {', '.join(map(str, frame.columns))}")
    if label == order:
        raise InputError(f"label and order must be two columns, got {label!r} for both")
    features = frame.drop([column for column in (label, order, weight) if column is not None])
    if not features.columns:
        raise InputError("the table has no feature column besides label and order")
    groups = _cut_column(frame.get_column(order), ByQuantile() if windows is None else windows, f"column {order!r}")
    labels = without_marks(_column(frame.get_column(label)), groups[0][1])
    weights = None if weight is None else _column(frame.get_column(weight))
    samples = _feature_samples(features)
    domains: list[Domain] = []
    for name, rows in groups:
        domains.append(
            Domain(
                samples[rows] if isinstance(samples, np.ndarray) else nw.to_native(features[rows.tolist()]),
                labels=labels[rows],
                weights=None if weights is None else weights[rows],
                name=name,
            )
        )
    return DomainSequence(domains)


def _feature_samples(features: Any) -> NDArray[np.float64] | None:
    """All features as one float array, or None where a column is not numeric."""
    if all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in features.schema.values()):
        return np.column_stack([features.get_column(name).to_numpy().astype(np.float64) for name in features.columns])
    return None


def _column(series: Any) -> NDArray[Any]:
    """A column as an array; whole numbers beside gaps stay whole numbers, and 2**53 + 1 stays what it is."""
    if series.dtype.is_integer() and series.null_count():
        return object_array(series.to_list())
    return np.asarray(series.to_numpy())


def _cut_column(series: Any, windows: Windows, who: str) -> Cut:
    """Cut along a column; what numpy does not order as it should is cut along its ranks."""
    native = series.to_native()
    ranks = category_ranks(native)
    values = _column(series)
    missing = is_missing(values) if ranks is None else ranks[0] < 0
    if missing.any():
        raise InputError(f"{who} is missing in {int(missing.sum())} rows; drop or fill them")
    if ranks is None and values.dtype.kind in "biufmM":
        return windows.cut(values)
    remedy = "choose a column of numbers, dates, words or ordered categories"
    order = rank(native if ranks is not None else object_array(values), who, remedy)
    if isinstance(windows, ByEdges):
        windows = ByEdges([order.place(edge) for edge in windows.edges])
    return [(order.span(rows), rows) for _, rows in windows.cut(order.ranks)]


def _cut_at(order: NDArray[Any], starts: list[Any]) -> Cut:
    """Rows grouped by how many of the starting values they have reached."""
    try:
        number = _reached(order, starts)
    except TypeError as error:
        raise InputError(f"the order column cannot be compared with the edges {starts!r} ({error})") from None
    groups = [np.flatnonzero(number == i) for i in np.unique(number)]
    if len(groups) < 2:
        raise InputError(
            f"the order column gives a single window (values {value_name(order.min())} to "
            f"{value_name(order.max())}, windows begin at {', '.join(map(value_name, starts))}); it must vary: choose "
            "another column, other beginnings, more windows, or windows of a number of rows"
        )
    return [(_span(order, rows), rows) for rows in groups]


def _reached(order: NDArray[Any], starts: list[Any]) -> NDArray[np.int64]:
    if order.dtype.kind not in "iu":
        return np.asarray(np.searchsorted(np.array(sorted(set(starts))), order, side="right"))
    # Compared as Python's numbers: numpy would bring signed, unsigned and float ones to floats first.
    edges = sorted({start.item() if isinstance(start, np.generic) else start for start in starts})
    distinct, inverse = np.unique(order, return_inverse=True)
    return np.array([bisect_right(edges, value) for value in distinct.tolist()], dtype=np.int64)[inverse]


def _span(order: NDArray[Any], rows: NDArray[np.int64]) -> str:
    low, high = order[rows].min(), order[rows].max()
    return value_name(low) if low == high else f"{value_name(low)}..{value_name(high)}"


def _check_at_least(value: int, least: int, name: str) -> None:
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value!r}")

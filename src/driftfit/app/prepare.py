"""From a table and settings to numbers: windows, labels, samples, preprocessing, domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import ColumnPlan, as_matrix, conform, make_preprocessing, plan_columns
from driftfit.app.labels import Labels, read_labels, stream_labels
from driftfit.app.read import Table
from driftfit.app.settings import Column, FilePosition, Settings
from driftfit.app.streamed_windows import can_stream, stream_windows
from driftfit.app.windows import Window, cut_windows
from driftfit.domains import Domain, DomainSequence, some_rows
from driftfit.domains.windows import Windows
from driftfit.errors import InputError
from driftfit.methods import Transport
from driftfit.seeds import derive_seed

__all__ = ["Prepared", "prepare"]

# Rows that models are trained on, over all windows: a million rows of 50 columns are 400 MB.
_MOST_ROWS = 500_000
_PART_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready to be adapted along."""

    windows: list[Window]  # all rows of each window
    plans: tuple[ColumnPlan, ...]
    preprocessing: Any  # fitted on the features of all windows
    training: DomainSequence  # samples that models are trained on
    sample: DomainSequence  # fewer samples, for transport and checks
    source_rows: NDArray[np.int64]  # rows of the table that the source and the target of ``training`` hold
    target_rows: NDArray[np.int64]
    boolean: bool  # whether the labels were true and false
    sampled: list[str]  # sentences on what was left out
    features: tuple[str, ...] = ()  # columns that may be features
    in_order: bool = False  # whether the rows of every window stand in their order, none left out
    target_labels: bool = False  # whether labels of the last window may be used as well
    # All labelled rows of the first window, where the table is not held in memory and the model can take them.
    labelled: Labels | None = None


def prepare(table: Table, settings: Settings) -> Prepared:
    """Cut, sample and preprocess; labels after the first window are never looked at."""
    names = _features(table, settings)
    windows, said, sorted_rows = _windows(table, settings)
    windows, target_labels = _joined(windows, settings.labels_until, said)
    labels, more = _labels(table, settings, windows[0], later=not target_labels)
    said += more
    everything = labels if windows[0].coded is not None and hasattr(settings.model, "partial_fit") else None
    parts, labels = _sampled_rows(windows, labels, settings, said)
    whole = all(len(part) == len(window) for part, window in zip(parts, windows, strict=True))
    frame, chosen = _gather(table, parts, names)
    coded = _known(table, settings.categorical, "categorical")
    plans = plan_columns(frame, keep_constant=table.image_shape is not None, categorical=coded)
    conformed = conform(frame, plans)
    preprocessing = make_preprocessing(plans, scale=table.image_shape is None).fit(conformed)
    matrix = as_matrix(preprocessing, conformed)
    groups = None if settings.group is None else _gather(table, parts, [settings.group])[0][settings.group].to_numpy()
    domains = []
    for number, (window, rows) in enumerate(zip(windows, parts, strict=True)):
        place = np.searchsorted(chosen, rows)
        own = None if groups is None else groups[place]
        known = labels.values if number == 0 else None
        domains.append(Domain(matrix[place], labels=known, name=window.name, groups=own))
    training = DomainSequence(domains)
    # The same rows that plans are made between.
    sample = training.each(Transport(max_samples=settings.limits.transport, seed=settings.seed).sampled)
    said += _sampling("plans and checks looked at", settings.limits.transport, [len(domain) for domain in training])
    return Prepared(
        windows, plans, preprocessing, training, sample, parts[0], parts[-1], labels.boolean, said,
        tuple(names), sorted_rows and whole, target_labels, everything,
    )  # fmt: skip


def _features(table: Table, settings: Settings) -> list[str]:
    """The feature columns, once it is clear that there are rows, a label and an order."""
    ordering = [settings.order.name] if isinstance(settings.order, Column) else []
    for column in (settings.label, *ordering):
        if column not in table.names:
            shown = ", ".join(table.names[:10]) + (", ..." if len(table.names) > 10 else "")
            raise InputError(f"the table has no column {column!r}; it has {shown or 'none'}")
    if table.n_rows == 0:
        raise InputError("the table has no rows")
    hidden = _known(table, settings.drop, "drop")
    if settings.in_use is not None:
        hidden += _known(table, settings.in_use.hidden, "the model in use")
    grouping = () if settings.group is None else _known(table, (settings.group,), "group")
    features = table.features(settings.label, *ordering, *hidden, *grouping)
    if not features:
        raise InputError("the table has no feature column besides label and order")
    return features


def _windows(table: Table, settings: Settings) -> tuple[list[Window], list[str], bool]:
    """Windows along the order, read in parts where the table is long; and whether rows are known to stand in it."""
    rule = settings.windows
    if isinstance(settings.order, Column):
        name = settings.order.name
        who = f"order column {name!r}"
        if can_stream(rule) and table.streams(name, ordered=True):
            # So many rows are sampled, and a sample does not stand row by row.
            return *stream_windows(lambda: table.parts(name), table.n_rows, rule, who), False
        order = table.columns([name])[name].reset_index(drop=True)
        return *cut_windows(order, rule, who), bool(order.dropna().is_monotonic_increasing)
    if isinstance(settings.order, FilePosition):
        if len(table.files) < 2:
            raise InputError("one file is one snapshot; give several files, or the column that orders the rows")
        ends = np.cumsum([file.rows for file in table.files])
        return _by_place(lambda rows: np.searchsorted(ends, rows, side="right"), table, rule, "the file number")
    return _by_place(lambda rows: rows, table, rule, "the row position")


def _by_place(
    number: Callable[[NDArray[np.int64]], NDArray[np.int64]], table: Table, rule: Windows, who: str
) -> tuple[list[Window], list[str], bool]:
    """Windows by a number that follows from the place of a row."""
    if not (can_stream(rule) and table.streams(table.names[0])):
        return *cut_windows(pd.Series(number(np.arange(table.n_rows))), rule, who), True

    def parts() -> Iterator[pd.Series]:
        for start in range(0, table.n_rows, _PART_ROWS):
            yield pd.Series(number(np.arange(start, min(start + _PART_ROWS, table.n_rows))))

    return *stream_windows(parts, table.n_rows, rule, who), True


def _labels(table: Table, settings: Settings, first: Window, *, later: bool) -> tuple[Labels, list[str]]:
    name = settings.label
    who = f"label column {name!r}"
    if first.coded is not None and table.streams(name):
        codes, number = first.coded
        return stream_labels(table.parts(name), codes == number, who, guessed=table.guessed, later=later)
    return read_labels(table.columns([name])[name], first.rows, who, guessed=table.guessed, later=later)


def _known(table: Table, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Columns that the settings name, once it is clear that the table has them."""
    absent = [name for name in names if name not in table.names]
    if absent:
        raise InputError(f"{what} names the column {absent[0]!r}, which the table does not have")
    return names


def _joined(windows: list[Window], until: str | None, said: list[str]) -> tuple[list[Window], bool]:
    """Windows up to the one whose labels may be used as a single one, and whether the last one is among them."""
    if until is None:
        return windows, False
    names = [window.name for window in windows]
    place = names.index(until) if until in names else int(until) - 1 if until.isdecimal() else -1
    if not 0 <= place < len(windows):
        raise InputError(f"there is no window {until!r} up to which labels may be used; there are {', '.join(names)}")
    last = place == len(windows) - 1
    n_joined = place if last else place + 1
    said.append(f"labels of all windows up to {names[place]!r} are used")
    if n_joined < 2:
        return windows, last
    name = f"{names[0]} to {names[n_joined - 1]}"
    if windows[0].coded is not None:
        codes = windows[0].coded[0].copy()
        codes[(codes > 0) & (codes < n_joined)] = 0
        joined = Window(name, None, (codes, 0), sum(map(len, windows[:n_joined])))
    else:
        joined = Window(name, np.sort(np.concatenate([window.rows for window in windows[:n_joined]])))
    return [joined, *windows[n_joined:]], last


def _sampled_rows(
    windows: list[Window], labels: Labels, settings: Settings, said: list[str]
) -> tuple[list[NDArray[np.int64]], Labels]:
    """Rows of each window to train on, ascending, and the labels of the first."""
    most = max(100, min(settings.limits.training, _MOST_ROWS // len(windows)))
    parts = []
    n_labelled = len(labels.rows)
    for number, window in enumerate(windows):
        rows = labels.rows if number == 0 else window.rows
        kept = some_rows(len(rows), most, derive_seed(settings.seed, "rows", number))
        if number == 0:
            labels = Labels(labels.rows[kept], labels.values[kept], labels.boolean)
        parts.append(rows[kept])
    sizes = [n_labelled, *(len(window) for window in windows[1:])]
    said += _sampling("models were trained on", most, sizes)
    if len(np.unique(labels.values)) < 2:
        raise InputError("only one class is left in the sample of the first window; raise the number of training rows")
    return parts, labels


def _gather(table: Table, parts: list[NDArray[np.int64]], names: list[str]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """The features of all sampled rows, read once, and which rows they are."""
    chosen = np.unique(np.concatenate(parts))
    frames = [frame for _, frame in table.batches(chosen, names)]
    whole = frames[0] if len(frames) == 1 else pd.concat(frames)
    return whole.reset_index(drop=True), chosen


def _sampling(what: str, most: int, sizes: list[int]) -> list[str]:
    """One sentence on the windows that were too large to be used whole."""
    large = [size for size in sizes if size > most]
    if not large:
        return []
    span = f"{min(large):,}" if min(large) == max(large) else f"{min(large):,} to {max(large):,}"
    return [f"{what} {most:,} rows of a window; {len(large)} of {len(sizes)} windows have more ({span})"]

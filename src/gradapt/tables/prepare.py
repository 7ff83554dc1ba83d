"""From a table and settings to numbers: windows, labels, samples, preprocessing, domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradapt.domains import Domain, DomainSequence, some_rows
from gradapt.domains.windows import Windows
from gradapt.errors import InputError
from gradapt.paths import Transport
from gradapt.seeds import derive_seed
from gradapt.tables.columns import ColumnPlan, conform, plan_columns
from gradapt.tables.label_column import Labels, read_labels, stream_labels
from gradapt.tables.preprocess import as_matrix, make_preprocessing
from gradapt.tables.read import Table
from gradapt.tables.settings import Column, FilePosition, Settings
from gradapt.tables.streamed_windows import can_stream, stream_windows
from gradapt.tables.windowing import Window, cut_windows

__all__ = ["Prepared", "prepare"]

# Rows that models are trained on, over all windows: a million rows of 50 columns are 400 MB.
_MOST_ROWS = 500_000
_PART_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready to be adapted along.

    Attributes
    ----------
    windows : list of Window
        All rows of each window.
    plans : tuple of ColumnPlan
    preprocessing : ColumnTransformer
        Fitted on the features of all windows.
    training : DomainSequence
        Samples that models are trained on.
    sample : DomainSequence
        Fewer samples, for transport and checks.
    target_rows : int array
        Rows of the table that the target of ``training`` holds.
    boolean : bool
        Whether the labels were true and false.
    sampled : list of str
        Sentences on what was left out.
    labelled : Labels, optional
        All labelled rows of the first window, where the table is not held in memory and the model can take them.
    """

    windows: list[Window]
    plans: tuple[ColumnPlan, ...]
    preprocessing: Any
    training: DomainSequence
    sample: DomainSequence
    target_rows: NDArray[np.int64]
    boolean: bool
    sampled: list[str]
    labelled: Labels | None = None


def prepare(table: Table, settings: Settings) -> Prepared:
    """Cut, sample and preprocess; labels after the first window are never looked at."""
    names = _features(table, settings)
    windows, said = _windows(table, settings)
    labels, more = _labels(table, settings, windows[0])
    said += more
    everything = labels if windows[0].coded is not None and hasattr(settings.model, "partial_fit") else None
    parts, labels = _sampled_rows(windows, labels, settings, said)
    frame, chosen = _gather(table, parts, names)
    coded = _known(table, settings.categorical, "categorical")
    plans = plan_columns(frame, keep_constant=table.image_shape is not None, categorical=coded)
    conformed = conform(frame, plans)
    preprocessing = make_preprocessing(plans, scale=table.image_shape is None).fit(conformed)
    matrix = as_matrix(preprocessing, conformed)
    domains = []
    for number, (window, rows) in enumerate(zip(windows, parts, strict=True)):
        samples = matrix[np.searchsorted(chosen, rows)]
        domains.append(Domain(samples, labels=labels.values if number == 0 else None, name=window.name))
    training = DomainSequence(domains)
    # The same rows that plans are made between.
    sample = training.each(Transport(max_samples=settings.limits.transport, seed=settings.seed).sampled)
    said += _sampling("plans and checks looked at", settings.limits.transport, [len(domain) for domain in training])
    return Prepared(windows, plans, preprocessing, training, sample, parts[-1], labels.boolean, said, everything)


def _features(table: Table, settings: Settings) -> list[str]:
    """The feature columns, once it is clear that there are rows, a label and an order."""
    ordering = [settings.order.name] if isinstance(settings.order, Column) else []
    for column in (settings.label, *ordering):
        if column not in table.names:
            shown = ", ".join(table.names[:10]) + (", ..." if len(table.names) > 10 else "")
            raise InputError(f"the table has no column {column!r}; it has {shown or 'none'}")
    if table.n_rows == 0:
        raise InputError("the table has no rows")
    features = table.features(settings.label, *ordering, *_known(table, settings.drop, "drop"))
    if not features:
        raise InputError("the table has no feature column besides label and order")
    return features


def _windows(table: Table, settings: Settings) -> tuple[list[Window], list[str]]:
    """Windows along the order, read in parts where the table is long."""
    rule = settings.windows
    if isinstance(settings.order, Column):
        name = settings.order.name
        who = f"order column {name!r}"
        if can_stream(rule) and table.streams(name, ordered=True):
            return stream_windows(lambda: table.parts(name), table.n_rows, rule, who)
        return cut_windows(table.columns([name])[name].reset_index(drop=True), rule, who)
    if isinstance(settings.order, FilePosition):
        if len(table.files) < 2:
            raise InputError("one file is one snapshot; give several files, or the column that orders the rows")
        ends = np.cumsum([file.rows for file in table.files])
        return _by_place(lambda rows: np.searchsorted(ends, rows, side="right"), table, rule, "the file number")
    return _by_place(lambda rows: rows, table, rule, "the row position")


def _by_place(
    number: Callable[[NDArray[np.int64]], NDArray[np.int64]], table: Table, rule: Windows, who: str
) -> tuple[list[Window], list[str]]:
    """Windows by a number that follows from the place of a row."""
    if not (can_stream(rule) and table.streams(table.names[0])):
        return cut_windows(pd.Series(number(np.arange(table.n_rows))), rule, who)

    def parts() -> Iterator[pd.Series]:
        for start in range(0, table.n_rows, _PART_ROWS):
            yield pd.Series(number(np.arange(start, min(start + _PART_ROWS, table.n_rows))))

    return stream_windows(parts, table.n_rows, rule, who)


def _labels(table: Table, settings: Settings, first: Window) -> tuple[Labels, list[str]]:
    name = settings.label
    who = f"label column {name!r}"
    if first.coded is not None and table.streams(name):
        codes, number = first.coded
        return stream_labels(table.parts(name), codes == number, who, guessed=table.guessed)
    return read_labels(table.columns([name])[name], first.rows, who, guessed=table.guessed)


def _known(table: Table, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Columns that the settings name, once it is clear that the table has them."""
    absent = [name for name in names if name not in table.names]
    if absent:
        raise InputError(f"{what} names the column {absent[0]!r}, which the table does not have")
    return names


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

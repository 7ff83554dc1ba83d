"""From a table and settings to numbers: windows, labels, samples, preprocessing, domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import ColumnPlan, conform, plan_columns, without_twins
from driftfit.app.features import as_matrix, make_preprocessing
from driftfit.app.forecasts import PastWindows
from driftfit.app.known import KnownRows, known_rows
from driftfit.app.labels import Labels
from driftfit.app.read import Table
from driftfit.app.settings import Column, FilePosition, Settings
from driftfit.app.streamed_windows import can_stream, stream_windows
from driftfit.app.windows import Window, cut_windows, in_given_order
from driftfit.domains import Domain, DomainSequence, some_rows
from driftfit.domains.windows import Windows
from driftfit.errors import InputError, meant
from driftfit.methods import Transport
from driftfit.seeds import derive_seed

# Rows that models are trained on, over all windows: a million rows of 50 columns are 400 MB.
_MOST_ROWS = 500_000
# Rows that are compared with those before them may miss a few of these.
_NEARLY_ALL = 0.99
_PART_ROWS = 1 << 20
# How a sentence on rows that were left out of transport and checks begins.
PLANS = "plans and checks looked at"


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
    # All windows with the labels that may be used, where several have some: what backtests learn from.
    history: DomainSequence | None = None
    asked: NDArray[np.int64] | None = None  # rows to predict; those of the last window where not said
    # All rows with a label, where the table is not held in memory and the model can take them.
    labelled: Labels | None = None


def prepare(table: Table, settings: Settings) -> Prepared:
    """Cut, sample and preprocess; no label is looked at that may not be used."""
    names = _features(table, settings)
    windows, said, sorted_rows = _windows(table, settings)
    known = known_rows(table, settings, windows)
    windows, said = known.windows, said + known.said
    streamed = windows[0].coded is not None and hasattr(settings.model, "partial_fit")
    everything = known.labels.in_order() if streamed else None
    parts, labels, places = _sampled_rows(known, settings, said)
    sizes = [len(known.labels.rows), *map(len, windows[1:])]
    whole = all(len(part) == size for part, size in zip(parts, sizes, strict=True))
    # Rows without a label between those that have one are left out of these windows as well.
    whole = whole and len(known.labels.rows) >= _NEARLY_ALL * (int(np.ptp(known.labels.rows)) + 1)
    frame, chosen = _gather(table, parts, names)
    coded = _known(table, settings.categorical, "categorical")
    pictures = table.image_shape is not None
    plans = plan_columns(frame, keep_constant=pictures, categorical=coded, written=settings.written)
    conformed = conform(frame, plans)
    if not pictures:
        plans = without_twins(plans, conformed)
        conformed = conformed[[name for plan in plans for name in plan.outputs]]
    preprocessing = make_preprocessing(plans, scale=not pictures).fit(conformed)
    matrix = as_matrix(preprocessing, conformed)
    groups = None if settings.group is None else _gather(table, parts, [settings.group])[0][settings.group].to_numpy()

    def domain(rows: NDArray[np.int64], name: str, values: NDArray[Any] | None = None) -> Domain:
        place = np.searchsorted(chosen, rows)
        return Domain(matrix[place], labels=values, name=name, groups=None if groups is None else groups[place])

    def past_windows(domains: list[Domain], rows: list[NDArray[np.int64]]) -> DomainSequence:
        if table.image_shape is not None or settings.encoder is not None:
            # Pixels have no scale of their own, and an encoder was made for these features.
            return DomainSequence(domains)
        return PastWindows(domains, conformed, [np.searchsorted(chosen, own) for own in rows], preprocessing)

    later = [domain(rows, window.name) for window, rows in zip(windows[1:], parts[1:], strict=True)]
    numbers = np.unique(places)
    history = None
    if len(numbers) > 1:
        own = [(labels.rows[places == n], known.names[n], labels.values[places == n]) for n in numbers]
        past, places_of = [domain(*one) for one in own], [rows for rows, *_ in own]
        if known.asked is not None:
            past, places_of = [*past, *later], [*places_of, *parts[1:]]
        history = past_windows(past, places_of)
        training = history.from_last_labelled()
    else:
        training = DomainSequence([domain(parts[0], windows[0].name, labels.values), *later])
    # Where every window has labels, the last of them stands for the time after it.
    target_rows = labels.rows[places == numbers[-1]] if history is not None and known.asked is None else parts[-1]
    # The same rows that plans are made between.
    sample = training.each(Transport(max_samples=settings.limits.transport, seed=settings.seed).sampled)
    said += _sampling(PLANS, settings.limits.transport, [len(domain) for domain in training])
    return Prepared(
        windows, plans, preprocessing, training, sample, parts[0], target_rows, labels.boolean, said,
        tuple(names), sorted_rows and whole, history, known.asked, everything,
    )  # fmt: skip


def _features(table: Table, settings: Settings) -> list[str]:
    """The feature columns, once it is clear that there are rows, a label and an order."""
    ordering = [settings.order.name] if isinstance(settings.order, Column) else []
    for column in (settings.label, *ordering):
        if column not in table.names:
            shown = ", ".join(table.names[:10]) + (", ..." if len(table.names) > 10 else "")
            raise InputError(
                f"the table has no column {column!r}; it has {shown or 'none'}{meant(column, table.names)}"
            )
    if table.n_rows == 0:
        raise InputError("the table has no rows")
    hidden = _known(table, settings.drop, "drop") + _known(table, settings.id, "id")
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
        if not settings.order_words and can_stream(rule) and table.streams(name, ordered=True):
            # So many rows are sampled, and a sample does not stand row by row.
            return *stream_windows(lambda: table.parts(name), table.n_rows, rule, who), False
        order = table.columns([name])[name].reset_index(drop=True)
        if settings.order_words:
            order = in_given_order(order, settings.order_words, who)
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


def _known(table: Table, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Columns that the settings name, once it is clear that the table has them."""
    absent = [name for name in names if name not in table.names]
    if absent:
        raise InputError(f"{what} names the column {absent[0]!r}, which the table does not have")
    return names


def _sampled_rows(
    known: KnownRows, settings: Settings, said: list[str]
) -> tuple[list[NDArray[np.int64]], Labels, NDArray[np.int64]]:
    """Rows of each window to train on, and the labels of the first with the windows that they come from."""
    labels, places = known.labels, known.places
    labelled = np.unique(places)
    most = max(100, min(settings.limits.training, _MOST_ROWS // (len(known.windows) - 1 + len(labelled))))
    kept = []
    for number in labelled:
        own = np.flatnonzero(places == number)
        seed = derive_seed(settings.seed, "rows", int(number))
        kept.append(own[some_rows(len(own), most, seed, labels.values[own])])
    rows = np.concatenate(kept)
    parts = [labels.rows[rows]]
    for number, window in enumerate(known.windows[1:], 1):
        there = window.rows
        parts.append(there[some_rows(len(there), most, derive_seed(settings.seed, "rows", int(labelled[-1]) + number))])
    sizes = [*np.bincount(places)[labelled].tolist(), *map(len, known.windows[1:])]
    said += _sampling("models were trained on", most, sizes)
    labels = Labels(labels.rows[rows], labels.values[rows], labels.boolean)
    return parts, labels, places[rows]


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

"""Which rows are history, as they have a label, and which are today's, as they have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.app.labels import Labels, has_labels, read_labels, stream_labels
from driftfit.app.read import Table
from driftfit.app.settings import Column, History, Settings
from driftfit.app.windows import ByCalendar, Window, comparable, window_names
from driftfit.errors import InputError

# So many rows of the newest labelled window without a label are today's; fewer are gaps.
_FEWEST_LABELLED = 10


@dataclass(frozen=True, eq=False)
class KnownRows:
    """The windows to go along, and the labels before them.

    ``windows``: first all rows with a label that counts, then the rows without one, window by window. ``labels``: of
    the rows of the first of these windows, those of an older window first. ``places``: for each of these rows the
    number of the window that it came from. ``names``: names of all windows by that number. ``asked``: rows without a
    label, which are to be predicted; None for those of the last window. ``said``: what was used and what was not.
    """

    windows: list[Window]
    labels: Labels
    places: NDArray[np.int64]
    names: tuple[str, ...]
    asked: NDArray[np.int64] | None
    said: list[str]


def known_rows(table: Table, settings: Settings, windows: list[Window]) -> KnownRows:
    """Find out where labels are, and read them.

    ``settings``: with ``History.FIRST`` only labels of the first window count; ``labels_until`` names the last window
    whose labels do. ``windows``: all windows, the oldest first.
    """
    until = _until(settings, windows)
    place = _places(windows, table.n_rows)
    present = _present(table, settings.label)
    counts = np.bincount(place[present & (place >= 0)], minlength=len(windows))
    labelled = np.flatnonzero(counts[: until + 1])
    if len(labelled) == 0 or (len(labelled) == 1 and labelled[0] == 0) or until == 0:
        return _only_first(table, settings, windows, int(counts[1:].sum()))
    usable = present & (place >= 0) & (place <= until)
    labels, said = _read(table, settings, usable)
    order = np.argsort(place[labels.rows], kind="stable")
    labels = Labels(labels.rows[order], labels.values[order], labels.boolean)
    last = int(place[labels.rows].max())
    unlabelled = (place == last) & ~usable
    partly = bool(unlabelled.sum() >= _FEWEST_LABELLED)
    rest = windows[last + 1 :]
    # A window is named by its first and its last value, or by a single one.
    ends = windows[labelled[0]].name.split("..")[0], _last_value(table, settings, labels, windows[last])
    path = [_window(f"{ends[0]} to {ends[1]}", np.sort(labels.rows), windows, table)]
    if partly:
        path.append(_window(f"{windows[last].name}, no label", np.flatnonzero(unlabelled), windows, table))
    everything = not partly and not rest
    path += [windows[last]] if everything else rest
    asked = None if everything else np.flatnonzero((place >= 0) & (~usable | (place > last)))
    unit = settings.windows.period if isinstance(settings.windows, ByCalendar) else "window"
    said.append(_told(labels, ends[1], len(path) - 1, everything, unit))
    hidden = int(counts[until + 1 :].sum())
    if hidden:
        said.append(f"{hidden} labels after {windows[until].name!r} were not looked at")
    return KnownRows(path, labels, place[labels.rows], tuple(window.name for window in windows), asked, said)


def _last_value(table: Table, settings: Settings, labels: Labels, window: Window) -> str:
    """Until when there are labels: the largest order of a labelled row, or the end of the last labelled window."""
    end = window.name.split("..")[-1]
    if not isinstance(settings.order, Column) or settings.order_words:
        return end
    name, chosen = settings.order.name, np.zeros(table.n_rows, dtype=np.bool_)
    chosen[labels.rows] = True
    parts = table.parts(name) if table.streams(name) else iter([table.columns([name])[name]])
    largest, start = [], 0
    for part in parts:
        own = part[chosen[start : start + len(part)]].dropna()
        start += len(part)
        if len(own):
            largest.append(own)
    try:
        last = max(comparable(own, "the order column").max() for own in largest)
        return window_names([(last, last)])[0]
    except (TypeError, InputError):
        return end


def _told(labels: Labels, last: str, n_without: int, everything: bool, unit: str) -> str:
    """The one line that says which labels are used."""
    used = f"labels until {last} used ({len(labels.rows):,} rows)"
    if everything:
        return f"{used}; every {unit} has labels: the model is for the time after them"
    return f"{used}; {n_without} {unit if n_without == 1 else f'{unit}s'} without"


def _only_first(table: Table, settings: Settings, windows: list[Window], n_later: int) -> KnownRows:
    """The paper's setting: a labelled window, and none after it."""
    first = windows[0]
    who = f"label column {settings.label!r}"
    if first.coded is not None and table.streams(settings.label):
        codes, number = first.coded
        labels, said = stream_labels(table.parts(settings.label), codes == number, who, guessed=table.guessed)
    else:
        column = table.columns([settings.label])[settings.label]
        labels, said = read_labels(column, first.rows, who, guessed=table.guessed)
    if n_later:
        said.append(f"{n_later} labels after the first window were not looked at (--history all uses them)")
    places = np.zeros(len(labels.rows), dtype=np.int64)
    return KnownRows(windows, labels, places, tuple(window.name for window in windows), None, said)


def _read(table: Table, settings: Settings, usable: NDArray[np.bool_]) -> tuple[Labels, list[str]]:
    name = settings.label
    who, where = f"label column {name!r}", "the labelled windows"
    if table.streams(name):
        return stream_labels(table.parts(name), usable, who, guessed=table.guessed, where=where)
    column = table.columns([name])[name]
    return read_labels(column, np.flatnonzero(usable), who, guessed=table.guessed, where=where)


def _present(table: Table, name: str) -> NDArray[np.bool_]:
    """Which rows of the table have a label."""
    if table.streams(name):
        return np.concatenate([has_labels(part) for part in table.parts(name)])
    return has_labels(table.columns([name])[name])


def _places(windows: list[Window], n_rows: int) -> NDArray[np.int64]:
    """The number of the window of every row; -1 for rows in none."""
    coded: Any = windows[0].coded
    if coded is not None:
        return np.asarray(coded[0], dtype=np.int64)
    place = np.full(n_rows, -1, dtype=np.int64)
    for number, window in enumerate(windows):
        place[window.rows] = number
    return place


def _window(name: str, rows: NDArray[np.int64], windows: list[Window], table: Table) -> Window:
    """A window of some rows, kept as the others are."""
    if windows[0].coded is None:
        return Window(name, rows)
    codes = np.full(table.n_rows, -1, dtype=np.int8)
    codes[rows] = 0
    return Window(name, None, (codes, 0), len(rows))


def _until(settings: Settings, windows: list[Window]) -> int:
    """The number of the last window whose labels may be used."""
    if settings.history is History.FIRST:
        return 0
    until = settings.labels_until
    if until is None:
        return len(windows) - 1
    names = [window.name for window in windows]
    place = names.index(until) if until in names else int(until) - 1 if until.isdecimal() and len(until) < 10 else -1
    if not 0 <= place < len(windows):
        raise InputError(f"there is no window {until!r} up to which labels may be used; there are {', '.join(names)}")
    return place

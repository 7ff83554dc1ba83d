"""Every published cell against ours: who is higher, by how much, and the picture of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Any

from driftfit.files import atomic_file
from driftfit.lab.records import TableRecord
from driftfit.lab.statistics import Entry

__all__ = ["Comparison", "Higher", "compared", "digest_of", "draw_overview", "higher_of"]

_COLOURS = {"ours": "#2b6cb0", "published": "#d9730d", "level": "#8a8a8a"}
_LABELS = {
    "ours": "ours higher",
    "published": "published higher",
    "level": "no difference beyond the intervals",
}
_MARKERS = {"gst": "o", "goat": "^"}
_COLUMNS = 3


class Higher(Enum):
    """Who has the higher mean, where the two intervals can tell."""

    OURS = "ours"
    PUBLISHED = "published"
    LEVEL = "level"


@dataclass(frozen=True)
class Comparison:
    """The published cells of one table beside ours.

    Attributes
    ----------
    record : TableRecord
    entries : tuple of Entry
        Those that have a published figure.
    """

    record: TableRecord
    entries: tuple[Entry, ...]

    @property
    def median_difference(self) -> float:
        """Ours less the published, in points."""
        return median([entry.difference or 0.0 for entry in self.entries])

    def number(self, higher: Higher) -> int:
        """How many cells are so."""
        return sum(higher_of(entry) is higher for entry in self.entries)


def higher_of(entry: Entry) -> Higher:
    """Whether a difference is larger than the half widths of both intervals together (root of the sum of squares)."""
    difference, own = entry.difference, entry.intervals[entry.place.measure]
    if difference is None or entry.place.published is None or own is None:
        return Higher.LEVEL
    if difference**2 <= own**2 + entry.place.published[1] ** 2:
        return Higher.LEVEL
    return Higher.OURS if difference > 0 else Higher.PUBLISHED


def compared(records: Sequence[TableRecord]) -> list[Comparison]:
    """The tables of several seeds that have published cells."""
    found = []
    for record in records:
        entries = tuple(entry for entry in record.entries if entry.difference is not None and entry.n_seeds > 1)
        if entries:
            found.append(Comparison(record, entries))
    return found


def digest_of(comparisons: Sequence[Comparison]) -> str:
    """A fingerprint of the numbers that the picture shows; it is written into the picture."""
    shown = [[one.record.name, *(_drawn(entry) for entry in one.entries)] for one in comparisons]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def _drawn(entry: Entry) -> list[str]:
    own = entry.intervals[entry.place.measure] or 0.0
    return [f"{value:.4f}" for value in (*(entry.place.published or (0.0, 0.0)), entry.mean or 0.0, own)]


def draw_overview(comparisons: Sequence[Comparison], titles: Sequence[str], path: Path) -> None:
    """One panel for each table: the published figure to the right, ours upwards; on the line both agree."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    n_rows = -(-len(comparisons) // _COLUMNS)
    figure = Figure(figsize=(3.4 * _COLUMNS, 3.4 * n_rows + 0.7), layout="constrained")
    panels = figure.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
    for axes, one, title in zip(panels, comparisons, titles, strict=False):
        for entry in one.entries:
            published, theirs = entry.place.published or (0.0, 0.0)
            higher = higher_of(entry).value
            axes.errorbar(
                [published],
                [entry.mean],
                xerr=[theirs],
                yerr=[entry.intervals[entry.place.measure] or 0.0],
                fmt=_MARKERS.get(entry.place.cell.method, "s"),
                color=_COLOURS[higher],
                markersize=5,
                elinewidth=0.6,
                alpha=0.85,
            )
        _frame(axes, one, title)
    for axes in panels[len(comparisons) :]:
        axes.set_visible(False)
    marks = [Line2D([], [], color=_COLOURS[key], marker="o", linestyle="", label=text) for key, text in _LABELS.items()]
    shapes = {"o": "GST", "^": "GOAT", "s": "baselines, CoVi"}
    marks += [
        Line2D([], [], color="black", marker=key, linestyle="", mfc="none", label=text) for key, text in shapes.items()
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    for number, axes in enumerate(panels[: len(comparisons)]):
        if number % _COLUMNS == 0:
            axes.set_ylabel("ours, percent")
        if number >= len(comparisons) - _COLUMNS:
            axes.set_xlabel("published, percent")
    with atomic_file(path) as file:
        figure.savefig(file, format="png", dpi=130, metadata={"Description": digest_of(comparisons), "Software": None})


def _frame(axes: Any, one: Comparison, title: str) -> None:
    """Equal sides, the diagonal, and the counts."""
    values = [value for entry in one.entries for value in ((entry.place.published or (0.0, 0.0))[0], entry.mean or 0.0)]
    low, high = max(0.0, min(values) - 6.0), min(101.0, max(values) + 6.0)
    axes.plot([low, high], [low, high], color="#444444", linewidth=0.8, zorder=0)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    axes.set_title(title, fontsize=10)

"""Tables that the paper draws, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from driftfit.files import atomic_file
from driftfit.lab.statistics import Entry
from driftfit.lab.table import Table

__all__ = ["draw_bars"]

_WIDTH = 0.8
_COLOURS = ("#2b6cb0", "#dd8452", "#55a868", "#8172b3")


def draw_bars(table: Table, entries: Sequence[Entry], stem: Path) -> list[Path]:
    """A group of bars for each column, one bar for each row of accuracies, with intervals, as PNG and SVG.

    The share of same-class mass, where it was measured, is a mark on its bar: both are percent.
    """
    from matplotlib.figure import Figure

    accuracies = [entry for entry in entries if entry.place.measure.startswith("transductive")]
    rows = list(dict.fromkeys(entry.place.row for entry in accuracies))
    columns = list(dict.fromkeys(entry.place.column for entry in accuracies))
    figure = Figure(figsize=(1.5 + 1.2 * len(columns), 4.2), layout="constrained")
    axes = figure.subplots()
    width = _WIDTH / len(rows)
    for number, row in enumerate(rows):
        shown = [entry for entry in accuracies if entry.place.row == row]
        places = [columns.index(entry.place.column) + (number - (len(rows) - 1) / 2) * width for entry in shown]
        heights = [entry.mean or 0.0 for entry in shown]
        # One seed has no interval, and so no whisker.
        errors = [float("nan") if (half := entry.intervals[entry.place.measure]) is None else half for entry in shown]
        axes.bar(places, heights, 0.92 * width, yerr=errors, capsize=3, color=_COLOURS[number % 4], label=row)
        for place, height in zip(places, heights, strict=True):
            axes.text(place, 1.5, f"{height:.1f}", ha="center", va="bottom", color="white", fontsize=8)
        marked = [(place, entry.means["same_class_mass"]) for place, entry in zip(places, shown, strict=True)]
        marks = [(place, share) for place, share in marked if share is not None]
        if marks:
            label = "share of same-class mass in the plans" if number == 0 else None
            axes.plot(*zip(*marks, strict=True), "D", color="black", markersize=5, label=label)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_ylabel("percent")
    axes.set_ylim(0, 104)
    axes.set_title(table.title, fontsize=9)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    paths = []
    for ending in (".png", ".svg"):
        paths.append(stem.with_name(stem.name + ending))
        with atomic_file(paths[-1]) as file:
            # The date would make every file of one result another one.
            figure.savefig(file, format=ending[1:], dpi=150, metadata={"Date": None} if ending == ".svg" else None)
    return paths

"""Pictures: tables that the paper draws as bars, and tiles of generated digits."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftfit.files import atomic_file
from driftfit.lab.cells import Table
from driftfit.lab.statistics import Entry

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
    return _saved(figure, stem)


def draw_paths(paths: Mapping[str, Sequence[Sequence[Any]]], positions: Sequence[float], folder: Path) -> list[Path]:
    """Write ``vae.png`` and ``vae.svg``.

    Parameters
    ----------
    paths : mapping
        From the name of a line to its images: for each digit one image at each position.
    positions : sequence of float
        Between 0, the source, and 1, the target.
    folder : Path
    """
    from matplotlib.figure import Figure

    n_digits = len(next(iter(paths.values())))
    n_columns = min(2, n_digits)
    n_lines = -(-n_digits // n_columns)
    figure = Figure(figsize=(0.62 * len(positions) * n_columns + 1.6, 0.72 * len(paths) * n_lines + 0.6))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    names = [textwrap.fill(name, 14) for name in paths]
    for number, axis in enumerate(axes.flat):
        if number >= n_digits:
            axis.set_axis_off()
            continue
        tiles = [[np.pad(image, 1, constant_values=0.5) for image in images[number]] for images in paths.values()]
        height, width = tiles[0][0].shape
        axis.imshow(np.block(tiles), cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        axis.set_xticks([width * (i + 0.5) for i in range(len(positions))], [f"t = {t:.2g}" for t in positions])
        left = number % n_columns == 0
        axis.set_yticks([height * (i + 0.5) for i in range(len(paths))], names if left else [""] * len(names))
        axis.tick_params(length=0, labelsize=7)
        axis.spines[:].set_visible(False)
    return _saved(figure, folder / "vae")


def _saved(figure: Any, stem: Path) -> list[Path]:
    """As PNG and SVG; a fixed salt and no date: the same numbers give the same files."""
    import matplotlib as mpl

    written = []
    with mpl.rc_context({"svg.hashsalt": "driftfit"}):
        for ending, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            written.append(stem.with_name(stem.name + ending))
            with atomic_file(written[-1]) as file:
                figure.savefig(file, format=ending[1:], dpi=150, facecolor="white", metadata=metadata)
    return written

"""A table as JSON, with every run, as Markdown, which the terminal shows too, and as a picture."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftfit.files import atomic_file, write_text
from driftfit.lab.cells import Cell, Table
from driftfit.lab.statistics import Entry, Interval, SweepTable


def as_json(entries: Sequence[Entry], results: Mapping[Cell, Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """The table, every single run without its steps, and where it comes from."""
    runs = []
    provenances: list[Any] = []
    for cell, result in sorted(results.items()):
        if result["provenance"] not in provenances:
            provenances.append(result["provenance"])
        kept = {key: _rounded(value) for key, value in result.items() if key not in ("steps", "provenance")}
        runs.append({"cell": json.loads(cell.key), **kept})
    measures = _measured(entries)
    table = []
    for entry in entries:
        means, intervals = ({measure: own[measure] for measure in measures} for own in (entry.means, entry.intervals))
        table.append(_described(entry) | _rounded({"means": means, "ci95": intervals, **_compared(entry)}))
    head = json.dumps({"about": dict(about), "provenance": provenances}, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(row) for row in table)
    run_lines = ",\n  ".join(json.dumps(row) for row in runs)
    return f'{head},\n "table": [\n  {lines}\n ],\n "runs": [\n  {run_lines}\n ]\n}}\n'


def _described(entry: Entry) -> dict[str, Any]:
    """Which number it is."""
    place, cell = entry.place, entry.place.cell
    return {
        "row": place.row,
        "column": place.column,
        "benchmark": cell.table,
        "preset": cell.preset,
        "n_given": cell.n_given,
        "method": cell.method,
        "variant": cell.variant,
        "n_generated": cell.n_generated,
        "n_seeds": entry.n_seeds,
        "measure": place.measure,
    }


def _compared(entry: Entry) -> dict[str, float | None]:
    """Beside the published figure, and beside the table's contender."""
    published, interval = entry.place.published or (None, None)
    compared = {"published": published, "published_ci95": interval, "difference": entry.difference}
    return compared | dict(zip(("lead", "lead_ci95"), entry.lead, strict=True))


def as_markdown(table: Table, entries: Sequence[Entry], *, heldout: bool = False) -> str:
    """Each cell ours, and the published figure with the difference in brackets; or the held-out accuracies."""
    return _markdown(table.corner, _texts(entries, heldout=heldout))


def leads_as_markdown(table: Table, entries: Sequence[Entry]) -> str:
    """By how much the contender is ahead of each other row; bold where the interval leaves out zero."""
    shown = {}
    for entry in entries:
        lead, interval = entry.lead
        if lead is not None:
            shown[entry.place.row, entry.place.column] = _lead_text(lead, interval)
    return _markdown(f"{table.contender} minus", shown)


def _markdown(corner: str, shown: Mapping[tuple[str, str], str]) -> str:
    rows, columns = _sides(shown)
    lines = [f"| {corner} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {row} | " + " | ".join(shown.get((row, column), "") for column in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def sweep_as_markdown(table: SweepTable) -> str:
    """What a sweep found on one data set with one model."""
    lines = [f"## {table.data}, {table.model}", ""]
    lines += ["| method | accuracy % | minus source | score | seeds | failed |", "|---|---|---|---|---|---|"]
    for row in table.rows:
        parts = [row.name, _shown(row.accuracy, 1), _shown(row.lead, 1, signed=True), _shown(row.score, 3)]
        lines.append("| " + " | ".join([*parts, str(row.n_seeds), str(row.n_failed)]) + " |")
    taken = ", ".join(f"{name} ({count})" for name, count in sorted(table.taken.items(), key=lambda own: -own[1]))
    lines += ["", f"Chosen without target labels: {taken or 'nothing'}; accuracy {_shown(table.without_labels, 1)}."]
    if table.with_labels[0] is None:
        lines.append("The target has no labels, so nothing is measured.")
    else:
        lines.append(
            f"Chosen with target labels, seed by seed: accuracy {_shown(table.with_labels, 1)}; the choice without "
            f"is {_shown(table.difference, 1, signed=True)} points from it."
        )
    lines += [f"Failed: {name}" for name in table.failed]
    return "\n".join(lines) + "\n"


def write_outputs(
    table: Table,
    entries: Sequence[Entry],
    results: Mapping[Cell, Mapping[str, Any]],
    folder: Path,
    name: str,
    about: dict[str, Any],
) -> list[Path]:
    """Write ``name.json`` and ``name.md`` into a folder; a figure also as PNG and SVG."""
    note = "Percent, mean ± 95 % confidence interval (Student's t)"
    if any(place.measure == "transductive_last" for place in table.places):
        note += "; accuracy is that of the last model on the target samples it was adapted to"
    if any(place.published for place in table.places):
        note += "; in brackets the published figure and our difference"
    note += f". {table.note}"
    more = "\nHeld-out accuracy:\n\n" + as_markdown(table, entries, heldout=True)
    if table.contender:
        more += (
            "\nPaired differences over the seeds, in points; bold: the 95 % confidence interval leaves out zero.\n\n"
        )
        more += leads_as_markdown(table, entries)
    texts = {
        ".json": as_json(entries, results, about),
        ".md": f"# {table.title}\n\n{note.strip()}\n\n{as_markdown(table, entries)}{more}",
    }
    paths = []
    for ending, text in texts.items():
        paths.append(folder / f"{name}{ending}")
        write_text(paths[-1], text)
    if table.figure:
        paths += draw_bars(table, entries, folder / name)
    return paths


def _sides(shown: Mapping[tuple[str, str], str]) -> tuple[list[str], list[str]]:
    """Rows as they first appear, and columns; one that only later rows have stands behind what precedes it there.

    >>> _sides({("a", "x"): "", ("a", "z"): "", ("b", "x"): "", ("b", "y"): "", ("b", "z"): ""})
    (['a', 'b'], ['x', 'y', 'z'])
    """
    rows: dict[str, list[str]] = {}
    for row, column in shown:
        rows.setdefault(row, []).append(column)
    columns: list[str] = []
    for own in rows.values():
        place = 0
        for column in own:
            if column not in columns:
                columns.insert(place, column)
            place = columns.index(column) + 1
    return list(rows), columns


def _texts(entries: Sequence[Entry], *, heldout: bool = False) -> dict[tuple[str, str], str]:
    """The text of each place; the held-out view has accuracies alone."""
    shown: dict[tuple[str, str], str] = {}
    for entry in entries:
        measure = entry.place.measure
        if heldout:
            if not measure.startswith("transductive"):
                continue
            measure = measure.replace("transductive", "heldout")
        shown[entry.place.row, entry.place.column] = _text(entry, measure)
    return shown


def _text(entry: Entry, measure: str) -> str:
    mean, interval = entry.means[measure], entry.intervals[measure]
    if mean is None:
        return "-"
    text = f"{mean:.1f}" + ("" if interval is None else f" ± {interval:.1f}")
    if entry.difference is None or entry.place.published is None or measure != entry.place.measure:
        return text
    return f"{text} ({entry.place.published[0]:.1f}, {entry.difference:+.1f})"


def _lead_text(lead: float, interval: float | None) -> str:
    if interval is None:
        return f"{lead:+.1f}"
    text = f"{lead:+.1f} ± {interval:.1f}"
    return f"**{text}**" if abs(lead) > interval else text


def _measured(entries: Sequence[Entry]) -> list[str]:
    """Measures that at least one entry has, in their usual order."""
    if not entries:
        return []
    return [measure for measure in entries[0].means if any(entry.means[measure] is not None for entry in entries)]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.8g}") if isinstance(value, float) else value


def _shown(pair: Interval, digits: int, *, signed: bool = False) -> str:
    mean, half = pair
    if mean is None:
        return "-"
    text = f"{mean:+.{digits}f}" if signed else f"{mean:.{digits}f}"
    return text if half is None else f"{text} ± {half:.{digits}f}"


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

    ``paths``: from the name of a line to its images: for each digit one image at each position. ``positions``: between
    0, the source, and 1, the target.
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

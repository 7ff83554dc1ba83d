"""The paper's tables read back from `results/`, every published cell beside ours, and the picture of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Any

from driftfit.errors import InputError
from driftfit.files import atomic_file
from driftfit.lab.cells import PRESETS, Cell, Place, Table
from driftfit.lab.layouts import TABLES, make_table
from driftfit.lab.statistics import Entry

_COLOURS = {"ours": "#2b6cb0", "published": "#d9730d", "level": "#8a8a8a"}
_LABELS = {
    "ours": "ours higher",
    "published": "published higher",
    "level": "no difference beyond the intervals",
}
_MARKERS = {"gst": "o", "goat": "^"}
_COLUMNS = 3


@dataclass(frozen=True)
class TableRecord:
    """A table that was run, and where it comes from.

    Attributes
    ----------
    name : str
        Of its files, without an ending.
    preset : str
    table : Table
    entries : tuple of Entry
    n_runs, n_seeds : int
    seconds : float or None
        From start to end, where one command ran all of it; other tables of that command are in it too.
    shared_with : tuple of str
        These other tables.
    provenance : dict
        Versions and device of the first run.
    """

    name: str
    preset: str
    table: Table
    entries: tuple[Entry, ...]
    n_runs: int
    n_seeds: int
    seconds: float | None
    shared_with: tuple[str, ...]
    provenance: Mapping[str, Any]


def read_records(folder: Path) -> list[TableRecord]:
    """Every table in a folder, ``TABLE-PRESET.json``, in the order of `TABLES`; what is not there is left out."""
    paths = [folder / f"{name}-{preset}.json" for preset in PRESETS for name in TABLES]
    return [read_record(path) for path in paths if path.is_file()]


def read_record(path: Path) -> TableRecord:
    """One table."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _record(path.stem, content)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{str(path)!r} is no record of a table ({error}); run `driftfit paper` again") from error


def _record(name: str, content: Mapping[str, Any]) -> TableRecord:
    about = content["about"]
    seconds = [float(run["seconds"]) for run in content["runs"]]
    entries = tuple(_entry(row) for row in content["table"])
    corner = make_table(about["table"]).corner
    table = Table(
        about["table"], about.get("title", name), corner, tuple(entry.place for entry in entries), about.get("note", "")
    )
    whole = about.get("cells_run_now", len(seconds)) == len(seconds)
    wall = about.get("wall_seconds", about.get("wall_seconds_all_tables_of_this_command"))
    others = [other for other in about.get("tables_of_this_command", []) if other != about["table"]]
    return TableRecord(
        name,
        about["preset"],
        table,
        entries,
        len(seconds),
        about["seeds"],
        float(wall) if whole and wall is not None else None,
        tuple(others),
        content["provenance"][0],
    )


def _entry(row: Mapping[str, Any]) -> Entry:
    cell = Cell(row["benchmark"], row["preset"], 0, row["n_given"], row["method"], row["n_generated"])
    published = None if row["published"] is None else (float(row["published"]), float(row["published_ci95"]))
    place = Place(row["row"], row["column"], cell, published, row["measure"])
    lead = (row.get("lead"), row.get("lead_ci95"))
    return Entry(place, row["n_seeds"], dict(row["means"]), dict(row["ci95"]), float("nan"), lead)


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

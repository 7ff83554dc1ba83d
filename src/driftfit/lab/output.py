"""A table as CSV, JSON, Markdown and on the terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driftfit.files import write_text
from driftfit.lab.cells import Cell, Table
from driftfit.lab.statistics import Entry, Interval, SweepTable

_FILE_WIDTH = 160


def as_csv(entries: Sequence[Entry]) -> str:
    """One line for each place, with every measure that any of them has."""
    out = io.StringIO()
    measures = _measured(entries)
    writer = csv.writer(out, lineterminator="\n")
    for number, entry in enumerate(entries):
        values: dict[str, float | None] = {}
        for measure in measures:
            values |= {measure: entry.means[measure], f"{measure}_ci95": entry.intervals[measure]}
        values |= _compared(entry)
        told, seconds = _described(entry), {"seconds_per_run": f"{entry.seconds:.2f}"}
        if not number:
            writer.writerow([*told, *values, *seconds])
        writer.writerow([*told.values(), *map(_number, values.values()), *seconds.values()])
    return out.getvalue()


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


def print_table(table: Table, entries: Sequence[Entry]) -> None:
    """The table on the terminal, as Markdown where rich is missing."""
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        print(f"\n{table.title}\n\n{as_markdown(table, entries)}\n{table.note}")
        return
    shown = _texts(entries, line="\n")
    rows, columns = _sides(shown)
    drawn = RichTable(title=table.title, caption=table.note or None)
    drawn.add_column(table.corner, justify="right", overflow="fold")
    for column in columns:
        drawn.add_column(column, justify="center", overflow="fold")
    for row in rows:
        drawn.add_row(row, *(shown.get((row, column), "") for column in columns))
    console = Console()
    # A file or a pipe has no width to keep to.
    console = console if console.is_terminal else Console(width=_FILE_WIDTH)
    console.print(drawn)


def write_outputs(
    table: Table,
    entries: Sequence[Entry],
    results: Mapping[Cell, Mapping[str, Any]],
    folder: Path,
    name: str,
    about: dict[str, Any],
) -> list[Path]:
    """Write ``name.csv``, ``name.json`` and ``name.md`` into a folder; a figure also as PNG and SVG."""
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
        ".csv": as_csv(entries),
        ".json": as_json(entries, results, about),
        ".md": f"# {table.title}\n\n{note.strip()}\n\n{as_markdown(table, entries)}{more}",
    }
    paths = []
    for ending, text in texts.items():
        paths.append(folder / f"{name}{ending}")
        write_text(paths[-1], text)
    if table.figure:
        from driftfit.lab.figures import draw_bars

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


def _texts(entries: Sequence[Entry], *, heldout: bool = False, line: str = " ") -> dict[tuple[str, str], str]:
    """The text of each place; the held-out view has accuracies alone."""
    shown: dict[tuple[str, str], str] = {}
    for entry in entries:
        measure = entry.place.measure
        if heldout:
            if not measure.startswith("transductive"):
                continue
            measure = measure.replace("transductive", "heldout")
        shown[entry.place.row, entry.place.column] = _text(entry, measure, line)
    return shown


def _text(entry: Entry, measure: str, line: str) -> str:
    mean, interval = entry.means[measure], entry.intervals[measure]
    if mean is None:
        return "-"
    text = f"{mean:.1f}" + ("" if interval is None else f" ± {interval:.1f}")
    if entry.difference is None or entry.place.published is None or measure != entry.place.measure:
        return text
    return f"{text}{line}({entry.place.published[0]:.1f}, {entry.difference:+.1f})"


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


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


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

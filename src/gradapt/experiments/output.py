"""A table as CSV, JSON, Markdown and on the terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradapt.experiments.cells import Cell
from gradapt.experiments.summary import Entry, published_number

__all__ = ["as_csv", "as_json", "as_markdown", "print_table", "write_outputs"]

_TITLES = {
    "source-only": "source only",
    "gst": "GST",
    "frozen-gst": "frozen GST (control)",
    "label-transport": "label transport (control)",
}


def as_csv(entries: Sequence[Entry]) -> str:
    """One line for each cell, with every measure."""
    out = io.StringIO()
    measures = list(entries[0].means) if entries else []
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["table", "preset", "n_given", "method", "n_generated", "n_seeds"]
        + [name for measure in measures for name in (measure, f"{measure}_ci95")]
        + ["published", "published_ci95", "difference", "seconds_per_run"]
    )
    for entry in entries:
        values = [value for measure in measures for value in (entry.means[measure], entry.intervals[measure])]
        writer.writerow(
            [entry.table, entry.preset, entry.n_given, entry.method, entry.n_generated, entry.n_seeds]
            + [_number(value) for value in values]
            + [_number(value) for value in (entry.published, entry.published_interval, entry.difference)]
            + [f"{entry.seconds:.2f}"]
        )
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
    table = [
        {
            "table": entry.table,
            "preset": entry.preset,
            "n_given": entry.n_given,
            "method": entry.method,
            "n_generated": entry.n_generated,
            "n_seeds": entry.n_seeds,
            "means": _rounded(entry.means),
            "ci95": _rounded(entry.intervals),
            "published": entry.published,
            "published_ci95": entry.published_interval,
            "difference": _rounded(entry.difference),
        }
        for entry in entries
    ]
    head = json.dumps({"about": dict(about), "provenance": provenances}, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(row) for row in table)
    run_lines = ",\n  ".join(json.dumps(row) for row in runs)
    return f'{head},\n "table": [\n  {lines}\n ],\n "runs": [\n  {run_lines}\n ]\n}}\n'


def as_markdown(entries: Sequence[Entry], measure: str = "transductive_last") -> str:
    """Rows by given domains; each cell ours, and the published figure with the difference in brackets."""
    columns = _columns(entries)
    lines = ["| given | " + " | ".join(_title(column) for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for n_given in sorted({entry.n_given for entry in entries}):
        row = {entry.column: entry for entry in entries if entry.n_given == n_given}
        cells = [_cell(row[column], measure) if column in row else "" for column in columns]
        lines.append(f"| {n_given} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def print_table(entries: Sequence[Entry], title: str) -> None:
    """The table on the terminal, as Markdown where rich is missing."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(f"\n{title}\n\n{as_markdown(entries)}")
        return
    columns = _columns(entries)
    table = Table(title=title)
    table.add_column("given", justify="right")
    for column in columns:
        table.add_column(_title(column), justify="center")
    for n_given in sorted({entry.n_given for entry in entries}):
        row = {entry.column: entry for entry in entries if entry.n_given == n_given}
        cells = [_cell(row[column], "transductive_last", "\n") if column in row else "" for column in columns]
        table.add_row(str(n_given), *cells)
    Console().print(table)


def write_outputs(
    entries: Sequence[Entry], results: Mapping[Cell, Mapping[str, Any]], folder: Path, name: str, about: dict[str, Any]
) -> list[Path]:
    """Write ``name.csv``, ``name.json`` and ``name.md`` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    number = published_number(entries[0].table)
    title = f"# {entries[0].table}, preset {entries[0].preset} (table {number} of the paper)\n\n"
    note = (
        "Transductive accuracy of the last model in percent, mean ± 95 % confidence interval (Student's t); in "
        "brackets the published figure and our difference.\n\n"
    )
    held = "\nHeld-out accuracy of the last model:\n\n" + as_markdown(entries, "heldout_last")
    paths = [folder / f"{name}{ending}" for ending in (".csv", ".json", ".md")]
    paths[0].write_text(as_csv(entries))
    paths[1].write_text(as_json(entries, results, about))
    paths[2].write_text(title + note + as_markdown(entries) + held)
    return paths


def _columns(entries: Sequence[Entry]) -> list[str]:
    present = {entry.column for entry in entries}
    return [name for name in _TITLES if name in present] + sorted(present - set(_TITLES))


def _title(column: str) -> str:
    return _TITLES.get(column, f"GOAT, {column.removeprefix('goat ')} generated")


def _cell(entry: Entry, measure: str, line: str = " ") -> str:
    mean, interval = entry.means[measure], entry.intervals[measure]
    if mean is None:
        return "-"
    text = f"{mean:.1f}" + ("" if interval is None else f" ± {interval:.1f}")
    if entry.difference is None or measure != "transductive_last":
        return text
    return f"{text}{line}({entry.published:.1f}, {entry.difference:+.1f})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.8g}") if isinstance(value, float) else value

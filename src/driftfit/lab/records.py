"""Tables read back from the JSON that `write_outputs` wrote, by today's version or an earlier one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftfit.errors import InputError
from driftfit.lab.cells import Cell
from driftfit.lab.layouts import TABLES, make_table
from driftfit.lab.presets import PRESETS
from driftfit.lab.statistics import Entry
from driftfit.lab.table import Place, Table

__all__ = ["TableRecord", "read_record", "read_records"]


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

"""`Store`: finished cells in an SQLite file, one atomic record each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradapt.errors import InputError
from gradapt.paper.cells import Cell

__all__ = ["Store"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    key TEXT PRIMARY KEY,
    result TEXT NOT NULL,
    provenance TEXT NOT NULL,
    seconds REAL NOT NULL,
    peak_bytes INTEGER NOT NULL,
    finished_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
)
"""


class Store:
    """Records of finished cells. A record is written whole or not at all, and never twice.

    Parameters
    ----------
    path : path
        The file; made with its folder where it is missing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "cells.sqlite")
    ...     cell = Cell("covtype", "reference", 0, 2, "goat", 4)
    ...     store.add(cell, {"accuracy": 0.5}, {}, 1.0, 0)
    ...     store.add(cell, {"accuracy": 0.9}, {}, 1.0, 0)  # finished already: kept as it was
    ...     store.results([cell])[cell]["accuracy"]
    True
    False
    0.5
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._open() as connection:
                # Readers and writers of several processes do not wait for each other.
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} is not a store of cells ({error}); choose another file") from None

    def add(
        self, cell: Cell, result: dict[str, Any], provenance: dict[str, Any], seconds: float, peak_bytes: int
    ) -> bool:
        """Write the record of a finished cell; False where there was one already."""
        with self._open() as connection:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO records (key, result, provenance, seconds, peak_bytes) VALUES (?, ?, ?, ?, ?)",
                (cell.key, json.dumps(result), json.dumps(provenance), seconds, peak_bytes),
            )
        return cursor.rowcount == 1

    def finished(self, cells: Iterable[Cell]) -> set[Cell]:
        """Those of the cells that have a record."""
        with self._open() as connection:
            keys = {row[0] for row in connection.execute("SELECT key FROM records")}
        return {cell for cell in cells if cell.key in keys}

    def results(self, cells: Iterable[Cell]) -> dict[Cell, dict[str, Any]]:
        """Results of finished cells, with their seconds, memory and provenance."""
        with self._open() as connection:
            rows = connection.execute("SELECT key, result, provenance, seconds, peak_bytes, finished_at FROM records")
            known = {row[0]: row[1:] for row in rows}
        found = {}
        for cell in cells:
            if cell.key in known:
                result, provenance, seconds, peak_bytes, finished_at = known[cell.key]
                found[cell] = {
                    **json.loads(result),
                    "provenance": json.loads(provenance),
                    "seconds": seconds,
                    "peak_bytes": peak_bytes,
                    "finished_at": finished_at,
                }
        return found

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=60)
        try:
            # A record survives a power cut as soon as `add` returns.
            connection.execute("PRAGMA synchronous=FULL")
            with connection:
                yield connection
        finally:
            connection.close()

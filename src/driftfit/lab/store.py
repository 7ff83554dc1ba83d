"""`Store`: finished cells in an SQLite file, one atomic record each, who is at work on the others, and what failed."""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import secrets
import sqlite3
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from driftfit.errors import InputError, one_line
from driftfit.files import DISK, cannot_write
from driftfit.parallel import Failure

_LOG = logging.getLogger("driftfit")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    key TEXT PRIMARY KEY,
    result TEXT NOT NULL,
    provenance TEXT NOT NULL,
    seconds REAL NOT NULL,
    peak_bytes INTEGER NOT NULL,
    finished_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    traceback TEXT NOT NULL,
    failed_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    owner TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    engine TEXT NOT NULL,
    cells TEXT NOT NULL,
    finished_before INTEGER NOT NULL,
    started REAL NOT NULL,
    until REAL NOT NULL,
    ended REAL,
    state TEXT NOT NULL
);
"""

# A claim that is not renewed for so long is free for others.
LEASE_SECONDS = 60.0
# Keys that are asked for at once; SQLite takes no more than 999 of them everywhere.
_MOST_KEYS = 500


class Cell(Protocol):
    """What a store holds records of: plain data with a text that says which, and a name for people."""

    @property
    def key(self) -> str: ...

    @property
    def group(self) -> Hashable:
        """Cells of one group share what is prepared once."""
        ...

    def __lt__(self, other: Any) -> bool: ...


AnyCell = TypeVar("AnyCell", bound=Cell)


def new_owner() -> str:
    """A name for whoever works on cells: machine, process, and something that no other has."""
    return f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"


class Store:
    """Records of finished cells. A record is written whole or not at all, and never twice.

    ``path``: the file; made with its folder where it is missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._told: set[str] = set()
        try:
            if self.path.exists() and not self.path.is_file():
                raise InputError(f"{str(self.path)!r} is not a file; choose another one for the store")
            DISK.make_folders(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from None
        with self.connected() as connection:
            # A view or a trigger of somebody else could go on for ever.
            other = connection.execute("SELECT type FROM sqlite_master WHERE type NOT IN ('table', 'index')").fetchone()
            if other is not None:
                raise InputError(
                    f"{str(self.path)!r} is not a store of cells (it holds a {other[0]}); choose another file"
                )
            # Readers and writers of several processes do not wait for each other.
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_SCHEMA)
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(found)

    def add(
        self, cell: Cell, result: dict[str, Any], provenance: dict[str, Any], seconds: float, peak_bytes: int
    ) -> bool:
        """Write the record of a finished cell; False where there was a sound one already."""
        record = (json.dumps(result), json.dumps(provenance), seconds, peak_bytes)
        with self.connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            columns = "result, provenance, seconds, peak_bytes"
            row = connection.execute(f"SELECT {columns} FROM records WHERE key = ?", (cell.key,)).fetchone()
            new = row is None or isinstance(_read(row), str)
            if new:
                connection.execute(
                    f"INSERT OR REPLACE INTO records (key, {columns}) VALUES (?, ?, ?, ?, ?)", (cell.key, *record)
                )
            connection.execute("DELETE FROM claims WHERE key = ?", (cell.key,))
            connection.execute("DELETE FROM failures WHERE key = ?", (cell.key,))
        return new

    def fail(self, cell: Cell, failure: Failure) -> None:
        """Keep why a cell has no record; the cell is free again, and a later record takes the place of this."""
        row = (cell.key, str(cell), failure.kind, failure.text, failure.traceback, time.time())
        with self.connected() as connection:
            connection.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute("DELETE FROM claims WHERE key = ?", (cell.key,))

    def finished(self, cells: Iterable[AnyCell]) -> set[AnyCell]:
        """Those of the cells that have a sound record."""
        return set(self.results(cells))

    def results(self, cells: Iterable[AnyCell]) -> dict[AnyCell, dict[str, Any]]:
        """Results of finished cells, with their seconds, memory and provenance.

        A record that cannot be read, or that lacks its accuracy, does not count; the log says so once.
        """
        with self.connected() as connection:
            return self._sound(connection, cells)

    def claim(self, cells: Iterable[AnyCell], owner: str) -> list[AnyCell]:
        """Take those of the cells that are neither finished nor claimed by somebody who lives.

        ``owner``: from `new_owner`; must `renew` within the lease.
        """
        cells = list(cells)
        with self.connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            finished = self._sound(connection, cells)
            taken = _rows(connection, "key, owner, until", "claims", cells)
            free = [cell for cell in cells if cell not in finished and not _held(taken.get(cell.key), owner)]
            until = time.time() + LEASE_SECONDS
            rows = [(cell.key, owner, until) for cell in free]
            connection.executemany("INSERT OR REPLACE INTO claims (key, owner, until) VALUES (?, ?, ?)", rows)
        return free

    def renew(self, owner: str) -> None:
        """Lengthen the lease of all that an owner has claimed, and of its run."""
        with self.connected() as connection:
            for table in ("claims", "runs"):
                until = time.time() + LEASE_SECONDS
                connection.execute(f"UPDATE {table} SET until = ? WHERE owner = ?", (until, owner))

    def release(self, owner: str) -> None:
        """Give back all that an owner has claimed."""
        with self.connected() as connection:
            connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the file open in the block: whoever closes it last moves the log of changes into it, which is slow."""
        try:
            connection = sqlite3.connect(self.path, timeout=60)
            connection.execute("SELECT count(*) FROM claims").fetchone()
        except sqlite3.Error as error:
            raise InputError(_explained(self.path, error)) from None
        try:
            yield
        finally:
            connection.close()

    def _sound(self, connection: sqlite3.Connection, cells: Iterable[AnyCell]) -> dict[AnyCell, dict[str, Any]]:
        cells = list(cells)
        known = _rows(connection, "key, result, provenance, seconds, peak_bytes, finished_at", "records", cells)
        found = {}
        for cell in cells:
            if cell.key in known:
                read = _read(known[cell.key])
                if isinstance(read, str):
                    self._tell_once(cell, read)
                else:
                    found[cell] = {**read, "finished_at": known[cell.key][4]}
        return found

    def _tell_once(self, cell: Cell, reason: str) -> None:
        if cell.key not in self._told:
            self._told.add(cell.key)
            _LOG.warning("driftfit: the record of %s in %s %s; it counts as not finished", cell, self.path, reason)

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are all made at the end of the block, or none; errors are one clear line."""
        try:
            connection = sqlite3.connect(self.path, timeout=60)
            try:
                # A record survives a power cut as soon as `add` returns.
                connection.execute("PRAGMA synchronous=FULL")
                with connection:
                    yield connection
            finally:
                connection.close()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where SQLite quotes a spoiled layout
            raise InputError(_explained(self.path, error)) from None


def _read(row: tuple[Any, ...]) -> dict[str, Any] | str:
    """A record as values, or what is wrong with it."""
    try:
        result, provenance = json.loads(row[0]), json.loads(row[1])
    except (TypeError, ValueError, RecursionError):
        return "is no JSON"
    if not isinstance(result, dict) or not isinstance(provenance, dict):
        return "is no JSON object"
    # Where the target has no labels nothing is measured, and the score without them stands alone.
    accuracy = result.get("transductive_last")
    accuracy = result.get("score") if accuracy is None else accuracy
    if isinstance(accuracy, bool) or not isinstance(accuracy, int | float) or not abs(accuracy) < math.inf:
        return "has no accuracy"
    if not all(isinstance(number, int | float) for number in row[2:4]):
        return "has no time and memory"
    return {**result, "provenance": provenance, "seconds": row[2], "peak_bytes": row[3]}


def _rows(
    connection: sqlite3.Connection, columns: str, table: str, cells: Sequence[Cell]
) -> dict[str, tuple[Any, ...]]:
    """The rows of some cells by key, without their first column."""
    found: dict[str, tuple[Any, ...]] = {}
    for start in range(0, len(cells), _MOST_KEYS):
        keys = [cell.key for cell in cells[start : start + _MOST_KEYS]]
        marks = ", ".join("?" * len(keys))
        for row in connection.execute(f"SELECT {columns} FROM {table} WHERE key IN ({marks})", keys):
            found[row[0]] = row[1:]
    return found


def _held(claim: tuple[Any, ...] | None, owner: str) -> bool:
    """Whether somebody else who lives has claimed a cell."""
    return claim is not None and claim[0] != owner and is_alive(*claim)


def is_alive(owner: Any, until: Any) -> bool:
    """Whether an owner, who is to renew what it has before a time, still lives."""
    if not isinstance(owner, str) or not isinstance(until, int | float):
        return False  # nothing that we wrote
    if until < time.time():
        return False
    machine, _, rest = owner.partition(":")
    number = rest.partition(":")[0][:20]
    # On another machine, or on Windows, only the lease tells.
    if os.name == "nt" or machine != platform.node() or not number.isdecimal():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _explained(path: Path, error: Exception) -> str:
    text = one_line(str(error))
    if "not a database" in text:
        return f"{path} is not a store of cells ({text}); choose another file"
    if "full" in text:
        return f"cannot write {str(path)!r} ({text}); make room. Finished cells are kept"
    if "locked" in text or "busy" in text:
        return f"{str(path)!r} is held by another program ({text}); end that, then run again. Finished cells are kept"
    if isinstance(error, sqlite3.OperationalError) and "malformed" not in text and "corrupt" not in text:
        return f"cannot use {str(path)!r} as a store ({text}); choose another file. Finished cells are kept"
    return f"{str(path)!r} is damaged ({text}); move it away, or save what is readable with 'sqlite3 FILE .recover'"

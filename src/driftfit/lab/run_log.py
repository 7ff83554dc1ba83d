"""Runs on a store: who started what, how far it is, how it ended; written by the run and read by anybody."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from driftfit.errors import InputError
from driftfit.lab.store import LEASE_SECONDS, Cell, Store, is_alive

__all__ = ["FailedCell", "RunLog", "RunState", "failed_cells", "run_states"]


@dataclass(frozen=True)
class RunState:
    """A run as the store knows it.

    Attributes
    ----------
    command, engine : str
    state : str
        ``running``, ``finished``, ``some failed``, ``interrupted``, ``stopped`` by an error, or ``died``.
    n_cells, n_finished, n_failed : int
    started : float
        Seconds since 1970.
    seconds : float
        How long it has run.
    seconds_left : float or None
        By the pace so far; None where nothing is running or nothing is finished yet.
    """

    command: str
    engine: str
    state: str
    n_cells: int
    n_finished: int
    n_failed: int
    started: float
    seconds: float
    seconds_left: float | None


@dataclass(frozen=True)
class FailedCell:
    """A cell that failed and has no record since."""

    name: str
    kind: str
    text: str
    traceback: str
    failed_at: float


@dataclass(eq=False)
class RunLog:
    """The line of one run; its lease is renewed with the claims of its owner."""

    store: Store
    owner: str
    failed: bool = field(default=False)

    @contextmanager
    def started(self, command: str, engine: str, cells: Sequence[Cell], n_finished: int) -> Iterator[RunLog]:
        """Write down that a run is under way, and at the end how it ended."""
        now = time.time()
        keys = json.dumps([cell.key for cell in cells])
        row = (self.owner, command, engine, keys, n_finished, now, now + LEASE_SECONDS, None, "running")
        with self.store.connected() as connection:
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        state = "stopped"
        try:
            yield self
            state = "some failed" if self.failed else "finished"
        except (KeyboardInterrupt, GeneratorExit):
            state = "interrupted"
            raise
        finally:
            # Where even this cannot be written, the run counts as died once its process is gone.
            with suppress(InputError), self.store.connected() as connection:
                end = (time.time(), state, self.owner)
                connection.execute("UPDATE runs SET ended = ?, state = ? WHERE owner = ?", end)


def run_states(store: Store) -> list[RunState]:
    """All runs on a store, the last one last."""
    with store.connected() as connection:
        rows = connection.execute(
            "SELECT owner, command, engine, cells, finished_before, started, until, ended, state FROM runs "
            "ORDER BY started"
        ).fetchall()
        return [_state(connection, row) for row in rows]


def failed_cells(store: Store) -> list[FailedCell]:
    """Cells that failed and have no record since, with their tracebacks."""
    with store.connected() as connection:
        rows = connection.execute(
            "SELECT name, kind, text, traceback, failed_at FROM failures ORDER BY failed_at"
        ).fetchall()
    return [FailedCell(*row) for row in rows]


def _state(connection: sqlite3.Connection, row: tuple[Any, ...]) -> RunState:
    owner, command, engine, cells, before, started, until, ended, state = row
    keys = json.loads(cells)
    n_finished = _among(connection, "records", keys)
    alive = state == "running" and is_alive(owner, until)
    if state == "running" and not alive:
        # It could not say how it ended; the last thing known is when it renewed its lease.
        state, ended = "died", max(started, until - LEASE_SECONDS)
    seconds = (time.time() if ended is None else ended) - started
    new, left = n_finished - before, None
    if alive and new > 0:
        left = seconds / new * (len(keys) - n_finished)
    return RunState(
        command, engine, state, len(keys), n_finished, _among(connection, "failures", keys), started, seconds, left
    )


def _among(connection: sqlite3.Connection, table: str, keys: list[str]) -> int:
    count = connection.execute(
        f"SELECT count(*) FROM {table} WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(keys),)
    ).fetchone()
    return int(count[0])

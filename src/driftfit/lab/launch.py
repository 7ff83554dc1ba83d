"""Run the cells that a store lacks on any engine; records come back here, to the one writer of the store.

Whoever launches claims cells in the store first. So several commands on one store share the work by looking at it and
nothing else; the claims of one that died are free for the others. Beside the records stands who started what, how far
it is and how it ended: written by the run, and read by anybody.
"""

from __future__ import annotations

import json
import logging
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from driftfit.errors import InputError, SolverError
from driftfit.lab.store import LEASE_SECONDS, Cell, Store, is_alive, new_owner
from driftfit.parallel import Batch, Engine, Failure, Serial
from driftfit.parallel_tasks import Workload
from driftfit.seeds import derive_seed

# Called after each finished cell with its accuracy; None where nothing is measured.
OnCell = Callable[[Any, float | None], None]
# From the number of cells and of those that are finished to a function that is told a line about each new one.
Progress = Callable[[int, int], AbstractContextManager[Callable[[str], None]]]

_LOG = logging.getLogger("driftfit")


@dataclass(frozen=True)
class Record:
    """What a workload gives back for a cell: its numbers, where they come from, time and memory."""

    result: dict[str, Any]
    provenance: dict[str, Any]
    seconds: float
    peak_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Finished:
    """How a launch ended: cells that were run here, and those that failed."""

    n_run: int
    n_cells: int
    failures: dict[Any, Failure]
    store: Store

    def raise_failed(self) -> None:
        """One line about the cells that failed, if any did."""
        if not self.failures:
            return
        cell, failure = next(iter(self.failures.items()))
        count = f"{len(self.failures)} of {self.n_cells} cells failed, the first " if len(self.failures) > 1 else ""
        error = InputError if all(own.refused for own in self.failures.values()) else SolverError
        raise error(
            f"{count}{cell}: {failure.text}. Finished cells are kept and the same command goes on; driftfit runs "
            f"{self.store.path} shows more"
        )


def launch(
    cells: Sequence[Any],
    workload: Workload,
    store: Store,
    engine: Engine | None = None,
    *,
    on_cell: OnCell | None = None,
    command: str = "",
) -> Finished:
    """Run every cell that the store does not hold yet; a cell that fails does not hold up the others.

    ``workload``: ``prepare`` gets the cells of one group, ``run`` one of them and returns a `Record`. ``store``: each
    finished cell becomes one record at once, so that an interrupted run goes on where it was. ``engine``: `Serial` by
    default. ``on_cell``: for progress displays; also called for cells that another run finishes meanwhile. ``command``:
    what is being run, for ``driftfit runs``.
    """
    engine = engine or Serial()
    finished = store.finished(cells)
    missing = {cell for cell in cells if cell not in finished}
    if not missing:
        return Finished(0, len(cells), {}, store)
    failures: dict[Any, Failure] = {}
    n_run = 0
    with (
        store.held(),
        _owner(store) as owner,
        _logged(store, owner, command, engine.words, cells, len(finished), failures),
    ):
        todo = _Todo(store, owner, workload, on_cell, missing)
        with closing(engine.run(todo.batches())) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                if outcome.failure is not None:
                    failures[outcome.task] = outcome.failure
                    store.fail(outcome.task, outcome.failure)
                    continue
                record: Record = outcome.value
                n_run += store.add(outcome.task, record.result, record.provenance, record.seconds, record.peak_bytes)
                todo.tell(outcome.task, record.result)
    return Finished(n_run, len(cells), failures, store)


@dataclass(eq=False)
class _Todo:
    """What is neither finished nor in the hands of this launch."""

    store: Store
    owner: str
    workload: Workload
    on_cell: OnCell | None
    waiting: set[Any]

    def batches(self) -> Iterator[Batch | None]:
        """Groups that nobody else has claimed, until every cell is finished, by us or by others."""
        patient = False
        while self.waiting:
            claimed = False
            for group in _grouped(sorted(self.waiting)).values():
                mine = self.store.claim(group, self.owner)
                if mine:
                    claimed = True
                    self.waiting -= set(mine)
                    yield Batch(self.workload, tuple(mine))
            self._look()
            if self.waiting and not claimed:
                if not patient and self.on_cell is not None:
                    _LOG.warning("driftfit: another run is at work on %d cells; waiting for it", len(self.waiting))
                patient = True
                yield None

    def tell(self, cell: Any, result: dict[str, Any]) -> None:
        if self.on_cell is not None:
            self.on_cell(cell, result["transductive_last"])

    def _look(self) -> None:
        """Cells that others have finished meanwhile."""
        for cell, result in self.store.results(self.waiting).items():
            self.waiting.discard(cell)
            self.tell(cell, result)


def _grouped(cells: Iterable[Cell]) -> dict[Hashable, list[Cell]]:
    groups: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    return groups


@contextmanager
def _owner(store: Store) -> Iterator[str]:
    """A name to claim cells under; the claims live as long as the block."""
    owner, done = new_owner(), threading.Event()

    def renew() -> None:
        while not done.wait(LEASE_SECONDS / 6):
            # A store that is busy for long is asked again; the lease outlasts several tries.
            with suppress(InputError):
                store.renew(owner)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield owner
    finally:
        done.set()
        with suppress(InputError):
            store.release(owner)


@dataclass(frozen=True)
class RunState:
    """A run as the store knows it.

    ``state``: ``running``, ``finished``, ``some failed``, ``interrupted``, ``stopped`` by an error, or ``died``.
    ``started``: seconds since 1970. ``seconds``: how long it has run. ``seconds_left``: by the pace so far; None where
    nothing is running or nothing is finished yet.
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


@contextmanager
def _logged(
    store: Store,
    owner: str,
    command: str,
    engine: str,
    cells: Sequence[Cell],
    n_finished: int,
    failures: dict[Any, Any],
) -> Iterator[None]:
    """Write down that a run is under way, and at the end how it ended; its lease is renewed with its owner's claims."""
    now = time.time()
    keys = json.dumps([cell.key for cell in cells])
    row = (owner, command, engine, keys, n_finished, now, now + LEASE_SECONDS, None, "running")
    with store.connected() as connection:
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    state = "stopped"
    try:
        yield
        state = "some failed" if failures else "finished"
    except (KeyboardInterrupt, GeneratorExit):
        state = "interrupted"
        raise
    finally:
        # Where even this cannot be written, the run counts as died once its process is gone.
        with suppress(InputError), store.connected() as connection:
            end = (time.time(), state, owner)
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


@contextmanager
def attended(store: Store, cells: Sequence[Cell], progress: Progress | None) -> Iterator[OnCell | None]:
    """A function to call after each cell, which says where the run stands; an interrupt says what is kept."""
    done = n_finished = len(store.finished(cells))
    with interruptible(store, cells):
        if progress is None or n_finished == len(cells):
            yield None
            return
        started = time.perf_counter()
        with progress(len(cells), n_finished) as tell:

            def report(cell: Any, accuracy: float | None) -> None:
                nonlocal done
                done += 1
                passed = time.perf_counter() - started
                left = passed / (done - n_finished) * (len(cells) - done)
                told = "done" if accuracy is None else f"{accuracy:.1f} %"
                tell(f"{passed:.0f} s, {left:.0f} s left: {cell}: {told}")

            yield report


@contextmanager
def interruptible(store: Store, cells: Sequence[Cell]) -> Iterator[None]:
    """An interrupt, or a request to end, says what is kept."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    # Only the main thread may listen; a caller's own threads leave the signal as it is.
    here = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if here else None
    try:
        yield
    except KeyboardInterrupt:
        n_finished = len(store.finished(cells))
        raise KeyboardInterrupt(
            f"interrupted; {n_finished} of {len(cells)} cells are finished and kept in {store.path}; the same command "
            "goes on there"
        ) from None
    finally:
        if here:
            signal.signal(signal.SIGTERM, before)


# A grid that costs next to nothing, to try an engine or a cluster with ------------------------------------


@dataclass(frozen=True, order=True)
class ToyCell:
    """One cell of the grid.

    >>> ToyCell(1, 2).group, str(ToyCell(1, 2))
    (1, 'toy 1.2')
    """

    seed: int
    number: int

    @property
    def key(self) -> str:
        return json.dumps({"toy": asdict(self)}, sort_keys=True, separators=(",", ":"))

    @property
    def group(self) -> int:
        return self.seed

    def __str__(self) -> str:
        return f"toy {self.seed}.{self.number}"


def toy_grid(n_groups: int, n_each: int) -> list[ToyCell]:
    """Cells in groups that share a matrix."""
    return [ToyCell(seed, number) for seed in range(n_groups) for number in range(n_each)]


@dataclass(frozen=True)
class ToyWork:
    """Each cell multiplies the matrix of its group some times, and rests for the remainder of its seconds.

    ``seconds``: of each cell. ``busy``: share of them that it computes. ``size``: rows of the matrix.
    """

    seconds: float = 0.0
    busy: float = 1.0
    size: int = 40

    def prepare(self, tasks: tuple[ToyCell, ...], scratch: dict[str, Any]) -> Any:
        """The matrix of a group."""
        rng = np.random.default_rng(derive_seed(tasks[0].seed, "toy"))
        return rng.normal(size=(self.size, self.size))

    def run(self, shared: Any, task: ToyCell) -> Record:
        """A number that depends on the cell alone, whoever computes it."""
        started = time.perf_counter()
        vector = np.random.default_rng(derive_seed(task.seed, task.number)).normal(size=self.size)
        for _ in range(20):
            vector = shared @ vector
            vector /= np.abs(vector).max()
        while time.perf_counter() - started < self.seconds * self.busy:
            shared @ shared
        time.sleep(max(0.0, self.seconds - (time.perf_counter() - started)))
        result = {"transductive_last": float(100 * np.abs(vector).mean()), "vector": vector.tolist()}
        return Record(result, {"toy": True}, time.perf_counter() - started)

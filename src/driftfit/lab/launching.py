"""`launch`: run the cells that a store lacks on any engine; records come back here, to the one writer of the store.

Whoever launches claims cells in the store first. So several commands on one store share the work by looking at it and
nothing else; the claims of one that died are free for the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from driftfit.errors import InputError, SolverError
from driftfit.lab.run_log import RunLog
from driftfit.lab.store import LEASE_SECONDS, Cell, Store, new_owner
from driftfit.parallel import Batch, Engine, Failure, Serial, Workload

__all__ = ["Finished", "OnCell", "Record", "launch"]

# Called after each finished cell with its accuracy; None where nothing is measured.
OnCell = Callable[[Any, float | None], None]

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

    Parameters
    ----------
    cells : sequence of Cell
    workload : Workload
        ``prepare`` gets the cells of one group, ``run`` one of them and returns a `Record`.
    store : Store
        Each finished cell becomes one record at once, so that an interrupted run goes on where it was.
    engine : Engine
        `Serial` by default.
    on_cell : callable, optional
        For progress displays; also called for cells that another run finishes meanwhile.
    command : str
        What is being run, for ``driftfit runs``.
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
        RunLog(store, owner).started(command, engine.words, cells, len(finished)) as log,
    ):
        todo = _Todo(store, owner, workload, on_cell, missing)
        with closing(engine.run(todo.batches())) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                if outcome.failure is not None:
                    failures[outcome.task] = outcome.failure
                    store.fail(outcome.task, outcome.failure)
                    log.failed = True
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

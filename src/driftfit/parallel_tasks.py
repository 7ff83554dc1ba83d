"""What every engine takes and gives, and the one loop that hands tasks to workers of any kind.

A worker stays with a batch while there is something left of it, so that what its tasks share is made once. A task
whose worker is gone is given to another; one that was there several times when a worker went is at fault.
"""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from driftfit.errors import InputError, SolverError, one_line

_LOG = logging.getLogger("driftfit")
# How often somebody who waits looks again.
POLL_SECONDS = 0.5
# A task that takes so many workers with it is given up; so is one that so often lacked what it shares with others.
MOST_ATTEMPTS, MOST_WAITS = 3, 10
# The end of a traceback says where it broke; more of it only fills the store.
_MOST_TEXT = 20_000


@runtime_checkable
class Workload(Protocol):
    """How tasks are done; a value that can be sent to another process."""

    def prepare(self, tasks: tuple[Any, ...], scratch: dict[str, Any]) -> Any:
        """What all tasks of a batch share. ``scratch`` lives as long as the worker does."""

    def run(self, shared: Any, task: Any) -> Any:
        """The value of one task."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Tasks that share what is prepared once."""

    workload: Workload
    tasks: tuple[Any, ...]


@dataclass(frozen=True)
class Failure:
    """Why a task has no value: the name of the exception or ``"worker lost"``, one line, and where it broke."""

    kind: str
    text: str
    traceback: str = ""
    # Whether it was the input that could not be used (`InputError`).
    refused: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What an exception says.

        >>> Failure.of(MemoryError()).text
        'the memory is full; give fewer samples, or run fewer cells at a time'
        """
        told = isinstance(error, InputError | SolverError)
        text = str(error) if told else one_line(error)
        if isinstance(error, MemoryError):
            text = "the memory is full; give fewer samples, or run fewer cells at a time"
        lines = "".join(traceback.format_exception(error))[-_MOST_TEXT:]
        return cls(type(error).__name__, text, lines, isinstance(error, InputError))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of one task: a value, or a failure."""

    task: Any
    value: Any = None
    failure: Failure | None = None


class Engine(Protocol):
    """Where tasks run."""

    @property
    def words(self) -> str:
        """The engine for people, such as ``2 processes``."""
        ...

    @property
    def sharing(self) -> int:
        """How many tasks may be at work on one device at a time."""
        ...

    def run(self, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
        """Outcomes as they come. A batch is asked for when somebody is free; None: there is none now, ask again."""
        ...


def prepared(batch: Batch, scratch: dict[str, Any]) -> Any:
    """What the tasks of a batch share, or the failure to make it."""
    try:
        return batch.workload.prepare(batch.tasks, scratch)
    except Exception as error:
        return Failure.of(error)


def attempt(workload: Workload, shared: Any, task: Any) -> Outcome:
    """Do one task; whatever it raises, but an interrupt, is its outcome."""
    if isinstance(shared, Failure):
        return Outcome(task, failure=shared)
    try:
        return Outcome(task, workload.run(shared, task))
    except Exception as error:
        return Outcome(task, failure=Failure.of(error))


def unsendable(error: Exception) -> InputError:
    """Somebody's own values that no other process can be handed."""
    return InputError(f"this cannot be sent to another process ({one_line(error)}); use the serial engine")


@dataclass(frozen=True)
class Lost:
    """A worker that is gone, and the words for it; not the task's fault where something that it shared was lost."""

    words: str
    blameless: bool = False


@dataclass(eq=False)
class Shared:
    """A batch as the workers know it, and what of it is left to do."""

    number: int
    batch: Batch
    left: deque[int]
    attempts: dict[int, int] = field(default_factory=dict)
    waits: dict[int, int] = field(default_factory=dict)
    # Where the crew keeps what the tasks share.
    place: Any = None


class Crew(Protocol):
    """Workers that can be given one task at a time."""

    def idle(self) -> list[Hashable]:
        """Workers that are ready for a task."""

    def give(self, worker: Hashable, shared: Shared, index: int) -> None:
        """Let a worker do the task of that number."""

    def wait(self, seconds: float) -> list[tuple[Hashable, Outcome | Lost]]:
        """What came back within some seconds, from whom."""
        ...


def dispatch(crew: Crew, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
    """Outcomes of all tasks, as they come. A batch is asked for when a worker is free; None: there is none now."""
    known: list[Shared] = []
    staff: dict[Hashable, Shared] = {}
    given: dict[Hashable, tuple[Shared, int]] = {}
    more, count = True, 0
    while True:
        dry = False
        for worker in crew.idle():
            shared = _with_work(staff.get(worker))
            if shared is None and more and not dry:
                batch = next(batches, False)
                more, dry = batch is not False, batch is None
                if isinstance(batch, Batch):
                    shared = Shared(count, batch, deque(range(len(batch.tasks))))
                    known.append(shared)
                    count += 1
            known = [own for own in known if own.left]
            # Nothing new: help where most is left.
            shared = _with_work(shared) or max(known, key=lambda own: len(own.left), default=None)
            if shared is not None:
                given[worker] = shared, shared.left.popleft()
                staff[worker] = shared
                crew.give(worker, *given[worker])
        if not given and not more and not any(own.left for own in known):
            return
        for worker, came in crew.wait(POLL_SECONDS):
            shared, index = given.pop(worker)
            if isinstance(came, Outcome):
                yield replace(came, task=shared.batch.tasks[index])
                continue
            staff.pop(worker, None)
            failure = _blamed(shared, index, came)
            if failure is not None:
                yield Outcome(shared.batch.tasks[index], failure=failure)
            elif shared not in known:
                known.append(shared)


def _with_work(shared: Shared | None) -> Shared | None:
    return shared if shared is not None and shared.left else None


def _blamed(shared: Shared, index: int, came: Lost) -> Failure | None:
    """Put a task back whose worker is gone, or say that it is at fault."""
    task = shared.batch.tasks[index]
    counts = shared.waits if came.blameless else shared.attempts
    counts[index] = counts.get(index, 0) + 1
    if counts[index] >= (MOST_WAITS if came.blameless else MOST_ATTEMPTS):
        text = f"{came.words} {counts[index]} times, perhaps for its memory; run fewer cells at a time"
        return Failure("worker lost", text)
    _LOG.warning("driftfit: %s at %s; another one takes over", came.words, task)
    shared.left.appendleft(index)
    return None

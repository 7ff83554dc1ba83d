"""The one loop that hands tasks to workers of any kind and takes back what comes of them.

A worker stays with a batch while there is something left of it, so that what its tasks share is made once. A task
whose worker is gone is given to another; one that was there several times when a worker went is at fault.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from driftfit.parallel.engine import POLL_SECONDS, Batch, Failure, Outcome

__all__ = ["MOST_ATTEMPTS", "Crew", "Lost", "Shared", "dispatch"]

_LOG = logging.getLogger("driftfit")
# A task that takes so many workers with it is given up; so is one that so often lacked what it shares with others.
MOST_ATTEMPTS, MOST_WAITS = 3, 10


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
        ...

    def give(self, worker: Hashable, shared: Shared, index: int) -> None:
        """Let a worker do the task of that number."""
        ...

    def wait(self, seconds: float) -> list[tuple[Hashable, Outcome | Lost]]:
        """What came back within some seconds, from whom."""
        ...


def dispatch(crew: Crew, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
    """Outcomes of all tasks, as they come.

    Parameters
    ----------
    crew : Crew
    batches : iterator of Batch or None
        Asked for one when a worker is free; None: there is none now.
    """
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

"""What every engine takes and gives: batches of tasks that share something, and one outcome for each task."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftfit.errors import InputError, SolverError, one_line

__all__ = [
    "POLL_SECONDS",
    "Batch",
    "Bundle",
    "Engine",
    "Failure",
    "Outcome",
    "Workload",
    "attempt",
    "prepared",
    "unsendable",
]

# How often somebody who waits looks again.
POLL_SECONDS = 0.5
# The end of a traceback says where it broke; more of it only fills the store.
_MOST_TEXT = 20_000


@runtime_checkable
class Workload(Protocol):
    """How tasks are done; a value that can be sent to another process."""

    def prepare(self, tasks: tuple[Any, ...], scratch: dict[str, Any]) -> Any:
        """What all tasks of a batch share. ``scratch`` lives as long as the worker does."""
        ...

    def run(self, shared: Any, task: Any) -> Any:
        """The value of one task."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Tasks that share what is prepared once."""

    workload: Workload
    tasks: tuple[Any, ...]


@dataclass(frozen=True)
class Bundle:
    """Tasks that a worker does together, as one task; its value is the outcome of each.

    >>> print(Bundle(("a", "b")))
    a and 1 more
    """

    tasks: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.tasks[0]}" + (f" and {len(self.tasks) - 1} more" if len(self.tasks) > 1 else "")

    def each(self, outcome: Outcome) -> list[Outcome]:
        """The outcomes of the tasks; where the bundle failed as a whole, they all did."""
        if outcome.failure is None:
            return list(outcome.value)
        return [Outcome(task, failure=outcome.failure) for task in self.tasks]


@dataclass(frozen=True)
class Failure:
    """Why a task has no value.

    Attributes
    ----------
    kind : str
        Name of the exception, or ``"worker lost"``.
    text : str
        One line.
    traceback : str
    refused : bool
        Whether it was the input that could not be used (`InputError`).
    """

    kind: str
    text: str
    traceback: str = ""
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

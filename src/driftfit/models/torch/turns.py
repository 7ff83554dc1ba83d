"""`Turns`: functions that run one at a time, each until it asks for what is better given to several at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Turns"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")

# From new questions to some answers to these or earlier ones, at least one while any question is open.
Serve = Callable[[list[Question]], list[tuple[Question, Answer]]]


class _AbandonedError(BaseException):
    """Nobody waits for this function any more."""


class _Member(threading.Thread):
    """One function in a thread that runs only while nobody else does."""

    def __init__(self, number: int, task: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.number, self.task = number, task
        self.go, self.back = threading.Semaphore(0), threading.Semaphore(0)
        self.question: Any = None
        self.answer: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False

    def run(self) -> None:
        self.go.acquire()
        try:
            self.result = self.task()
        except BaseException as error:
            self.error = error
        self.done = True
        self.back.release()

    def resume(self) -> None:
        """Let the function run until it asks or ends."""
        if not self.is_alive():
            self.start()
        self.go.release()
        self.back.acquire()

    def ask(self, question: Any) -> Any:
        self.question = question
        self.back.release()
        self.go.acquire()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Turns(Generic[Question, Answer]):
    """Runs functions in turns. A function that asks waits until every other one waits as well or has ended.

    The functions read like any other: they call, deep inside, somebody who calls `ask`. They never run at the same
    time, so that nothing they share needs a lock, and the order of their turns does not depend on the clock.

    Parameters
    ----------
    serve : callable
        Gets the questions that are new and returns answers to some that are open; an exception as an answer is raised
        where the question was asked.

    Examples
    --------
    >>> turns = Turns(lambda questions: [(question, question * len(questions)) for question in questions])
    >>> sorted(turns.run([lambda: turns.ask(2), lambda: turns.ask(5), lambda: 1]))
    [(0, 4, None), (1, 10, None), (2, 1, None)]
    """

    def __init__(self, serve: Serve[Question, Answer]) -> None:
        self.serve = serve
        self._now: _Member | None = None

    @property
    def inside(self) -> bool:
        """Whether whoever looks is one of the functions."""
        return self._now is threading.current_thread()

    def ask(self, question: Question) -> Answer:
        """Called by a function in its turn: wait for the answer."""
        if self._now is None or not self.inside:
            raise RuntimeError("only a function that runs in turns can ask")
        answer: Answer = self._now.ask(question)
        return answer

    def run(
        self, tasks: Sequence[Callable[[], Any]], most: int | None = None
    ) -> Iterator[tuple[int, Any, BaseException | None]]:
        """Number, result and exception of each function, as they end; at most ``most`` are under way at a time."""
        later = deque(_Member(number, task) for number, task in enumerate(tasks))
        ready: list[_Member] = []
        waiting: list[_Member] = []
        try:
            while later or ready or waiting:
                new: list[Any] = []
                while ready or (later and (most is None or len(waiting) < most)):
                    member = ready.pop(0) if ready else later.popleft()
                    self._let_run(member)
                    if member.done:
                        yield member.number, member.result, member.error
                    else:
                        waiting.append(member)
                        new.append(member.question)
                if waiting:
                    ready = self._answered(waiting, new)
                    waiting = [member for member in waiting if member not in ready]
        finally:
            for member in (*ready, *waiting):
                member.answer = _AbandonedError()
                self._let_run(member)

    def _let_run(self, member: _Member) -> None:
        self._now = member
        try:
            member.resume()
        finally:
            self._now = None

    def _answered(self, waiting: list[_Member], new: list[Any]) -> list[_Member]:
        """Those that can go on; all of them, with the exception, where they cannot be served."""
        answers: list[tuple[int, Any]]
        try:
            answers = [(id(question), answer) for question, answer in self.serve(new)]
        except Exception as error:
            answers = [(id(member.question), error) for member in waiting]
        by_question = {id(member.question): member for member in waiting}
        for place, answer in answers:
            by_question[place].answer = answer
        return [by_question[place] for place, _ in answers]

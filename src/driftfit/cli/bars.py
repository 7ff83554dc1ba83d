"""Progress on stderr: bars with rich where it is installed and somebody looks, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with the name of a stage, how much of it is done and how much there is."""
    rich = _rich()
    if rich is None:
        yield _stage_lines()
        return
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description:<10}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as progress:
        tasks: dict[str, Any] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield advance


@contextmanager
def counted(total: int, done: int = 0) -> Iterator[Callable[[str], None]]:
    """A function to call with a line about each of so many parts, once it is done; some were done before."""
    rich = _rich()
    if rich is None:

        def line(text: str) -> None:
            nonlocal done
            done += 1
            print(f"[{done}/{total}] {text}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console

    columns = (
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.description}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        task = progress.add_task("starting", total=total, completed=done)
        yield lambda text: progress.update(task, advance=1, description=text)


def _rich() -> Any:
    """rich's progress bars, or None where nobody would see them."""
    if not sys.stderr.isatty():
        return None
    try:
        import rich.progress
    except ImportError:
        return None
    return rich.progress


def _stage_lines() -> Callable[[str, int, int], None]:
    started: dict[str, float] = {}
    finished: set[str] = set()

    def line(stage: str, done: int, total: int) -> None:
        started.setdefault(stage, time.perf_counter())
        if done >= total and stage not in finished:
            finished.add(stage)
            print(
                f"{stage:<10} {done}/{total} {time.perf_counter() - started[stage]:.1f} s", file=sys.stderr, flush=True
            )

    return line

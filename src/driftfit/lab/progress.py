"""Progress of a run: cells done, time left, last accuracy; with rich where it is installed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftfit.lab.launching import OnCell

__all__ = ["shown"]


@contextmanager
def shown(n_cells: int, n_finished: int, *, quiet: bool = False) -> Iterator[OnCell | None]:
    """A function to call after each cell, which shows where the run stands."""
    if quiet or n_cells == n_finished:
        yield None
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield _lines(n_cells, n_finished)
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(n_cells, n_finished)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("cells", total=n_cells, completed=n_finished)

        def report(cell: Any, accuracy: float | None) -> None:
            progress.update(task, advance=1, description=f"{cell} [bold]{_percent(accuracy)}")

        yield report


def _lines(n_cells: int, n_finished: int) -> OnCell:
    started = time.perf_counter()
    done = n_finished

    def report(cell: Any, accuracy: float | None) -> None:
        nonlocal done
        done += 1
        passed = time.perf_counter() - started
        left = passed / (done - n_finished) * (n_cells - done)
        print(
            f"[{done}/{n_cells}] {passed:.0f} s, {left:.0f} s left: {cell}: {_percent(accuracy)}",
            file=sys.stderr,
            flush=True,
        )

    return report


def _percent(accuracy: float | None) -> str:
    return "done" if accuracy is None else f"{accuracy:.1f} %"

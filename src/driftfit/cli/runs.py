"""`driftfit runs`: what is running on a store, what has run, and what failed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftfit.cli.parsing import Fail
from driftfit.cli.text import printable, text_table
from driftfit.errors import InputError

if TYPE_CHECKING:
    from driftfit.lab.launch import FailedCell, RunState
    from driftfit.lab.store import Store

HELP = """List runs of paper and sweep: their state, the time left, and what failed.

These commands keep finished cells in a file, the store. It is only read here, also while a run is writing it."""

_SECONDS = 1.0
_STORE = "runs/paper.sqlite"


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "store", nargs="?", default=_STORE, type=Path, metavar="STORE", help=f"the --store of a run [{_STORE}]"
    )
    parser.add_argument("--watch", action="store_true", help="refresh every second until nothing is running")
    parser.add_argument("--traceback", action="store_true", help="show where each failed cell broke")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print it as JSON, tracebacks included")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Look and print."""
    from driftfit.lab.launch import failed_cells, run_states
    from driftfit.lab.store import Store

    if not chosen.store.is_file():
        raise InputError(f"there is no store {str(chosen.store)!r}; name the --store of a run")
    store = Store(chosen.store)
    if chosen.watch:
        _watch(store)
    states, failed = run_states(store), failed_cells(store)
    if chosen.as_json:
        shown: Any = {"runs": [asdict(own) for own in states], "failed": [asdict(own) for own in failed]}
        print(json.dumps(shown, indent=2))
    elif not chosen.watch or not sys.stdout.isatty():
        print(_text(states, failed, tracebacks=chosen.traceback))
    return 0


def _watch(store: Store) -> None:
    """A live view on a terminal, a line for each change elsewhere."""
    from driftfit.lab.launch import failed_cells, run_states

    def look() -> tuple[str, bool]:
        states = run_states(store)
        return _text(states, failed_cells(store)), any(own.state == "running" for own in states)

    if not sys.stdout.isatty():
        while look()[1]:
            time.sleep(_SECONDS)
        return
    from driftfit.extras import need

    need("rich", "tables", "driftfit runs --watch")
    from rich.live import Live
    from rich.text import Text

    text, running = look()
    with Live(Text(text), refresh_per_second=4) as live:
        while running:
            time.sleep(_SECONDS)
            text, running = look()
            live.update(Text(text))


def _text(states: list[RunState], failed: list[FailedCell], *, tracebacks: bool = False) -> str:
    """The runs as a table, then the failures."""
    if not states:
        return "no run has used this store"
    header = ["run", "engine", "state", "cells", "failed", "since", "took", "left"]
    rows = []
    for own in states:
        left = "" if own.seconds_left is None else _duration(own.seconds_left)
        since = time.strftime("%m-%d %H:%M", time.localtime(own.started))
        cells, failures = f"{own.n_finished}/{own.n_cells}", str(own.n_failed)
        took = _duration(own.seconds)
        rows.append([_short(own.command), own.engine, own.state, cells, failures, since, took, left])
    lines = [text_table(header, rows, words=(0, 1, 2))]
    for cell in failed:
        lines.append(printable(f"failed: {cell.name}: {cell.kind}: {cell.text}"))
        if tracebacks:
            lines += [f"  {printable(line)}" for line in cell.traceback.splitlines()]
    return "\n".join(lines)


def _short(command: str, most: int = 40) -> str:
    return command if len(command) <= most else command[: most - 3] + "..."


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"

"""`driftfit runs`: what is running on a store, what has run, and what failed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from driftfit.cli.parsing import Fail
from driftfit.cli.text import printable, text_table
from driftfit.errors import InputError

if TYPE_CHECKING:
    from driftfit.lab.launch import FailedCell, RunState
    from driftfit.lab.store import Store

HELP = """List the run folders here, and runs of paper and sweep: their state, the time left, and what failed.

paper and sweep keep finished cells in a file, the store. It is only read here, also while a run is writing it."""

_SECONDS = 1.0
_MOST_FOLDERS = 100
_STORE = "runs/paper.sqlite"


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "store", nargs="?", type=Path, metavar="STORE", help=f"the --store of a run [{_STORE}, and folders of adapt]"
    )
    parser.add_argument("--watch", action="store_true", help="refresh every second until nothing is running")
    parser.add_argument("--traceback", action="store_true", help="show where each failed cell broke")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print it as JSON, tracebacks included")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Look and print."""
    from driftfit.lab.launch import failed_cells, run_states
    from driftfit.lab.store import Store

    if chosen.store is not None and not chosen.store.is_file():
        raise InputError(f"there is no store {str(chosen.store)!r}; name the --store of a run")
    folders = _folders() if chosen.store is None else []
    path = Path(_STORE) if chosen.store is None else chosen.store
    if not path.is_file():
        print(
            json.dumps({"folders": folders, "runs": [], "failed": []}, indent=2) if chosen.as_json else _here(folders)
        )
        return 0
    store = Store(path)
    if chosen.watch:
        _watch(store)
    states, failed = run_states(store), failed_cells(store)
    if chosen.as_json:
        shown = {"folders": folders, "runs": [asdict(own) for own in states], "failed": [asdict(own) for own in failed]}
        print(json.dumps(shown, indent=2))
    elif not chosen.watch or not sys.stdout.isatty():
        print("\n\n".join([*([_here(folders)] if folders else []), _text(states, failed, tracebacks=chosen.traceback)]))
    return 0


def _folders() -> list[dict[str, str]]:
    """The run folders of adapt in this folder: name, time, and what was done."""
    found = []
    for path in sorted(Path().glob("*/result.json"))[:_MOST_FOLDERS]:
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
            done = summary["answer"]["sentences"][1]
            found.append({"folder": path.parent.name, "made": str(summary["created"])[:16], "answer": str(done)})
        except (OSError, ValueError, LookupError, TypeError):
            continue  # somebody else's file of that name
    return found


def _here(folders: list[dict[str, str]]) -> str:
    """The run folders, or what would make one."""
    if not folders:
        return "nothing has run here: driftfit adapt -o RUN/ writes a folder, driftfit paper and sweep a store"
    return "\n".join(
        printable(f"{own['folder']}/  {own['made'].replace('T', ' ')}  {own['answer']}") for own in folders
    )


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
    alike: dict[tuple[str, str], list[FailedCell]] = {}
    for cell in failed:
        alike.setdefault((cell.kind, cell.text), []).append(cell)
    for (kind, text), same in alike.items():
        others = f" and {len(same) - 1} more" if len(same) > 1 else ""
        lines.append(printable(f"failed: {same[0].name}{others}: {kind}: {text}"))
        if tracebacks:
            lines += [f"  {printable(line)}" for line in same[0].traceback.splitlines()]
    return "\n".join(lines)


def _short(command: str, most: int = 40) -> str:
    return command if len(command) <= most else command[: most - 3] + "..."


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"

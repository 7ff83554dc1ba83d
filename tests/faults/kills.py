"""Kills at random instants, on a small disk that fills up: ``python tests/faults/kills.py --kills 200 --place DISK``.

Each command runs in a process that is ended by ``kill -9`` at a random instant. In every other case the disk is first
filled up, but for a random part of what the command writes; ``DISK`` must then be a small file system of its own, such
as a tmpfs of 16 MB. Whatever was there before must still be there, whole, and the same command, undisturbed, must end
with the files and numbers that it gives when nobody disturbs it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from driftfit.app.folder import open_run
from driftfit.cli import main as driftfit
from driftfit.datasets import write_made_data

TABLE = ["--label", "y", "--order", "t", "--windows", "4", "--transport-rows", "20"]
SWEEP = "name: s\ndata: [{table: t.csv, label: y, order: t, windows: 3, rows: 20}]\nmethods: [gst]\nseeds: 2\n"
STORE = ["--store", "s.sqlite", "--output", "out"]
COMMANDS = {
    "adapt": ["adapt", "t.csv", *TABLE, "--method", "gst", "-o", "RUN", "--force"],
    "update": ["update", "RUN", "new.csv"],
    "backtest": ["backtest", "t.csv", *TABLE, "-o", "OUT"],
    "paper": ["paper", "covtype", "--given", "0", "--generated", "0", "--seeds", "1", "--samples", "60",
              "--device", "cpu", *STORE],
    "sweep": ["sweep", "s.yaml", *STORE],
}  # fmt: skip
# What tells of the time and the place of a run, not of its result.
TIMES = frozenset(
    {
        "created",
        "at",
        "seconds",
        "wall_seconds_all_tables_of_this_command",
        "peak_bytes",
        "finished_at",
        "cells_run_now",
    }
)


def prepare(folder: Path) -> None:
    """The table, a run of it with another seed, rows that came later, and a sweep."""
    rng = np.random.default_rng(0)
    label, when = rng.integers(0, 2, 120), np.arange(120)
    table = pd.DataFrame({"x": rng.normal(size=120) + 2 * label, "z": rng.normal(size=120), "y": label, "t": when})
    table[:90].to_csv(folder / "t.csv", index=False)
    table[85:].to_csv(folder / "new.csv", index=False)
    (folder / "s.yaml").write_text(SWEEP)


def called(folder: Path, arguments: list[str]) -> int:
    """How a command ends in this process; 71 where it ends as none should."""
    code, said = 0, io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            driftfit(arguments)
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    if "Traceback" in said.getvalue() or "unexpected" in said.getvalue() or code not in (0, 1):
        sys.__stderr__.write(said.getvalue()[-2000:])
        return 71
    return code


def begin(folder: Path, arguments: list[str]) -> int:
    """The number of a new process, forked from this one with all that it has imported, that runs a command."""
    number = os.fork()
    if number:
        return number
    code = 70
    try:
        code = called(folder, arguments)
    finally:
        os._exit(code)


def ended(number: int) -> int:
    """How a process ended."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def result_of(folder: Path) -> dict[str, Any]:
    """Everything that a command left, without what tells of the time."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name in ("t.csv", "new.csv", "s.yaml") or path.name in ("manifest.json", "report.html"):
            continue
        if path.suffix == ".sqlite":
            found |= {f"record {key}": value for key, value in records(path).items()}
        elif path.suffix == ".json":
            found[name] = _timeless(json.loads(path.read_bytes()))
        elif path.suffix in (".md", ".csv"):  # the table for people, with its times
            found[name] = None
        elif not path.name.endswith(("-wal", "-shm", "-journal")):
            found[name] = path.read_bytes()
    return found


def records(path: Path) -> dict[str, Any]:
    with contextlib.closing(sqlite3.connect(path)) as store:
        if not store.execute("SELECT name FROM sqlite_master WHERE name = 'records'").fetchall():
            return {}
        return {key: _timeless(json.loads(own)) for key, own in store.execute("SELECT key, result FROM records")}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(own) for name, own in value.items() if name not in TIMES}
    return [_timeless(own) for own in value] if isinstance(value, list) else value


def where(one: Any, two: Any) -> str:
    """Where two values of JSON differ first."""
    if isinstance(one, dict) and isinstance(two, dict) and set(one) == set(two):
        return next((f"/{name}{where(one[name], two[name])}" for name in one if one[name] != two[name]), "")
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = enumerate(zip(one, two, strict=True))
        return next((f"/{place}{where(*pair)}" for place, pair in pairs if pair[0] != pair[1]), "")
    return ""


def fill(folder: Path, left: int) -> Path:
    """Fill the disk up, but for so many bytes."""
    ballast = folder / "ballast"
    disk = os.statvfs(folder)
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        os.posix_fallocate(file.fileno(), 0, max(disk.f_bavail * disk.f_frsize - left, 1))
    return ballast


def case(
    word: str, template: Path, place: Path, rng: np.random.Generator, took: float, *, full: bool
) -> tuple[str, list[str]]:
    """One kill and one command after it: how the first one ended, and what is wrong with what they left."""
    folder = place / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    before = result_of(folder)
    ballast = fill(place, int(rng.integers(0, 400_000))) if full else None
    number = begin(folder, COMMANDS[word])
    # On a full disk every third command may come to its end by itself.
    if not full or rng.random() < 2 / 3:
        time.sleep(rng.random() * took)
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    code = ended(number)
    how = "killed" if code < 0 else "at its end" if code == 0 else "refused by the disk"
    wrong = ["a traceback"] if code in (70, 71) else []
    if ballast is not None:
        ballast.unlink()
    kept = records(folder / "s.sqlite") if (folder / "s.sqlite").exists() else {}
    if word == "update" or (word == "adapt" and (template / "RUN").exists()):
        try:
            open_run(folder / "RUN")
        except Exception as error:
            wrong.append(f"the run is lost ({error})")
    if ended(begin(folder, COMMANDS[word])) != 0:
        return how, [*wrong, "the command does not end well when it is repeated"]
    after, true = result_of(folder), result_of(template.parent / f"{template.name}-after")
    wrong += [f"{name} is gone" for name in before if name not in after and name not in true]
    wrong += [f"{name} was {'added' if name not in true else 'lost'}" for name in set(after) ^ set(true)]
    wrong += [f"{name}{where(after[name], true[name])} differs" for name in set(after) & set(true)
              if after[name] != true[name]]  # fmt: skip
    return how, wrong + [f"record {key} was lost" for key, own in kept.items() if after.get(f"record {key}") != own]


def templates(word: str, base: Path) -> tuple[Path, float]:
    """What is there before a command, beside what is there after it, and how long it takes."""
    template = base / word
    template.mkdir()
    prepare(template)
    if word in ("adapt", "update"):
        assert ended(begin(template, [*COMMANDS["adapt"], "--seed", "7" if word == "adapt" else "0"])) == 0
    after = base / f"{word}-after"
    times = []
    # What a command imports when it is first used is then there for all that are forked from here; of the others the
    # quickest counts, so that kills do not come when all is done.
    for start in (called, begin, begin, begin):
        shutil.rmtree(after, ignore_errors=True)
        shutil.copytree(template, after)
        started = time.monotonic()
        code = start(after, COMMANDS[word])
        assert (code if start is called else ended(code)) == 0
        times.append(time.monotonic() - started)
    return template, min(times)


def run(words: list[str], kills: int, place: Path, seed: int = 0, *, full: bool = True) -> int:
    """So many kills of each command; returns in how many something was wrong."""
    with tempfile.TemporaryDirectory() as name:
        data = str(write_made_data(Path(name) / "data", n_images=60, n_rows=600))
        with patch.dict(os.environ, {"DRIFTFIT_DATA": data, "DRIFTFIT_OFFLINE": "1"}):
            return sum(kills_of(word, kills, place, Path(name) / "templates", seed, full=full) for word in words)


def kills_of(word: str, kills: int, place: Path, base: Path, seed: int, *, full: bool) -> int:
    """So many kills of one command; returns in how many something was wrong."""
    base.mkdir(exist_ok=True)
    template, took = templates(word, base)
    counts: Counter[str] = Counter()
    n_wrong = 0
    for number in range(kills):
        rng = np.random.default_rng([seed, number])
        how, wrong = case(word, template, place, rng, took, full=full and number % 2 == 1)
        n_wrong += bool(wrong)
        counts.update([how, *(wrong or ["then the same"])])
        if wrong:
            print(f"{word}, number {number}: {'; '.join(wrong)}", flush=True)
    print(f"{word}: {kills} kills of a command of {took:.1f} s, {dict(counts)}", flush=True)
    return n_wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--place", type=Path, help="a small file system; without it no disk is filled")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("words", nargs="*", default=list(COMMANDS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        small = chosen.place is not None
        sys.exit(bool(run(chosen.words, chosen.kills, chosen.place or Path(own), chosen.seed, full=small)))

"""The injector: lets the k-th change of the disk fail, for every k, and counts what came of it.

A fault is an error of the disk (full, forbidden), of memory, or a kill. A kill is an exception that nothing catches,
after which nothing is done any more, not even cleaning up: the disk then looks as it does after ``kill -9``. A write
that fails has written half of its bytes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftfit import files
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.files import Disk

FAULTS = ("disk full", "forbidden", "no memory", "killed")
COUNTED = ("make_folders", "make_folder", "create", "write", "sync", "rename")
CLEANING = ("remove_file", "remove_folder")


class KilledError(BaseException):
    """The process is gone."""


def raised(fault: str) -> BaseException:
    number = {"disk full": errno.ENOSPC, "forbidden": errno.EACCES}.get(fault)
    if number is not None:
        return OSError(number, os.strerror(number))
    return MemoryError() if fault == "no memory" else KilledError()


@contextmanager
def injected(at: int | None = None, fault: str = "") -> Iterator[list[str]]:
    """Let one change of the disk fail; yields the names of the changes as they are made."""
    plain, made, dead = Disk(), [], False

    def failing(name: str) -> Callable[..., object]:
        def change(*given: object) -> object:
            nonlocal dead
            if dead:
                raise KilledError
            if name in COUNTED:
                made.append(name)
                if len(made) - 1 == at:
                    dead = fault == "killed"
                    if name == "write":
                        plain.write(given[0], given[1][: len(given[1]) // 2])
                    raise raised(fault)
            # No power is cut here; waiting for the disk would only take time.
            return None if name == "sync" else getattr(plain, name)(*given)

        return change

    for name in (*COUNTED, *CLEANING):
        setattr(files.DISK, name, failing(name))
    try:
        yield made
    finally:
        for name in (*COUNTED, *CLEANING):
            delattr(files.DISK, name)


@dataclass
class Row:
    """What came of all faults in one action."""

    action: str
    operations: int
    faults: int = 0
    found: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("lost", "doubled", "half-written", "unclear", "left", "not repeated"), 0)
    )


_ROWS: list[Row] = []


def pytest_terminal_summary(terminalreporter) -> None:
    if _ROWS:
        names = list(_ROWS[0].found)
        terminalreporter.write_line("")
        terminalreporter.write_line("| action | operations | faults | " + " | ".join(names) + " |")
        terminalreporter.write_line("|---" * (3 + len(names)) + "|")
        for row in _ROWS:
            numbers = " | ".join(str(row.found[name]) for name in names)
            terminalreporter.write_line(f"| {row.action} | {row.operations} | {row.faults} | {numbers} |")


@pytest.fixture
def injector_rows():
    """Adds a line to the table at the end, for faults that are not of files."""

    def add(action, operations):
        _ROWS.append(Row(action, operations))
        return _ROWS[-1]

    return add


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files below a folder, those that are hidden too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def sweep(tmp_path):
    """Run an action with every fault at every operation; each time in a fresh folder.

    ``prepare(folder)`` makes what is there before, ``act(folder)`` is the action, ``judge(folder, before)`` says
    what is wrong with what it left: any of the words of `Row`. After a fault the action is repeated without one.
    """

    def run(action, prepare, act, judge, faults=FAULTS):
        def fresh(name):
            folder = tmp_path / name
            folder.mkdir()
            prepare(folder)
            return folder, snapshot(folder)

        folder, before = fresh("plain")
        with injected() as made:
            act(folder)
        after = snapshot(folder)
        assert after != before
        row = Row(action, len(made))
        for fault in faults:
            for k in range(len(made)):
                folder, before = fresh(f"{fault} {k}")
                row.faults += 1
                error = None
                with injected(k, fault):
                    try:
                        act(folder)
                    except (InputError, MemoryError, KilledError) as caught:
                        error = caught
                done = error is None and set(snapshot(folder)) == set(after)
                if fault in ("disk full", "forbidden") and not done and not _clear(error):
                    row.found["unclear"] += 1
                if fault != "killed" and any(_is_temporary(name) for name in snapshot(folder)):
                    row.found["left"] += 1
                for word in judge(folder, before):
                    row.found[word] += 1
                if not _repeated(act, folder, after):
                    row.found["not repeated"] += 1
        _ROWS.append(row)
        assert row.found == dict.fromkeys(row.found, 0), row
        return row

    return run


def _repeated(act, folder, after) -> bool:
    with injected():
        act(folder)
    return set(snapshot(folder)) == set(after)


def _clear(error) -> bool:
    text = str(error)
    return isinstance(error, InputError) and text.startswith("cannot write") and "; " in text and "\n" not in text


def _is_temporary(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


@pytest.fixture(scope="session")
def small_table() -> pd.DataFrame:
    parts = [
        pd.DataFrame(domain.samples[:40], columns=["u", "v"]).assign(kind=domain.labels[:40], year=2000 + number)
        for number, domain in enumerate(moving_gaussians((0, 0.6)))
    ]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(city=np.where(np.arange(len(table)) % 3, "k", "l"))


@pytest.fixture(scope="session")
def small_result(small_table):
    from driftfit.app import Column, Settings, adapt_frame
    from driftfit.domains import ByValue

    return adapt_frame(small_table, Settings(label="kind", order=Column("year"), windows=ByValue(), n_generated=0))

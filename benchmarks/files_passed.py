"""How many files of the package a call walks through: ``python benchmarks/files_passed.py [--list]``.

A file is passed where the body of one of its functions runs. A call before it imports and compiles what is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import driftfit

PACKAGE = str(Path(driftfit.__file__).parent)


def files_passed(call: Callable[[], Any]) -> list[str]:
    """Files of the package, relative to it, in which a function runs during a call; in this thread and those it starts.

    What runs while a module is imported is no part of the call.
    """
    seen: set[str] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_flags & 0x1 and not importing(frame):
            seen.add(code.co_filename)

    call()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return sorted(str(Path(name).relative_to(PACKAGE)) for name in seen)


def importing(frame: FrameType | None) -> bool:
    """Whether a frame is below the import of a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def plan() -> None:
    from driftfit.transport import transport

    rng = np.random.default_rng(0)
    transport(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1.0)


def classifier(labelled: int) -> None:
    from driftfit import AutoAdaptedClassifier

    X, y, month = drifting(labelled)
    AutoAdaptedClassifier().fit(X, y, sample_domain=month)


def command(labelled: int) -> None:
    import pandas as pd

    from driftfit.cli import run_command

    X, y, month = drifting(labelled)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(month=month, kind=y)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        frame.to_csv(Path(folder) / "table.csv", index=False)
        words = "--label kind --order month --by-value -o"
        run_command(["adapt", f"{folder}/table.csv", *words.split(), f"{folder}/run"])


def drifting(labelled: int) -> tuple[Any, Any, Any]:
    """Rows of six months with a class that follows a moving level, and labels in the first few months."""
    rng = np.random.default_rng(0)
    month = np.repeat(np.arange(6), 150)
    X = rng.normal(size=(len(month), 2))
    y = np.where(X[:, 0] > 0.5 * month - 1.0, "yes", "no").astype(object)
    return X, np.where(month < labelled, y, None), month


CALLS: dict[str, Callable[[], None]] = {
    "transport(x0, x1)": plan,
    "AutoAdaptedClassifier().fit, labels of five domains": lambda: classifier(5),
    "AutoAdaptedClassifier().fit, labels of one": lambda: classifier(1),
    "driftfit adapt, labels of five windows": lambda: command(5),
    "driftfit adapt, labels of one": lambda: command(1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the files")
    shown = parser.parse_args().list
    for name, call in CALLS.items():
        found = files_passed(call)
        print(f"{name}: {len(found)} files")
        for file in found if shown else ():
            print(f"  {file}")


if __name__ == "__main__":
    main()

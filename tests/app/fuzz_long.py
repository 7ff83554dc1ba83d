"""Malformed tables for as long as asked: ``python tests/app/fuzz_long.py --minutes 10``.

Every case goes through `check`, `adapt` and, where there is a run, `predict` of a second malformed table. What ends in
a traceback, in "unexpected", in more than a line or in half a folder, or takes more than a minute, is printed with the
seed that makes it again (``--seed N --cases 1``), and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib.util
import io
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
SLOWEST = 60.0


def _module(name: str):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


malformed = _module("malformed")


def command(arguments) -> tuple[int, str]:
    """The command line in this process: exit code and stderr."""
    from driftfit.cli import main

    errors = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            main([str(argument) for argument in arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0), errors.getvalue()
    return -1, errors.getvalue()


def broken(frame: pd.DataFrame, seed: int, rng: np.random.Generator) -> pd.DataFrame:
    """One to three changes."""
    for name in rng.choice(sorted(malformed.CHANGES), rng.integers(1, 4), replace=False):
        with contextlib.suppress(KeyError, ValueError, TypeError, AttributeError, OverflowError):
            frame = malformed.CHANGES[name](frame, seed).reset_index(drop=True)
    return frame


def complaint(code: int, errors: str) -> str:
    """What is wrong with how a command ended; nothing where all is well."""
    lines = [line for line in errors.splitlines() if line.startswith("driftfit:") and "warning:" not in line]
    if "Traceback" in errors or "unexpected" in errors:
        return errors[-400:]
    if code not in (0, 1, 2) or (code == 1 and len(lines) != 1):
        return f"code {code}: {errors[-400:]}"
    return ""


def case(seed: int) -> tuple[Counter[str], list[str]]:
    """One table: counts of how commands ended, and complaints."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    complaints = []
    kinds = ["csv"] * 6 + ["parquet"] * 6 + malformed.FILES[2:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "old").mkdir()
        (folder / "new").mkdir()
        old = malformed.write(broken(malformed.sound(seed, 150), seed, rng), str(rng.choice(kinds)), folder / "old")
        new = malformed.write(broken(malformed.sound(seed + 1, 40), seed, rng), str(rng.choice(kinds)), folder / "new")
        rules = [["--windows", "3"], ["--window-by", "month"], ["--given", "30,60"], ["--window-by", "value"], []]
        table = ["--label", malformed.LABEL, "--order", malformed.ORDER, *rules[rng.integers(len(rules))]]
        word = str(rng.choice(["goat", "gst", "direct", "source"]))
        method = ["--method", word, *(["--generated", "1"] if word == "goat" else [])]
        jobs = {
            "check": ["check", old, *table],
            "adapt": ["adapt", old, *table, *method, "-o", folder / "RUN"],
            "predict": ["predict", folder / "RUN", new, "-o", folder / "out.csv"],
        }
        codes = {}
        for job, arguments in jobs.items():
            if job == "predict" and not (folder / "RUN").exists():
                continue
            started = time.perf_counter()
            faulthandler.dump_traceback_later(5 * SLOWEST, exit=True)
            code, errors = command(arguments)
            faulthandler.cancel_dump_traceback_later()
            codes[job] = code
            counts[f"{job} {code}"] += 1
            found = complaint(code, errors)
            if time.perf_counter() - started > SLOWEST:
                found += f" took {time.perf_counter() - started:.0f} s"
            if found:
                complaints.append(f"seed {seed}, {job}: {found}")
        if codes["check"] != codes["adapt"]:
            complaints.append(f"seed {seed}: check left with {codes['check']}, adapt with {codes['adapt']}")
        if codes["adapt"] and ((folder / "RUN").exists() or any(p.name.startswith(".") for p in folder.iterdir())):
            complaints.append(f"seed {seed}: adapt failed and left {sorted(p.name for p in folder.iterdir())}")
    return counts, complaints


def run(minutes: float, seed: int, cases: int | None) -> int:
    """Cases until the time or their number is up; returns the number of complaints."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    end, done, wrong = time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < end and (cases is None or done < cases):
        try:
            found, complaints = case(seed + done)
        except Exception:
            found, complaints = Counter(), [f"seed {seed + done}: {traceback.format_exc()}"]
        counts += found
        done += 1
        wrong += len(complaints)
        for sentence in complaints:
            print(sentence, flush=True)
    ends = ", ".join(f"{key}: {counts[key]}" for key in sorted(counts))
    print(f"{done} tables, {counts.total()} commands ({ends}); {wrong} complaints", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int)
    chosen = parser.parse_args()
    sys.exit(1 if run(chosen.minutes, chosen.seed, chosen.cases) else 0)

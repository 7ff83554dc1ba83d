"""``python -m gradapt.paper TABLE ...``: the tables on a machine without the command line's packages."""

from __future__ import annotations

import argparse
import sys

from gradapt.errors import InputError, SolverError
from gradapt.paper.launch import DEFAULT_STORE, Launch
from gradapt.paper.layouts import Options
from gradapt.paper.presets import PRESETS
from gradapt.paper.run import EXHIBITS, run_tables


def counts(text: str) -> list[int]:
    """``"0,2,4"`` as numbers."""
    return [int(part) for part in text.split(",")]


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="python -m gradapt.paper", description=__doc__)
    parser.add_argument("tables", nargs="+", choices=[*EXHIBITS, "all"], metavar="TABLE")
    parser.add_argument("--preset", choices=PRESETS, default="reference")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--given", type=counts, default=None, help="such as 0,2,4")
    parser.add_argument("--generated", type=counts, default=None, help="such as 0,4")
    parser.add_argument("--with-given", action="store_true", help="uda: baselines also with the given domains pooled")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--samples", type=int, default=None, help="at most this many samples in each domain")
    parser.add_argument("--store", default=str(DEFAULT_STORE))
    parser.add_argument("--output", default=None, help="folder for CSV, JSON and Markdown")
    chosen = parser.parse_args(arguments)
    try:
        run_tables(
            chosen.tables,
            Options(chosen.preset, chosen.given, chosen.generated, chosen.samples, chosen.with_given),
            seeds=chosen.seeds,
            launch=Launch(chosen.device, chosen.jobs, chosen.store),
            output=chosen.output,
        )
    except (InputError, SolverError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

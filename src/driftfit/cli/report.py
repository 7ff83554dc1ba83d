"""`driftfit report`: build the report of a run again, or of several side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from driftfit.cli.parsing import Fail, need_tables

HELP = "Rebuild the report of one run, or compare several on one page."


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders that driftfit adapt wrote")
    parser.add_argument("--out", "-o", type=Path, help="HTML file [RUN/report.html; for several runs comparison.html]")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Build the page and write it."""
    need_tables("report", "jinja2")
    from driftfit.app.folder import page_of, read_result, rebuild_pages
    from driftfit.app.report.page import build_page
    from driftfit.files import write_text

    runs: list[Path] = chosen.runs
    results = [{**read_result(folder), "name": folder.resolve().name} for folder in runs]
    page = page_of(results, build_page)
    if chosen.out is None and len(runs) == 1:
        print(rebuild_pages(runs[0], page))
        return 0
    target = chosen.out or Path("comparison.html")
    write_text(target, page)
    print(target)
    return 0

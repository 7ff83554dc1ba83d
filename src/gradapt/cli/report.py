"""`gradapt report`: build the report of a run again, or of several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders that gradapt adapt wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML file. [RUN/report.html; for several runs comparison.html]")
    ] = None,
) -> None:
    """Rebuild the report of one run, or compare several on one page."""
    from gradapt.files import atomic_path
    from gradapt.report.page import build_page
    from gradapt.tables.folder import read_result

    results = [{**read_result(run), "name": run.resolve().name} for run in runs]
    target = out or (runs[0] / "report.html" if len(runs) == 1 else Path("comparison.html"))
    page = build_page(results)
    with atomic_path(target) as path:
        path.write_text(page, encoding="utf-8")
    print(target)

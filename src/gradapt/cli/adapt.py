"""`gradapt adapt`: a better classifier for today's rows, and a word on whether to trust it."""

from __future__ import annotations

import json
import shlex
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gradapt.trust import Verdict

__all__ = ["adapt"]

_UNTRUSTED = 3


class MethodWord(Enum):
    """How to adapt."""

    GOAT = "goat"
    GST = "gst"
    DIRECT = "direct"
    SOURCE = "source"


class KeepWord(Enum):
    """Which model to keep."""

    BETTER = "better"
    ADAPTED = "adapted"


class FailOn(Enum):
    """When to leave with an exit code other than 0."""

    NEVER = "never"
    UNTRUSTED = "untrusted"


def adapt(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...", help="CSV or Parquet file, several of them, or a folder of images with a CSV."
        ),
    ],
    label: Annotated[str, typer.Option(help="Column of the labels; only those of the first window are used.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Folder to write.")],
    order: Annotated[
        str | None,
        typer.Option(help="Column that orders the rows; @row: their position; @file: one snapshot per file, in order."),
    ] = None,
    windows: Annotated[int | None, typer.Option(min=2, help="Number of equally filled windows. [5]")] = None,
    window_by: Annotated[
        str | None, typer.Option(help="hour, day, week, month, quarter or year of a date column; value: each value.")
    ] = None,
    given: Annotated[
        str | None, typer.Option(metavar="VALUES", help="Values of the order column at which windows begin: 1990,2000.")
    ] = None,
    model: Annotated[str, typer.Option(help="logistic, forest, boosting, mlp, or PATH.py:NAME.")] = "logistic",
    encoder: Annotated[str, typer.Option(help="none, pca:32 (or another number), or mlp.")] = "none",
    method: Annotated[MethodWord, typer.Option(help="How to adapt.")] = MethodWord.GOAT,
    generated: Annotated[
        str,
        typer.Option(
            metavar="auto|K",
            help="Domains generated between two neighbouring windows. auto: 0 to 4 are tried and chosen from without "
            "labels; where that would take too long, by a rule from the check.",
        ),
    ] = "auto",
    keep: Annotated[
        KeepWord, typer.Option(help="'better': the old model where adaptation is estimated to hurt.")
    ] = KeepWord.BETTER,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    training_rows: Annotated[int, typer.Option(min=10, help="Rows of each window to train on.")] = 20_000,
    transport_rows: Annotated[int, typer.Option(min=10, help="Rows of each window for transport and checks.")] = 2_000,
    mlflow: Annotated[
        str | None, typer.Option(metavar="URI", help="Log the run to MLflow, for instance sqlite:///mlflow.db.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    fail_on: Annotated[FailOn, typer.Option(help="'untrusted': leave with code 3 if not trusted.")] = FailOn.NEVER,
    force: Annotated[bool, typer.Option("--force", help="Replace a run that is there already.")] = False,
) -> None:
    """Adapt a classifier to the newest rows of a table, which need no labels.

    Shows first whether the drift can be followed at all; keeps the old model where adaptation is estimated to hurt.
    """
    words = _one_window_rule(windows, window_by, given)
    number = _generated(generated)
    from gradapt.tables import Keep, Limits, Method, Settings, adapt_table, open_table, save_run, summarise
    from gradapt.tables.folder import check_target
    from gradapt.tables.model_file import check_storable
    from gradapt.tables.models import encoder_from_word, model_from_word

    settings = Settings(
        label=label,
        order=_order(order, len(tables)),
        windows=_windows(words, order, len(tables)),
        model=model_from_word(model),
        encoder=encoder_from_word(encoder),
        method=Method(method.value),
        n_generated=number,
        keep=Keep(keep.value),
        seed=seed,
        limits=Limits(training_rows, transport_rows),
    )
    check_target(out, force)
    check_storable(settings.model)
    if mlflow is not None:
        from gradapt.tables.tracking import check_mlflow

        check_mlflow()
    with _progress() as progress:
        result = adapt_table(open_table(tables), settings, progress, None if as_json else _print_verdict)
        progress("write", 0, 1)
        summary = summarise(result, sys.argv[1:], _redo(sys.argv[1:]))
        save_run(result, summary, out, page=_page(), force=force)
        progress("write", 1, 1)
    for message in result.warnings:
        print(f"gradapt: warning: {message}", file=sys.stderr)
    if mlflow is not None:
        from gradapt.tables.tracking import log_run

        log_run(out, mlflow)
    print(json.dumps(summary, indent=2, ensure_ascii=False)) if as_json else _print(summary, out)
    if fail_on is FailOn.UNTRUSTED and not result.trusted:
        raise typer.Exit(_UNTRUSTED)


def _one_window_rule(windows: int | None, window_by: str | None, given: str | None) -> tuple[str, str] | None:
    asked = [
        (name, str(value))
        for name, value in (("windows", windows), ("window-by", window_by), ("given", given))
        if value is not None
    ]
    if len(asked) > 1:
        raise typer.BadParameter(f"--{asked[0][0]} and --{asked[1][0]} exclude each other")
    return asked[0] if asked else None


def _generated(word: str) -> int | None:
    if word == "auto":
        return None
    if not word.isdecimal():
        raise typer.BadParameter(f"--generated is 'auto' or a whole number, got {word!r}")
    return int(word)


def _order(word: str | None, n_tables: int) -> Any:
    from gradapt.tables import Column, FilePosition, RowPosition

    if word == "@row":
        return RowPosition()
    if word == "@file" or (word is None and n_tables > 1):
        return FilePosition()
    if word is None:
        raise typer.BadParameter("one table needs --order COLUMN, or --order @row for the order of its rows")
    return Column(word)


def _windows(words: tuple[str, str] | None, order: str | None, n_tables: int) -> Any:
    from gradapt.domains import ByEdges, ByQuantile, ByValue
    from gradapt.tables import ByCalendar
    from gradapt.tables.windowing import parse_values

    if words is None:
        by_file = order == "@file" or (order is None and n_tables > 1)
        return ByValue() if by_file else ByQuantile(5)
    rule, value = words
    if rule == "windows":
        return ByQuantile(int(value))
    if rule == "given":
        return ByEdges(parse_values(value))
    return ByValue() if value == "value" else ByCalendar(value)


def _page() -> Any:
    from gradapt.report.page import build_page

    return build_page


def _redo(arguments: list[str]) -> str:
    return shlex.join(["gradapt", *arguments])


def _progress() -> Any:
    """A bar for each stage on stderr, as a context that gives the function to call."""
    from contextlib import contextmanager

    @contextmanager
    def bars() -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as progress:
            tasks: dict[str, Any] = {}

            def advance(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = progress.add_task(stage, total=total)
                progress.update(tasks[stage], completed=done, total=total)

            yield advance

    return bars()


def _print_verdict(verdict: Verdict) -> None:
    from rich.console import Console

    Console().print(f"check: {verdict}", soft_wrap=True, highlight=False, markup=False)


def _print(summary: dict[str, Any], out: Path) -> None:
    from rich.console import Console

    console = Console()
    generated = summary["generated"]
    if generated["how"] != "asked":
        console.print(f"generated: {generated['sentence']}", soft_wrap=True, highlight=False, markup=False)
    for name, key in (("old model", "old"), ("adapted model", "new")):
        guess = summary["accuracy"][key]
        doubt = "" if guess["reliable"] else ", not reliable"
        console.print(
            f"{name}: estimated accuracy {100 * guess['estimate']:.1f} % "
            f"({100 * guess['low']:.1f} .. {100 * guess['high']:.1f}; {guess['estimator']}{doubt})",
            soft_wrap=True,
            highlight=False,
        )
    console.print(f"kept: {summary['kept']} model; {summary['kept_reason']}", soft_wrap=True, markup=False)
    for sentence in summary["sampled"]:
        console.print(f"note: {sentence}", soft_wrap=True, highlight=False, markup=False)
    for column in summary["preprocessing"]:
        if column["kind"] in ("dropped", "many categories"):
            text = f"column {column['column']!r}: {column['kind']}, {column['note']}"
            console.print(text, soft_wrap=True, highlight=False, markup=False)
    console.print(f"report: {out / 'report.html'}", soft_wrap=True, highlight=False, markup=False)

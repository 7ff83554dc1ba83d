"""What commands print: tables, the check in words, and progress."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_GAP = 2
_NARROWEST = 10
# White space that no printable text holds.
_FOLD = "\x0b"


def printable(text: str) -> str:
    """Text of the user's without control characters, which a terminal would obey.

    >>> printable("a\\x1b[31mb")
    'a [31mb'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[int] = (0,), width: int | None = None
) -> str:
    """Columns under their names, folded where they would not fit.

    ``words``: columns of text: aligned to the left and folded where the table is too wide. The others are numbers.
    ``width``: of the terminal by default; 80 where there is none.

    >>> print(text_table(["step", "shift"], [["a -> b", "0.5"], ["a long name -> c", "12"]], width=18))
    step         shift
    a -> b         0.5
    a long name     12
    -> c
    """
    cells = [[printable(cell) for cell in row] for row in [header, *rows]]
    space = width or shutil.get_terminal_size((80, 24)).columns
    sizes = [max(len(row[number]) for row in cells) for number in range(len(header))]
    while sum(sizes) + _GAP * (len(sizes) - 1) > space:
        widest = max(words, key=lambda number: sizes[number])
        if sizes[widest] <= _NARROWEST:
            break
        sizes[widest] -= 1
    lines = []
    for row in cells:
        folded = [
            _folded(cell, size, number in words) for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        for place in range(max(len(part) for part in folded)):
            parts = [part[place] if place < len(part) else " " * size for part, size in zip(folded, sizes, strict=True)]
            lines.append((" " * _GAP).join(parts).rstrip())
    return "\n".join(lines)


def _folded(cell: str, size: int, word: bool) -> list[str]:
    if not word:
        return [cell.rjust(size)]
    # A span of values is folded behind its dots rather than within a number.
    marked = cell.replace("..", f"..{_FOLD}")
    lines = textwrap.wrap(marked, size, break_on_hyphens=False, expand_tabs=False, replace_whitespace=False)
    return [line.replace(_FOLD, "").ljust(size) for line in lines] or [" " * size]


def declare_verbose(parser: argparse.ArgumentParser) -> None:
    """The option that unfolds what is behind the answer."""
    parser.add_argument(
        "--verbose", action="store_true", help="also print what is behind the answer: tests, steps, scores, columns"
    )


def answer_text(answer: dict[str, Any]) -> str:
    """The sentences of an answer, and its table below them.

    ``answer``: from a summary, under ``answer``.
    """
    lines = [printable(sentence) for sentence in answer["sentences"]]
    heads, rows = answer["table"]["heads"], answer["table"]["rows"]
    if rows:
        lines += ["", text_table(heads, rows, words=(0, len(heads) - 1))]
    if answer.get("notes"):
        lines += ["", *map(printable, answer["notes"])]
    return "\n".join(lines)


def check_text(summary: dict[str, Any]) -> str:
    """Diagnosis, assumptions and steps with their reasons, and what was left out.

    ``summary``: from `driftfit.app.check_summary`.
    """
    diagnosis, ladder = summary["diagnosis"], summary["ladder"]
    lines = [f"diagnosis: {diagnosis['kind']}", *(f"  - {reason}" for reason in diagnosis["reasons"])]
    if ladder is not None:
        lines += [f"tested: {ladder['moved']['sentence']}", *(f"  - {one['sentence']}" for one in ladder["tested"])]
    if ladder is None or "path" in ladder["declared"]:
        lines += ["", *_about_steps(summary), ""]
    lines += [f"note: {sentence}" for sentence in summary["sampled"]]
    for column in summary["preprocessing"]:
        if column["kind"] in ("dropped", "many categories", "text", "list of numbers") or column["form"]:
            lines.append(f"column {column['column']!r}: {column['kind']}, {column['note']}")
    return "\n".join(printable(line) for block in lines for line in block.split("\n"))


def _about_steps(summary: dict[str, Any]) -> list[str]:
    """Whether self-training could follow the windows, and every step between them."""
    where = "" if summary["where"] is None else ": " + " -> ".join(summary["where"])
    header = ["step", "shift", "/ margin", "jumped", "across"]
    rows = [_row(step) for step in summary["steps"]]
    return [
        f"check of self-training: {summary['advice']}{where}",
        *(f"  - {reason}" for reason in summary["reasons"]),
        "",
        "/ margin: the shift in margins, of a typical and of the worst class; jumped: rows where nothing was before;",
        "across: the plan's mass between classes, beyond noise",
        text_table(header, rows),
    ]


def accuracy_line(name: str, guess: dict[str, Any]) -> str:
    """An estimate of accuracy in a line."""
    remark = f"\n  {guess['remark']}" if guess["remark"] else ""
    if not guess["reliable"] and guess["low"] == 0.0 and guess["high"] == 1.0:
        return f"{name}: accuracy not known{remark}"
    doubt = "" if guess["reliable"] else ", not reliable"
    return (
        f"{name}: estimated accuracy {100 * guess['estimate']:.1f} % "
        f"({100 * guess['low']:.1f} to {100 * guess['high']:.1f}; {guess['estimator']}{doubt}){remark}"
    )


def show_warnings(messages: Iterable[str]) -> None:
    """Warnings, a line each on stderr."""
    # Red where somebody looks.
    start, end = ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
    for message in messages:
        print(f"{start}driftfit: warning: {printable(message)}{end}", file=sys.stderr)


def _row(step: dict[str, Any]) -> list[str]:
    return [
        f"{step['before']} -> {step['after']}",
        _number(step["shift"], ".3g"),
        f"{_number(step['ratio'], '.1f')}-{_number(step['worst_ratio'], '.1f')}",
        f"{100 * step['jumped']:.0f} %",
        f"{100 * max(step['crossing'] - step['crossing_noise'], 0.0):.0f} %",
    ]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with the name of a stage, how much of it is done and how much there is."""
    rich = _rich()
    if rich is None:
        yield _stage_lines()
        return
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description:<10}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as progress:
        tasks: dict[str, Any] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield advance


@contextmanager
def counted(total: int, done: int = 0) -> Iterator[Callable[[str], None]]:
    """A function to call with a line about each of so many parts, once it is done; some were done before."""
    rich = _rich()
    if rich is None:

        def line(text: str) -> None:
            nonlocal done
            done += 1
            print(f"[{done}/{total}] {text}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console

    columns = (
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.description}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        task = progress.add_task("starting", total=total, completed=done)
        yield lambda text: progress.update(task, advance=1, description=text)


def _rich() -> Any:
    """rich's progress bars, or None where nobody would see them."""
    if not sys.stderr.isatty():
        return None
    try:
        import rich.progress
    except ImportError:
        return None
    return rich.progress


def _stage_lines() -> Callable[[str, int, int], None]:
    started: dict[str, float] = {}
    finished: set[str] = set()

    def line(stage: str, done: int, total: int) -> None:
        started.setdefault(stage, time.perf_counter())
        if done >= total and stage not in finished:
            finished.add(stage)
            print(
                f"{stage:<10} {done}/{total} {time.perf_counter() - started[stage]:.1f} s", file=sys.stderr, flush=True
            )

    return line

"""What `driftfit check` and `driftfit adapt` print: the answer first; what is behind it where it is asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from driftfit.cli.text import printable, text_table


def declare_verbose(parser: argparse.ArgumentParser) -> None:
    """The option that unfolds what is behind the answer."""
    parser.add_argument(
        "--verbose", action="store_true", help="also print what is behind the answer: tests, steps, scores, columns"
    )


def answer_text(answer: dict[str, Any]) -> str:
    """The sentences of an answer, and its table below them.

    Parameters
    ----------
    answer : dict
        From a summary, under ``answer``.

    Examples
    --------
    >>> table = {"heads": ["compared", "gain"], "rows": [["old model", ""], ["own scale", "+1.0"]]}
    >>> print(answer_text({"sentences": ["Nothing moved."], "table": table}))
    Nothing moved.
    <BLANKLINE>
    compared   gain
    old model
    own scale  +1.0
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

    Parameters
    ----------
    summary : dict
        From `driftfit.app.check_summary`.
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

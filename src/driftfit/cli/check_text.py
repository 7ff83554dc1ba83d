"""What `driftfit check` prints, and `driftfit adapt` before it adapts: the same text from the same numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from driftfit.cli.text import printable, text_table

__all__ = ["accuracy_line", "check_text", "show_warnings"]


# More classes than this are counted.
_MOST_CLASSES = 5


def check_text(summary: dict[str, Any]) -> str:
    """Verdict and diagnosis with their reasons, every step, the old model's estimate, and what was left out.

    Parameters
    ----------
    summary : dict
        From `driftfit.app.check_summary`.
    """
    diagnosis, ladder = summary["diagnosis"], summary["ladder"]
    lines = [f"diagnosis: {diagnosis['kind']}", *(f"  - {reason}" for reason in diagnosis["reasons"])]
    if ladder is not None:
        lines += ["", *_assumptions(ladder)]
    if ladder is None or "path" in ladder["declared"]:
        lines += ["", *_about_steps(summary)]
    lines += ["", accuracy_line("old model", summary["accuracy"]), _class_line(summary)]
    lines += [f"note: {sentence}" for sentence in summary["sampled"]]
    for column in summary["preprocessing"]:
        if column["kind"] in ("dropped", "many categories"):
            lines.append(f"column {column['column']!r}: {column['kind']}, {column['note']}")
    return "\n".join(printable(line) for block in lines for line in block.split("\n"))


def _assumptions(ladder: dict[str, Any]) -> list[str]:
    """What was declared, or could be, and what the data say about it."""
    if not ladder["moved"]["rejected"]:
        return ["assumptions: none is needed"]
    if ladder["declared"]:
        return [f"assumed: {', '.join(ladder['declared'])}", *(f"  - {one['sentence']}" for one in ladder["tested"])]
    head = "assumed: nothing, so the old model stays; --assume WORD declares what may have changed:"
    return [head, *(f"  - {one['sentence']}" for one in ladder["tested"])]


def _about_steps(summary: dict[str, Any]) -> list[str]:
    """Whether self-training could follow the windows, and every step between them."""
    where = "" if summary["where"] is None else ": " + " -> ".join(summary["where"])
    header = ["step", "shift", "/ margin", "jumped", "across", "old %", "new %"]
    rows = [_row(*parts) for parts in zip(summary["steps"], summary["estimated_accuracy"], strict=True)]
    return [
        f"check of self-training: {summary['advice']}{where}",
        *(f"  - {reason}" for reason in summary["reasons"]),
        "",
        "/ margin: the shift in margins, of a typical and of the worst class; jumped: rows where nothing was before;",
        "across: the plan's mass between classes, beyond noise; old %, new %: estimated accuracy of the old model and",
        "after plain gradual self-training, with its interval, ? not reliable",
        text_table(header, rows),
    ]


def _class_line(summary: dict[str, Any]) -> str:
    """The class shares of the first window, the largest class first; beside accuracies, which it puts in place."""
    shares = list(summary["source_shares"].items())
    shown = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares[:_MOST_CLASSES])
    more = f" and {len(shares) - _MOST_CLASSES} more" if len(shares) > _MOST_CLASSES else ""
    return f"classes of the first window, the largest first: {shown}{more}"


def accuracy_line(name: str, guess: dict[str, Any]) -> str:
    """An estimate of accuracy in a line."""
    doubt = "" if guess["reliable"] else ", not reliable"
    remark = f"\n  {guess['remark']}" if guess["remark"] else ""
    if _refused(guess):
        return f"{name}: accuracy cannot be estimated ({guess['estimator']}{doubt}){remark}"
    return (
        f"{name}: estimated accuracy {100 * guess['estimate']:.1f} % "
        f"({100 * guess['low']:.1f} .. {100 * guess['high']:.1f}; {guess['estimator']}{doubt}){remark}"
    )


def show_warnings(messages: Iterable[str]) -> None:
    """Warnings of other libraries, a line each on stderr."""
    for message in messages:
        print(f"driftfit: warning: {printable(message)}", file=sys.stderr)


def _row(step: dict[str, Any], accuracy: dict[str, Any]) -> list[str]:
    return [
        f"{step['before']} -> {step['after']}",
        _number(step["shift"], ".3g"),
        f"{_number(step['ratio'], '.1f')}-{_number(step['worst_ratio'], '.1f')}",
        f"{100 * step['jumped']:.0f} %",
        f"{100 * max(step['crossing'] - step['crossing_noise'], 0.0):.0f} %",
        _interval(accuracy["before"]),
        _interval(accuracy["after"]),
    ]


def _refused(guess: dict[str, Any]) -> bool:
    """Whether the interval excludes nothing: a number would say more than is known."""
    return not guess["reliable"] and guess["low"] == 0.0 and guess["high"] == 1.0


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _interval(guess: dict[str, Any]) -> str:
    to = "-" if guess["reliable"] else "?"
    value = "?" if _refused(guess) else f"{100 * guess['value']:.0f}"
    return f"{value} ({100 * guess['low']:.0f}{to}{100 * guess['high']:.0f})"

"""A model card in Markdown, from the numbers of a run."""

from __future__ import annotations

import re
from typing import Any


def model_card(summary: dict[str, Any]) -> str:
    """What the model is, what it was made from, how far to trust it, how to use it."""
    data, config = summary["data"], summary["config"]
    lines = [
        f"# Classifier of {_code(data['label'])}",
        "",
        *(f"{_text(sentence)}  " for sentence in summary["answer"]["sentences"]),
        "",
        *_compared(summary["answer"]["table"]),
        f"Made by driftfit {summary['driftfit']} on {summary['created']}; what the answer rests on is in report.html.",
        "",
        "## Data",
        "",
        *(f"- {_text(file['name'])}: {file['rows']} rows, sha256 `{file['sha256']}`" for file in data["files"]),
        f"- classes: {_text(', '.join(data['classes']))}",
        f"- ordered by {_code(data['order'])}, {data['n_target']} rows of today predicted",
        *(f"- {_text(sentence)}" for sentence in summary["sampled"]),
        "",
        "## Columns",
        "",
        "| column | used as | remark |",
        "|---|---|---|",
        *(f"| {_text(c['column'])} | {c['kind']} | {_text(c['note'])} |" for c in summary["preprocessing"][:200]),
        "",
        "## Configuration",
        "",
        *(f"- {key}: {_code(_words(value))}" for key, value in config.items()),
        f"- seed: {summary['seed']}",
        "",
        "## Use",
        "",
        "```sh",
        "driftfit predict RUN/ NEW.parquet -o OUT.parquet",
        *_command(summary["redo"]),
        "```",
        "",
        "Not meant for rows from a world unlike the newest window.",
    ]
    return "\n".join(lines) + "\n"


def _words(value: Any) -> str:
    """A value of the configuration without Python's marks."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={own}" for name, own in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _compared(table: dict[str, Any]) -> list[str]:
    """The table of what was compared, where something was."""
    if not table["rows"]:
        return []
    lines = [table["heads"], ["---"] * len(table["heads"]), *([_text(cell) for cell in row] for row in table["rows"])]
    return [*(f"| {' | '.join(cells)} |" for cells in lines), ""]


def _text(text: str) -> str:
    """Names and values of the user's on one line, without HTML or Markdown of their own."""
    plain = " ".join(text.split())
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        plain = plain.replace(sign, name)
    # A backslash reads better than the number of a sign.
    return re.sub(r"([\\`|\[])", r"\\\1", plain)


def _code(text: str) -> str:
    """The same, marked. A span of code would show the escapes, and end at a backtick in a name."""
    return f"**{_text(text)}**"


def _command(redo: str) -> list[str]:
    """The command that does it again, unless a name in it could leave the block of code."""
    if not redo:
        return []
    return ["# the command of this run: result.json, under redo"] if set(redo) & set("<>`&\n") else [redo]

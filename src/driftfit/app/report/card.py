"""A model card in Markdown, from the numbers of a run."""

from __future__ import annotations

from typing import Any

__all__ = ["model_card"]


def model_card(summary: dict[str, Any]) -> str:
    """What the model is, what it was made from, how far to trust it, how to use it."""
    data, config = summary["data"], summary["config"]
    lines = [
        f"# Classifier of {_code(data['label'])}",
        "",
        f"Made by driftfit {summary['driftfit']} on {summary['created']}. Kept: the **{summary['kept']} model**.",
        f"{_text(summary['kept_reason'])}.",
        "",
        "## How far to trust it",
        "",
        f"The check before adapting said: **{summary['verdict']['decision']}**.",
        "",
        *(f"- {_text(reason)}" for reason in summary["verdict"]["reasons"]),
        "",
        "| model | estimated accuracy on today's rows | 95 % interval | estimator |",
        "|---|---|---|---|",
        *(_accuracy_row(name, summary["accuracy"][key]) for name, key in (("old", "old"), ("adapted", "new"))),
        "",
        "The estimates use no labels of today's rows. They do not cover what the labelled rows cannot show.",
        "",
        "## Data",
        "",
        *(f"- {_text(file['name'])}: {file['rows']} rows, sha256 `{file['sha256']}`" for file in data["files"]),
        f"- classes: {_text(', '.join(data['classes']))}",
        f"- ordered by {_code(data['order'])}, labelled first window, {data['n_target']} rows predicted in the last",
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
        *(f"- {key}: {_code(str(value))}" for key, value in config.items()),
        f"- seed: {summary['seed']}",
        "",
        "## Use",
        "",
        "```sh",
        "driftfit predict RUN/ NEW.parquet -o OUT.parquet",
        *_command(summary["redo"]),
        "```",
        "",
        "Not meant for: rows from a world unlike the last window; decisions that need a measured accuracy.",
    ]
    return "\n".join(lines) + "\n"


def _accuracy_row(name: str, estimate: dict[str, Any]) -> str:
    interval = f"{100 * estimate['low']:.1f} .. {100 * estimate['high']:.1f} %"
    remark = estimate["estimator"] + ("" if estimate["reliable"] else " (not reliable)")
    refused = not estimate["reliable"] and estimate["low"] == 0.0 and estimate["high"] == 1.0
    value = "cannot be estimated" if refused else f"{100 * estimate['estimate']:.1f} %"
    return f"| {name} | {value} | {interval} | {remark} |"


def _text(text: str) -> str:
    """Names and values of the user's on one line, without HTML or Markdown of their own."""
    plain = " ".join(text.split())
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("`", "&#96;"), ("|", "&#124;"), ("[", "&#91;")):
        plain = plain.replace(sign, name)
    return plain


def _code(text: str) -> str:
    """The same, marked. A span of code would show the escapes, and end at a backtick in a name."""
    return f"**{_text(text)}**"


def _command(redo: str) -> list[str]:
    """The command that does it again, unless a name in it could leave the block of code."""
    if not redo:
        return []
    return ["# the command of this run: result.json, under redo"] if set(redo) & set("<>`&\n") else [redo]

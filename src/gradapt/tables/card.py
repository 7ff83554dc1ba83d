"""A model card in Markdown, from the numbers of a run."""

from __future__ import annotations

from typing import Any

__all__ = ["model_card"]


def model_card(summary: dict[str, Any]) -> str:
    """What the model is, what it was made from, how far to trust it, how to use it.

    Parameters
    ----------
    summary : dict
        From `gradapt.tables.summarise`.
    """
    data, config = summary["data"], summary["config"]
    lines = [
        f"# Classifier of `{data['label']}`",
        "",
        f"Made by gradapt {summary['gradapt']} on {summary['created']}. Kept: the **{summary['kept']} model**.",
        f"{summary['kept_reason']}.",
        "",
        "## How far to trust it",
        "",
        f"The check before adapting said: **{summary['verdict']['decision']}**.",
        "",
        *(f"- {reason}" for reason in summary["verdict"]["reasons"]),
        "",
        "| model | estimated accuracy on today's rows | 95 % interval | estimator |",
        "|---|---|---|---|",
        *(_accuracy_row(name, summary["accuracy"][key]) for name, key in (("old", "old"), ("adapted", "new"))),
        "",
        "The estimates use no labels of today's rows. They do not cover what the labelled rows cannot show.",
        "",
        "## Data",
        "",
        *(f"- {file['name']}: {file['rows']} rows, sha256 `{file['sha256']}`" for file in data["files"]),
        f"- classes: {', '.join(data['classes'])}",
        f"- ordered by `{data['order']}`, labelled first window, {data['n_target']} rows predicted in the last",
        *(f"- {sentence}" for sentence in summary["sampled"]),
        "",
        "## Columns",
        "",
        "| column | used as | remark |",
        "|---|---|---|",
        *(f"| {_cell(c['column'])} | {c['kind']} | {_cell(c['note'])} |" for c in summary["preprocessing"][:200]),
        "",
        "## Configuration",
        "",
        *(f"- {key}: `{value}`" for key, value in config.items()),
        f"- seed: {summary['seed']}",
        "",
        "## Use",
        "",
        "```sh",
        "gradapt predict RUN/ NEW.parquet -o OUT.parquet",
        *([summary["redo"]] if summary["redo"] else []),
        "```",
        "",
        "Not meant for: rows from a world unlike the last window; decisions that need a measured accuracy.",
    ]
    return "\n".join(lines) + "\n"


def _accuracy_row(name: str, estimate: dict[str, Any]) -> str:
    interval = f"{100 * estimate['low']:.1f} .. {100 * estimate['high']:.1f} %"
    remark = estimate["estimator"] + ("" if estimate["reliable"] else " (not reliable)")
    return f"| {name} | {100 * estimate['estimate']:.1f} % | {interval} | {remark} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

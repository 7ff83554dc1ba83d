"""`gradapt check`: is the drift in this table gradual enough to adapt along?"""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gradapt.trust import DomainAccuracy, Verdict

__all__ = ["check"]

_UNTRUSTED = 3


class FailOn(Enum):
    """When to leave with an exit code other than 0."""

    NEVER = "never"
    UNTRUSTED = "untrusted"


def check(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with one row per sample.")],
    label: Annotated[str, typer.Option(help="Column of the labels; only those of the earliest window are used.")],
    order: Annotated[str, typer.Option(help="Column that puts the rows in order, such as the year.")],
    windows: Annotated[int, typer.Option(min=2, help="Number of equally filled windows to cut the rows into.")] = 5,
    by_value: Annotated[
        bool, typer.Option("--by-value", help="One window for each value of the order column.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the splits.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict and all numbers as JSON.")] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="'untrusted': leave with code 3 unless the verdict is 'adapt'.")
    ] = FailOn.NEVER,
) -> None:
    """Say whether to adapt, to generate domains, to get labels, or to leave the model alone.

    Uses a scaled logistic regression trained on the earliest window. Labels of later windows are ignored.
    """
    from gradapt.domains import ByQuantile, ByValue, DomainSequence
    from gradapt.trust import check as check_path
    from gradapt.trust import estimate_along

    frame = _read(table)
    cut = ByValue() if by_value else ByQuantile(windows)
    sequence = DomainSequence.from_table(frame, label=label, order=order, windows=cut)
    model = _classifier(sequence.source.samples)
    verdict = check_path(sequence, model, seed=seed)
    accuracies = estimate_along(sequence, model, seed=seed)
    if as_json:
        print(json.dumps(_plain(verdict, accuracies), indent=2))
    else:
        _print(verdict, accuracies)
    if fail_on is FailOn.UNTRUSTED and not verdict.trusted:
        raise typer.Exit(_UNTRUSTED)


def _read(path: Path) -> Any:
    import pandas as pd

    from gradapt.errors import InputError

    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    try:
        return pd.read_parquet(path) if path.suffix in (".parquet", ".pq") else pd.read_csv(path)
    except (ValueError, OSError) as error:
        raise InputError(f"{str(path)!r} is neither a CSV nor a Parquet table ({error})") from None


def _classifier(samples: Any) -> Any:
    """Scaled numbers and one-hot words in front of logistic regression."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    if not hasattr(samples, "columns"):
        return make_pipeline(*(step for _, step in numbers.steps), LogisticRegression(max_iter=1000))
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def _plain(verdict: Verdict, accuracies: tuple[DomainAccuracy, ...]) -> dict[str, Any]:
    from dataclasses import asdict

    return {**verdict.to_dict(), "estimated_accuracy": [asdict(domain) for domain in accuracies]}


def _print(verdict: Verdict, accuracies: tuple[DomainAccuracy, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{verdict}[/bold]", soft_wrap=True, highlight=False)
    table = Table(title="steps; accuracy as estimated, before and after adapting", title_justify="left")
    table.add_column("step", no_wrap=True)
    for name in ("shift", "/ margin", "jumped", "crossing", "before", "after"):
        table.add_column(name, justify="right")
    for step, accuracy in zip(verdict.steps, accuracies, strict=True):
        table.add_row(
            f"{step.before} -> {step.after}",
            f"{step.shift:.3g}",
            f"{step.ratio:.2f}",
            f"{100 * step.jumped:.0f} %",
            f"{100 * step.crossing:.0f} %",
            _interval(accuracy.before),
            _interval(accuracy.after),
        )
    console.print(table)


def _interval(guess: Any) -> str:
    return f"{100 * guess.value:.0f} % ({100 * guess.low:.0f}..{100 * guess.high:.0f})"

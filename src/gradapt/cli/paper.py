"""``gradapt paper``: the paper's tables, ours beside theirs."""

from __future__ import annotations

from typing import Annotated

import typer

from gradapt.errors import InputError

__all__ = ["paper"]


def paper(
    tables: Annotated[
        list[str],
        typer.Argument(metavar="TABLE...", help="rotated-mnist, color-mnist, portraits, covtype, or all."),
    ],
    preset: Annotated[
        str, typer.Option(help="reference: what produced the published tables; paper: what the text says.")
    ] = "reference",
    seeds: Annotated[int, typer.Option(help="Runs of each cell.")] = 5,
    given: Annotated[str, typer.Option(help="Given domains, such as 0,2,4.")] = "0,1,2,3,4",
    generated: Annotated[
        str, typer.Option(help="Generated domains between two neighbours, such as 0,4; 0 is gradual self-training.")
    ] = "0,1,2,3,4",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    jobs: Annotated[int, typer.Option(help="Processes; each takes one table and seed at a time.")] = 1,
    samples: Annotated[int | None, typer.Option(help="At most this many samples in each domain, for a trial.")] = None,
    store: Annotated[
        str, typer.Option(help="File of finished cells; a run goes on where it was.")
    ] = "runs/paper.sqlite",
    output: Annotated[str, typer.Option(help="Folder for CSV, JSON and Markdown.")] = "runs/tables",
) -> None:
    """Run a table of the paper and print it beside the published figures.

    An interrupted run goes on where it was; a finished one is only printed.
    """
    from gradapt.experiments import TABLES, run_tables

    unknown = [name for name in tables if name not in (*TABLES, "all")]
    if unknown:
        raise InputError(f"there is no table {unknown[0]!r}; choose among {', '.join(TABLES)} and all")
    run_tables(
        list(TABLES) if "all" in tables else tables,
        preset=preset,
        seeds=seeds,
        given=_counts(given, "--given"),
        generated=_counts(generated, "--generated"),
        device=device,
        jobs=jobs,
        n_samples=samples,
        store=store,
        output=output,
    )


def _counts(text: str, name: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} must be counts separated by commas, such as 0,2,4; got {text!r}") from None

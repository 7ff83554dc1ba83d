"""``gradapt paper``: the paper's tables, ours beside theirs."""

from __future__ import annotations

from typing import Annotated

import typer

from gradapt.errors import InputError

__all__ = ["paper"]


def paper(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...",
            help="rotated-mnist, color-mnist, portraits, covtype, or all: GST and GOAT on the benchmarks. "
            "uda: one-off baselines and floors. covi: GST, CoVi, GOAT; covi-parts: what helps CoVi. encoders, plans: "
            "ablations. "
            "selection: the number of generated domains chosen without labels. vae: generated digits, a picture.",
        ),
    ],
    preset: Annotated[
        str, typer.Option(help="reference: what produced the published tables; paper: what the text says.")
    ] = "reference",
    seeds: Annotated[int, typer.Option(help="Runs of each cell.")] = 5,
    given: Annotated[
        str | None, typer.Option(help="Given domains, such as 0,2,4; by default those of the table in the paper.")
    ] = None,
    generated: Annotated[
        str | None,
        typer.Option(
            help="Generated domains between two neighbours, such as 0,4; 0 is gradual self-training. "
            "By default those of the table."
        ),
    ] = None,
    with_given: Annotated[
        bool, typer.Option("--with-given", help="In uda, baselines also with the given domains pooled with the target.")
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    jobs: Annotated[int, typer.Option(help="Processes; each takes one benchmark and seed at a time.")] = 1,
    samples: Annotated[int | None, typer.Option(help="At most this many samples in each domain, for a trial.")] = None,
    store: Annotated[
        str, typer.Option(help="File of finished cells; a run goes on where it was.")
    ] = "runs/paper.sqlite",
    output: Annotated[str, typer.Option(help="Folder for CSV, JSON, Markdown and pictures.")] = "runs/tables",
) -> None:
    """Run a table of the paper and print it beside the published figures.

    An interrupted run goes on where it was; a finished one is only printed.
    """
    from gradapt.paper import run_tables

    run_tables(
        tables,
        preset=preset,
        seeds=seeds,
        given=_counts(given, "--given"),
        generated=_counts(generated, "--generated"),
        with_given=with_given,
        device=device,
        jobs=jobs,
        n_samples=samples,
        store=store,
        output=output,
    )


def _counts(text: str | None, name: str) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} must be counts separated by commas, such as 0,2,4; got {text!r}") from None

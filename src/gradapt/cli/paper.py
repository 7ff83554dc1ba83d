"""``gradapt paper``: the paper's tables, ours beside theirs."""

from __future__ import annotations

import argparse
import shlex

from gradapt.cli.engine_options import declare_engine, engine_of
from gradapt.cli.parsing import Fail, at_least, counts

__all__ = ["HELP", "declare", "run"]

HELP = """Run a table of the paper and print it beside the published figures.

An interrupted run goes on where it was; a finished one is only printed."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "tables",
        nargs="+",
        metavar="TABLE",
        help="rotated-mnist, color-mnist, portraits, covtype, or all: GST and GOAT on the benchmarks. uda: one-off "
        "baselines and floors. covi: GST, CoVi, GOAT; covi-parts: what helps CoVi. encoders, plans: ablations. "
        "selection: the number of generated domains chosen without labels. frontier: very different "
        "methods and a choice among them without labels. vae: generated digits, a picture. report: runs nothing, but "
        "makes docs/results.md, its picture and every marked figure of the pages of a checkout from its results/",
    )
    parser.add_argument(
        "--preset",
        default="reference",
        help="reference: what produced the published tables; paper: what the text says [%(default)s]",
    )
    parser.add_argument("--seeds", type=at_least(1), default=5, metavar="N", help="runs of each cell [%(default)s]")
    parser.add_argument(
        "--first-seed", type=at_least(0), default=0, metavar="N", help="the runs have this seed and those behind it"
    )
    parser.add_argument(
        "--given", type=counts, metavar="COUNTS", help="given domains, such as 0,2,4 [those of the table in the paper]"
    )
    parser.add_argument(
        "--generated",
        type=counts,
        metavar="COUNTS",
        help="generated domains between two neighbours, such as 0,4; 0 is gradual self-training [those of the table]",
    )
    parser.add_argument(
        "--with-given", action="store_true", help="in uda, baselines also with the given domains pooled with the target"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda [%(default)s]")
    parser.add_argument(
        "--one-by-one",
        action="store_true",
        help="train each cell alone on a GPU as well; without, the cells of a table and seed train in lockstep there, "
        "with the same numbers up to rounding",
    )
    declare_engine(parser)
    parser.add_argument(
        "--samples", type=at_least(1), metavar="N", help="at most this many samples in each domain, for a trial"
    )
    parser.add_argument(
        "--store", default="runs/paper.sqlite", help="file of finished cells; a run goes on where it was [%(default)s]"
    )
    parser.add_argument(
        "--output", default="runs/tables", help="folder for CSV, JSON, Markdown and pictures [%(default)s]"
    )
    parser.add_argument("--root", default=".", metavar="FOLDER", help="of report: the checkout [the current folder]")
    parser.add_argument(
        "--check", action="store_true", help="of report: write nothing, name files that would change, and end with 1"
    )


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Run what is missing, print and write."""
    if "report" in chosen.tables:
        return _report(chosen, fail)
    from gradapt.paper import Launch, Options, run_tables

    engine = engine_of(chosen, on_cpu=chosen.device == "cpu")
    run_tables(
        chosen.tables,
        Options(chosen.preset, chosen.given, chosen.generated, chosen.samples, chosen.with_given, chosen.first_seed),
        seeds=chosen.seeds,
        launch=Launch(
            chosen.device,
            chosen.jobs or 1,
            chosen.store,
            engine,
            shlex.join(chosen.arguments),
            together=False if chosen.one_by_one else None,
        ),
        output=chosen.output,
    )
    return 0


def _report(chosen: argparse.Namespace, fail: Fail) -> int:
    """The page of results from the records."""
    if len(chosen.tables) > 1:
        fail(f"report stands alone, got {' '.join(chosen.tables)}")
    from gradapt.paper.regenerate import regenerate

    changed = regenerate(chosen.root, check=chosen.check)
    verb = "would change" if chosen.check else "written"
    print("\n".join(f"{verb}: {path}" for path in changed) or "everything is as the records say")
    return 1 if chosen.check and changed else 0

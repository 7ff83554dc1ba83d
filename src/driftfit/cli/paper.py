"""``driftfit paper``: the paper's tables, ours beside theirs."""

from __future__ import annotations

import argparse
import shlex

from driftfit.cli.parsing import Fail, at_least, counts, declare_engine, engine_of
from driftfit.cli.text import counted

HELP = """Run a table of the paper and print it beside the published figures.

A cell of a table is one method with one setting, run with several seeds. An interrupted run goes on where it was; a
finished one is only printed."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "tables",
        nargs="+",
        metavar="TABLE",
        help="rotated-mnist, color-mnist, portraits, covtype, or all: GST and GOAT on the benchmarks. uda: "
        "baselines that adapt in one step. covi: GST, CoVi, GOAT; covi-parts: ablation of CoVi. encoders, plans: "
        "ablations of GOAT. selection: the number of generated domains chosen without labels. frontier: methods beyond "
        "the paper and a choice among them without labels. vae: generated digits, a picture.",
    )
    parser.add_argument(
        "--preset",
        default="reference",
        help="data and networks, reference: of the code behind the published tables; paper: of the text, with records "
        "of one row only of each of Tables 3 to 6 [%(default)s]",
    )
    parser.add_argument(
        "--seeds", type=at_least(1, 1_000), default=5, metavar="N", help="seeds of each cell [%(default)s]"
    )
    parser.add_argument(
        "--first-seed",
        type=at_least(0, 2**32 - 1),
        default=0,
        metavar="N",
        help="number of the first seed [%(default)s]",
    )
    parser.add_argument(
        "--given", type=counts, metavar="COUNTS", help="numbers of given domains, such as 0,2,4 [those of the paper]"
    )
    parser.add_argument(
        "--generated",
        type=counts,
        metavar="COUNTS",
        help="numbers of generated domains between two neighbours, such as 0,4; 0 is GST [those of the paper]",
    )
    parser.add_argument(
        "--with-given", action="store_true", help="uda: also baselines that see the given domains beside the target"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda [%(default)s]")
    declare_engine(parser)
    parser.add_argument(
        "--samples", type=at_least(1), metavar="N", help="use at most this many samples of each domain: a quick trial"
    )
    parser.add_argument(
        "--store", default="runs/paper.sqlite", help="file of finished cells; a run goes on where it was [%(default)s]"
    )
    parser.add_argument("--output", default="runs/tables", help="folder for JSON, Markdown and pictures [%(default)s]")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Run what is missing, print and write."""
    from driftfit.lab.cells import Options
    from driftfit.lab.paper import Launch, run_tables

    engine = engine_of(chosen, on_cpu=chosen.device == "cpu")
    run_tables(
        chosen.tables,
        Options(chosen.preset, chosen.given, chosen.generated, chosen.samples, chosen.with_given, chosen.first_seed),
        seeds=chosen.seeds,
        launch=Launch(chosen.device, engine, chosen.store, shlex.join(chosen.arguments)),
        output=chosen.output,
        progress=counted,
    )
    return 0

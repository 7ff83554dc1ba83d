"""The options of every command whose work can be spread: from words to an engine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from driftfit.cli.parsing import at_least

if TYPE_CHECKING:
    from driftfit.parallel import Engine


def declare_engine(parser: argparse.ArgumentParser, what: str = "cells") -> None:
    """Where independent pieces of work run."""
    group: Any = parser.add_argument_group("engine", f"where {what} run")
    group.add_argument(
        "--engine",
        choices=("serial", "processes", "ray"),
        help=f"serial: {what} one after another; processes: several at a time on this machine; ray: with Ray, on this "
        "machine or on the cluster of --address [serial; processes with --jobs, ray with --address]",
    )
    group.add_argument("--jobs", type=at_least(1, 1_000), metavar="N", help=f"run at most this many {what} at a time")
    group.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="Ray cluster to join",
    )
    group.add_argument(
        "--gpus",
        type=_gpus,
        metavar="SHARE",
        help=f"with Ray: GPUs for one of the {what}, such as 0.5 [1 if there are any]",
    )


def engine_of(chosen: argparse.Namespace, *, on_cpu: bool = False) -> Engine:
    """The engine that the options ask for."""
    from driftfit.parallel import engine_from_word

    ray = chosen.engine == "ray" or chosen.address is not None
    gpus = 0.0 if ray and on_cpu else chosen.gpus
    return engine_from_word(chosen.engine, chosen.jobs, chosen.address, gpus)


def _gpus(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1000:
        raise argparse.ArgumentTypeError(f"must be a share of GPUs, such as 0.5 or 1, got {text!r}")
    return share

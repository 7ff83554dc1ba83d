"""Options that several commands share: numbers, paths, where work runs; and what is refused at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from driftfit.errors import one_line
from driftfit.extras import need

if TYPE_CHECKING:
    from driftfit.parallel import Engine


# Leaves with code 2 and one line on how a command is used.
Fail = Callable[[str], NoReturn]
_MOST_COUNTS = 1_000


def at_least(least: int, most: int = 1_000_000_000) -> Callable[[str], int]:
    """A type of whole numbers between two limits: what no machine holds is refused before any of it is made.

    >>> at_least(2)("5")
    5
    """

    def whole(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {one_line(text, 40)!r}") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {one_line(text, 40)}")
        if number > most:
            raise argparse.ArgumentTypeError(f"must be at most {most}, got {one_line(text, 40)}")
        return number

    return whole


def output_path(text: str) -> Path:
    """A path to write to. Bytes in it that are no text cannot be handed to every library that writes.

    >>> output_path("RUN").name
    'RUN'
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("must be text in UTF-8; choose another name") from None
    return Path(text)


def counts(text: str) -> list[int]:
    """Counts separated by commas.

    >>> counts("0,2,4")
    [0, 2, 4]
    """
    try:
        found = [int(part) for part in text.split(",", _MOST_COUNTS)]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be at most {_MOST_COUNTS} counts separated by commas, such as 0,2,4; got {one_line(text, 40)!r}"
        ) from None
    if max(found) > _MOST_COUNTS:
        raise argparse.ArgumentTypeError(f"must be counts of at most {_MOST_COUNTS}, got {one_line(max(found), 40)}")
    return found


def need_tables(command: str, *more: str) -> None:
    """Raise one line that names the extra where a package for tables is missing; before the work, not after it."""
    for package in ("pandas", "pyarrow", "skops", *more):
        need(package, "tables", f"driftfit {command}")


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

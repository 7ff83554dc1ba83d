"""What several commands share: types of arguments, and the packages they need."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from gradapt.extras import need

__all__ = ["Fail", "at_least", "counts", "need_tables"]

# Leaves with code 2 and one line on how a command is used.
Fail = Callable[[str], NoReturn]


def at_least(least: int) -> Callable[[str], int]:
    """A type of whole numbers that are not below a limit.

    >>> at_least(2)("5")
    5
    """

    def whole(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {number}")
        return number

    return whole


def counts(text: str) -> list[int]:
    """Counts separated by commas.

    >>> counts("0,2,4")
    [0, 2, 4]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be counts separated by commas, such as 0,2,4; got {text!r}") from None


def need_tables(command: str, *more: str) -> None:
    """Raise one line that names the extra where a package for tables is missing; before the work, not after it."""
    for package in ("pandas", "pyarrow", "skops", *more):
        need(package, "tables", f"gradapt {command}")

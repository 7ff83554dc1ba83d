"""Types of arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

__all__ = ["Fail", "at_least", "counts"]

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

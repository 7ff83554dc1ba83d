"""The two kinds of failure a user meets, both catchable by their built-in parents.

>>> issubclass(InputError, ValueError), issubclass(SolverError, RuntimeError)
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """What was handed in cannot be used; the message names the value and the remedy."""


class AdaptationWarning(UserWarning):
    """Something about an adaptation that its user should know, such as that the old model was kept."""


class SolverError(RuntimeError):
    """A numerical method stopped without a usable answer; the message says what to try."""


def one_line(what: object, most: int = 200) -> str:
    r"""Something out of a file, or somebody else's error, as part of a message: short, and fit for a terminal.

    >>> one_line(KeyError("a")), one_line("two\n  lines\x1b[2J", 10)
    ("KeyError: 'a'", 'two lines?')
    """
    text = f"{type(what).__name__}: {what}" if isinstance(what, BaseException) else str(what)
    words = " ".join(text[: 10 * most].split())[:most]
    return "".join(letter if letter.isprintable() else "?" for letter in words)


def meant(word: str, words: Iterable[str]) -> str:
    """The end of a message about an unknown word: the one that was probably meant, where there is one.

    >>> meant("chek", ["adapt", "check"]), meant("x", ["adapt", "check"])
    ("; did you mean 'check'?", '')
    """
    close = get_close_matches(word[:200], list(words)[:1000], 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close else ""

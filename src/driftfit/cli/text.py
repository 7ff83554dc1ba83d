"""Plain text for people: tables that fit the terminal, and names of the user's own that cannot steer it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

_GAP = 2
_NARROWEST = 10
# White space that no printable text holds.
_FOLD = "\x0b"


def printable(text: str) -> str:
    """Text of the user's without control characters, which a terminal would obey.

    >>> printable("a\\x1b[31mb")
    'a [31mb'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[int] = (0,), width: int | None = None
) -> str:
    """Columns under their names, folded where they would not fit.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequences of str
    words : sequence of int
        Columns of text: aligned to the left and folded where the table is too wide. The others are numbers.
    width : int, optional
        Of the terminal by default; 80 where there is none.

    Examples
    --------
    >>> print(text_table(["step", "shift"], [["a -> b", "0.5"], ["a long name -> c", "12"]], width=18))
    step         shift
    a -> b         0.5
    a long name     12
    -> c
    """
    cells = [[printable(cell) for cell in row] for row in [header, *rows]]
    space = width or shutil.get_terminal_size((80, 24)).columns
    sizes = [max(len(row[number]) for row in cells) for number in range(len(header))]
    while sum(sizes) + _GAP * (len(sizes) - 1) > space:
        widest = max(words, key=lambda number: sizes[number])
        if sizes[widest] <= _NARROWEST:
            break
        sizes[widest] -= 1
    lines = []
    for row in cells:
        folded = [
            _folded(cell, size, number in words) for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        for place in range(max(len(part) for part in folded)):
            parts = [part[place] if place < len(part) else " " * size for part, size in zip(folded, sizes, strict=True)]
            lines.append((" " * _GAP).join(parts).rstrip())
    return "\n".join(lines)


def _folded(cell: str, size: int, word: bool) -> list[str]:
    if not word:
        return [cell.rjust(size)]
    # A span of values is folded behind its dots rather than within a number.
    marked = cell.replace("..", f"..{_FOLD}")
    lines = textwrap.wrap(marked, size, break_on_hyphens=False, expand_tabs=False, replace_whitespace=False)
    return [line.replace(_FOLD, "").ljust(size) for line in lines] or [" " * size]

"""Figures in a text that come from a file of results, marked so that they can be compared and made anew.

A mark is a comment that names the file and what is taken from it, then the text that stands there, then ``<!--/-->``::

    the best has <!-- skada.json: {high(rows.faster):.0f} -->58<!--/--> times the speed

A table has a line for each item of a list, and a template for each column::

    <!-- skada.json: for rows
    data = {data}
    faster = {faster:.1f}x
    -->
    | data | faster |
    |---|---|
    | moons | 7.7x |
    <!--/-->

``table 2`` copies the second table of a Markdown file. ``a.csv+b.csv`` has the lines of both.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftfit.errors import InputError
from driftfit.lab.expressions import MISSING, evaluate, filled

__all__ = ["load", "refreshed", "strip_marks", "unmarked"]

_MARK = re.compile(r"<!-- ([\w.+-]+\.(?:json|csv|md)): (.*?)\s*-->(.*?)<!--/-->", re.DOTALL)
_OPENING = re.compile(r"<!-- ([\w.+-]+\.(?:json|csv|md)): ")
_ELSEWHERE = "<!-- not from results: "
_FENCE = re.compile(r"^```.*?^```\s*?$", re.DOTALL | re.MULTILINE)
# A cell that begins with a decimal, or with a number and a unit.
_MEASURED = re.compile(r"\W*\d[\d,]*(\.\d|\d* ?(%|s|ms|min|GiB|x)(\W|$))")


def load(path: Path) -> Any:
    """Plain data of a JSON or CSV file, numbers as numbers; of a Markdown file its tables."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r} ({error.strerror}); name a file of the results") from None
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".csv":
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
    return _tables(text)


def refreshed(text: str, folder: Path) -> str:
    """The text with every marked figure as its file in ``folder`` has it now."""
    files: dict[str, Any] = {}

    def read(name: str) -> Any:
        # Runs of several files, one after the other.
        for part in name.split("+"):
            if part not in files:
                files[part] = load(folder / part)
        parts = [files[part] for part in name.split("+")]
        return parts[0] if len(parts) == 1 else [item for own in parts for item in own]

    _check_marks(text)
    return _MARK.sub(lambda found: _renewed(found, read), text)


def strip_marks(text: str) -> str:
    """The text as a reader sees it.

    >>> strip_marks("about <!-- a.json: {x:.0f} -->3<!--/--> points")
    'about 3 points'
    """
    return _MARK.sub(lambda found: found.group(3).strip("\n"), text)


def unmarked(text: str) -> list[str]:
    """Lines of tables with measured numbers that have no mark, and paragraphs that name a file of results with such.

    A cell is measured where it begins with a decimal or with a number and its unit. A table below
    ``<!-- not from results: why -->`` is let pass.

    >>> unmarked("| a | 1.5 |\\n")
    ['| a | 1.5 |']
    >>> unmarked("<!-- not from results: one run by hand -->\\n| a | 1.5 |\\n")
    []
    """
    rest = _MARK.sub("", _FENCE.sub("", text))
    found = []
    for paragraph in re.split(r"\n\s*\n", rest):
        lines = paragraph.splitlines()
        if any(line.lstrip().startswith(_ELSEWHERE) for line in lines):
            continue
        found += [line for line in lines if line.lstrip().startswith("|") and _measured(line)]
        prose = [line for line in lines if not line.lstrip().startswith("|")]
        if "results/" in paragraph:
            found += [line for line in prose if re.search(r"\d\.\d", re.sub(r"`[^`]*`", "", line))]
    return found


def _measured(line: str) -> bool:
    return any(_MEASURED.match(cell.strip()) for cell in line.split("|"))


def _check_marks(text: str) -> None:
    for found in _OPENING.finditer(text):
        if _MARK.match(text, found.start()) is None:
            line = text.count("\n", 0, found.start()) + 1
            raise InputError(f"the mark in line {line} has no end; close it with <!--/-->")
    for found in _MARK.finditer(text):
        before = text[: found.start()].rpartition("\n")[2]
        if not before.strip() and not _is_block(found.group(2)):
            line = text.count("\n", 0, found.start()) + 1
            raise InputError(f"line {line} begins with a mark, which would end the paragraph; put a word before it")
        if _OPENING.search(found.group(3)):
            raise InputError(f"a mark lies inside of another: {found.group(0)[:60]!r}")


def _is_block(template: str) -> bool:
    return template.startswith(("for ", "table "))


def _renewed(found: re.Match[str], read: Callable[[str], Any]) -> str:
    name, template, shown = found.groups()
    data = read(name)
    try:
        if template.startswith("for "):
            new = f"\n{_lines(template, data)}\n"
        elif template.startswith("table "):
            new = f"\n{data[int(template.split()[1]) - 1]}\n"
        else:
            new = filled(template, data)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except (IndexError, ValueError):
        raise InputError(f"{name} has no {template!r}; its tables are counted from 1") from None
    whole = found.group(0)
    return whole[: len(whole) - len(shown) - len("<!--/-->")] + new + "<!--/-->"


def _lines(template: str, data: Any) -> str:
    head, *columns = template.splitlines()
    parts = [column.partition(" = ")[::2] for column in columns if column.strip()]
    items = evaluate(head.removeprefix("for "), data)
    # A key that some items lack is missing there.
    empty = dict.fromkeys(key for item in items for key in item)
    rows = [[_cell(filled(cell.strip(), empty | item)) for _, cell in parts] for item in items]
    heading = "| " + " | ".join(name.strip() for name, _ in parts) + " |"
    return "\n".join([heading, "|---" * len(parts) + "|", *("| " + " | ".join(cells) + " |" for cells in rows)])


def _cell(text: str) -> str:
    """A unit without a number says nothing."""
    return MISSING if MISSING in text and not re.search(r"\d", text) else text


def _tables(text: str) -> list[str]:
    return [found.group(0).rstrip("\n") for found in re.finditer(r"(?:^\|.*\n?)+", text, re.MULTILINE)]


def _number(value: str) -> Any:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value or None

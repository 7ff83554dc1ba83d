"""What README and docs name is there: ``python docs/check_pages.py``.

Links lead to files, every page is in a table of contents, names in code exist, scripts of the gallery import public
names, the table of theory has a row for every numbered item of the paper. README stays short, and every
page is short and plain.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tables import ROOT, pages

DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "driftfit"
_MADE = ("auto_examples", "api", "../auto_examples", "../api", "made")
_MOST_LINES = 80
# Of README, in characters; of a sentence and of a page, in words.
_LONGEST_LINE, _LONGEST_SENTENCE, _LONGEST_PAGE = 200, 40, 900
# Looked up, not read from the beginning: the sentences count, not the length.
_TO_LOOK_UP = "glossary.md"
_ITEMS = {"Assumption": 5, "Definition": 7, "Lemma": 4, "Example": 2, "Proposition": 3, "Theorem": 1, "Algorithm": 1}


def links(page: Path) -> Iterator[str]:
    """Links and pictures that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text) + re.findall(r'<img src="([^"]+)"', text)
    yield from (
        f"links to {link}" for link in found if not link.startswith(_MADE) and not (page.parent / link).exists()
    )


def names(page: Path) -> Iterator[str]:
    """Dotted names of driftfit, classifiers and modules that a text sets in code, and that do not exist."""
    code = " ".join(re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")))
    dotted = set(re.findall(r"\bdriftfit(?:\.\w+)+", code)) | set(re.findall(r"\b\w+Classifier\b", code))
    known = {path.stem for path in SOURCE.iterdir()}
    for name in sorted(dotted):
        if not exists(name if "." in name else f"driftfit.{name}") and not exists(f"sklearn.ensemble.{name}"):
            yield f"names {name}"
    for name in sorted(set(re.findall(r"\b((?:\w+/)+\w+)\b", code))):
        if name.split("/")[0] in known and not list((SOURCE / name).parent.glob(f"{Path(name).name}*")):
            yield f"names the module {name}"


def not_public(source: str) -> Iterator[str]:
    """What a script of the gallery imports and no package has in its `__all__`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "driftfit":
            public = getattr(import_module(str(node.module)), "__all__", ())
            yield from (f"imports {node.module}.{own.name}" for own in node.names if own.name not in public)


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or in one, or an attribute of what is in one."""
    parts, value = name.split("."), None
    for number, part in enumerate(parts):
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        try:
            value = import_module(".".join(parts[: number + 1]))
        except ImportError:
            return False
    return True


def contents() -> Iterator[str]:
    """Pages that no table of contents lists."""
    texts = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    parts = [part for text in texts for part in re.findall(r"```\{toctree\}(.*?)```", text, re.DOTALL)]
    listed = {line.strip() for part in parts for line in part.splitlines()}
    here = {str(page.relative_to(DOCS).with_suffix("")) for page in pages()[1:]} - {"index"}
    yield from (f"docs/{name}.md is in no table of contents" for name in sorted(here - listed))


def theory() -> Iterator[str]:
    """Items of the paper without a row, and names in the table that do not exist."""
    text = (DOCS / "theory.md").read_text(encoding="utf-8")
    part = text.split("## Every numbered item of the paper")[1].split("\n## ")[0]
    rows = [line.split("|")[1:5] for line in part.splitlines() if line.startswith("| ") and "---" not in line][1:]
    named = " ".join(row[0] for row in rows)
    numbers = {kind: re.findall(rf"{kind}s? ([\d, and]+)", named) for kind in _ITEMS}
    for kind, most in _ITEMS.items():
        own = set(re.findall(r"\d+", " ".join(numbers[kind])))
        yield from (f"docs/theory.md has no row for {kind} {n}" for n in range(1, most + 1) if str(n) not in own)
    yield from (f"docs/theory.md has an empty cell beside {row[0]}" for row in rows if not all(map(str.strip, row)))
    for name in (name for row in rows for name in re.findall(r"`([\w.]+)`", row[1])):
        places = ("", "driftfit.theory.", "driftfit.transport.", "driftfit.transport.Plan.")
        if not any(exists(f"{place}{name}") for place in places):
            yield f"docs/theory.md names {name}"
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "theory").glob("test_*.py"))
    notes = (DOCS / "paper_notes.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(?:test_\w+\.py::)?(test_\w+?)(?:_?\.\.\.)?`", notes):
        if f"def {name}" not in tests:
            yield f"docs/paper_notes.md names the test {name}"


def prose(page: Path) -> str:
    """The sentences of a page: no code, no tables, no headings, no directives, links as their words."""
    text = re.sub(r"^(```|:::+).*?^\1\s*$", "\n", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", "<!--", "![", ":", "<"))]
    plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`\n]*`", "CODE", "\n".join(lines)))
    # A list item is a sentence of its own.
    return re.sub(r"^\s*([-*]|\d+\.) ", ".\n", plain, flags=re.MULTILINE)


def unreadable(page: Path) -> Iterator[str]:
    """Sentences and pages that are too long, and marks inside a line of README."""
    text = prose(page)
    for sentence in re.split(r"[.!?](?=[\s\"*)\]])|\n\s*\n", text):
        n_words = len(re.findall(r"[\w'%-]*\w[\w'%-]*", sentence))
        if n_words > _LONGEST_SENTENCE:
            yield f"has a sentence of {n_words} words: {' '.join(sentence.split())[:60]} ..."
    n_words = len(text.split())
    if page.name != _TO_LOOK_UP and n_words > _LONGEST_PAGE:
        yield f"has {n_words} words"
    if page.name == "README.md":
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
            if len(line) > _LONGEST_LINE:
                yield f"has {len(line)} characters in line {number}"
            if "<!--" in line and not line.startswith("<!--"):
                yield f"has a mark in line {number}"


def faults() -> list[Any]:
    """One line for each thing that is named and not there."""
    found = [*contents(), *theory()]
    for page in pages():
        found += [f"{page.relative_to(ROOT)} {fault}" for check in (links, names, unreadable) for fault in check(page)]
    for script in sorted((DOCS / "gallery").glob("plot_*.py")):
        found += [f"{script.name} {fault}" for fault in not_public(script.read_text(encoding="utf-8"))]
    if len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) > _MOST_LINES:
        found.append(f"README.md has more than {_MOST_LINES} lines")
    return found


if __name__ == "__main__":
    wrong = faults()
    print("\n".join(wrong) or "everything that README and docs name is there")
    sys.exit(bool(wrong))

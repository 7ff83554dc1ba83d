"""`docs/theory.md` has a row for every numbered item of the paper, and names only what exists."""

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ITEMS = [
    *(f"Assumption {n}" for n in range(1, 6)),
    *(f"Definition {n}" for n in range(1, 8)),
    *(f"Lemma {n}" for n in range(1, 5)),
    *(f"Example {n}" for n in range(1, 3)),
    *(f"Proposition {n}" for n in range(1, 4)),
    "Theorem 1",
    "Algorithm 1",
    "Section 3.4",
]


def rows():
    text = (DOCS / "theory.md").read_text(encoding="utf-8")
    part = text.split("## Every numbered item of the paper")[1].split("\n## ")[0]
    return [line.split("|")[1:5] for line in part.splitlines() if line.startswith("| ") and "---" not in line]


def items_of(cell):
    found = re.findall(r"(Assumption|Definition|Lemma|Example|Proposition|Theorem|Algorithm|Section)s? ([\d.]+)", cell)
    found += [(kind, number) for kind, number in re.findall(r"(Definition)s \d and (\d)", cell)]
    return {f"{kind} {number}" for kind, number in found}


@pytest.mark.parametrize("item", ITEMS)
def test_every_numbered_item_has_a_row(item):
    own = [row for row in rows() if item in items_of(row[0])]
    assert own
    # A function or value, a standing, and what can be falsified.
    assert all(cell.strip() for row in own for cell in row)


def test_every_name_in_the_table_exists():
    names = [name for row in rows()[1:] for name in re.findall(r"`([\w.]+)`", row[1])]
    assert len(names) > 40
    for name in names:
        module, _, attribute = name.rpartition(".")
        if module.startswith("driftfit"):
            assert hasattr(importlib.import_module(module), attribute), name
        else:
            thing = importlib.import_module("driftfit.theory")
            for part in name.split("."):
                if part != "Plan":
                    thing = getattr(thing, part, None) or getattr(
                        importlib.import_module("driftfit.transport").Plan, part, None
                    )
            assert thing is not None, name


def test_the_notes_name_tests_that_exist():
    notes = (DOCS / "paper_notes.md").read_text(encoding="utf-8")
    known = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    named = re.findall(r"`(?:test_\w+\.py::)?(test_\w+?)(?:_?\.\.\.)?`", notes)
    assert len(named) >= 9
    for name in named:
        assert f"def {name}" in known, name


def test_paper_notes_and_pictures_are_linked():
    text = (DOCS / "theory.md").read_text(encoding="utf-8")
    assert "(paper_notes.md)" in text
    for page in ("theory.md", "trust.md"):
        for picture in re.findall(r"\]\((images/[\w.-]+)\)", (DOCS / page).read_text(encoding="utf-8")):
            assert (DOCS / picture).exists(), picture

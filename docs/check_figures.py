"""Figures in the prose of README and docs are those of their records: ``python docs/check_figures.py``.

`figures.py` lists the words around each figure. They must stand in their page as they are there.
"""

from __future__ import annotations

import sys

from figures import FIGURES
from tables import ROOT


def differing() -> list[str]:
    """One line for each figure that its page does not have."""
    found = []
    for page, figures in FIGURES.items():
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        found += [f"{page} has no {words!r}" for words in figures() if words not in text]
    return found


if __name__ == "__main__":
    wrong = differing()
    print("\n".join(wrong) or "every figure is as its record says")
    sys.exit(bool(wrong))

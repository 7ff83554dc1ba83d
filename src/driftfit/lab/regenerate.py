"""One call that brings a checkout's results page and every marked figure of its pages up to its records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from driftfit.errors import InputError
from driftfit.files import write_text
from driftfit.lab.marks import refreshed
from driftfit.lab.overview import compared, digest_of, draw_overview
from driftfit.lab.records import read_records
from driftfit.lab.results_page import PICTURE, results_page, title_of

__all__ = ["marked_pages", "regenerate"]

_PAGE = Path("docs") / "results.md"


def regenerate(root: str | Path = ".", *, check: bool = False) -> list[Path]:
    """Write the results page, its picture and all marked figures anew; returns the files that changed.

    Parameters
    ----------
    root : path
        Of a checkout, with ``results`` and ``docs``.
    check : bool
        Write nothing; return the files that would change.
    """
    root = Path(root)
    results = root / "results"
    records = read_records(results)
    if not records:
        raise InputError(f"there is no record of a table in {str(results)!r}; name the root of a checkout")
    # Notes first: the page is made of them.
    texts = {path: refreshed_file(path, results) for path in marked_pages(root)}
    texts[root / _PAGE] = results_page(records, results)
    changed = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    comparisons = [one for one in compared(records) if one.record.preset == "reference"]
    picture = root / "docs" / PICTURE
    if not picture.is_file() or digest_of(comparisons).encode() not in picture.read_bytes():
        changed.append(picture)
    if check:
        return changed
    for path in changed:
        if path == picture:
            draw_overview(comparisons, [title_of(one.record) for one in comparisons], picture)
        else:
            write_text(path, texts[path])
    return changed


def marked_pages(root: Path) -> Sequence[Path]:
    """The texts in which figures may be marked: README, pages, notes of the results."""
    docs = root / "docs"
    made = {"api", "auto_examples", "_build"}
    pages = [path for path in docs.rglob("*.md") if not made & set(path.relative_to(docs).parts)]
    found = [root / "README.md", *sorted(pages), *sorted((root / "results" / "notes").glob("*.md"))]
    return [path for path in found if path != root / _PAGE and path.is_file()]


def refreshed_file(path: Path, results: Path) -> str:
    """The text of a page with its figures as they are now."""
    try:
        return refreshed(path.read_text(encoding="utf-8"), results)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None

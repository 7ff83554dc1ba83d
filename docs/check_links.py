"""Links inside the built site lead to a file and, behind a #, to a place: ``python docs/check_links.py build/site``.

No page loads anything from the network, so that all of them, the search too, work offline.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Links and places of one page, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.loaded: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
                if tag != "a":
                    self.loaded.add(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.places.add(value)


def broken_links(site: Path) -> list[str]:
    """One line for each link that leads nowhere, and for what a page loads from elsewhere."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.relative_to(site).parts:  # templates of the theme
            continue
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, page in pages.items():
        elsewhere = (link for link in sorted(page.loaded) if urlsplit(link).netloc)
        broken += [f"{path.relative_to(site.resolve())}: {link} (loaded from the network)" for link in elsewhere]
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            where = f"{path.relative_to(site.resolve())}: {link}"
            if not target.exists():
                broken.append(f"{where} (no such file)")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                broken.append(f"{where} (no such place)")
    return broken


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    print("\n".join(found) or "every link inside the site leads somewhere, and no page loads anything from the network")
    sys.exit(bool(found))

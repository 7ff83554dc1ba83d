"""SVG as escaped text, and the frame that all charts of the page share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

# One module for every figure, so that text has the same size in all of them.
WIDTH = 420.0
HEIGHT = 250.0

Attribute = str | float | int | None


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """One element; ``class_`` stands for class, underscores for hyphens, and None leaves an attribute out.

    >>> tag("text", "a < b", class_="note", text_anchor="end", x=1 / 3, y=None)
    Markup('<text class="note" text-anchor="end" x="0.33">a &lt; b</text>')
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(escape(child) for child in children)}</{name}>")


def picture(
    *children: str, label: str, width: float = WIDTH, height: float = HEIGHT, class_: str | None = None
) -> Markup:
    """A whole drawing that scales with the page and says in words what it shows."""
    box = f"0 0 {_plain(width)} {_plain(height)}"
    return tag("svg", *children, class_=class_, viewBox=box, role="img", aria_label=label)


def polyline(points: Iterable[tuple[float, float]], closed: bool = False) -> str:
    """The ``d`` of a path through points."""
    steps = " ".join(f"{_plain(x)} {_plain(y)}" for x, y in points)
    return f"M{steps}{'Z' if closed else ''}"


def diamond(x: float, y: float, size: float) -> str:
    """The ``d`` of a diamond, the mark of generated domains."""
    return polyline([(x, y - size), (x + size, y), (x, y + size), (x - size, y)], closed=True)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that cover the middle of a range.

    >>> ticks(0, 1, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(0.61, 0.92, 4)
    [0.7, 0.8, 0.9]
    """
    if not high > low:
        return [low]
    raw = (high - low) / max(about, 1)
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * 0.8)
    digits = max(0, 1 - math.floor(math.log10(step)))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, digits) for place in range(first, last + 1)]


@dataclass(frozen=True)
class Frame:
    """A rectangle of the drawing with a linear scale on both axes."""

    x_range: tuple[float, float]  # values at the edges
    y_range: tuple[float, float]
    width: float = WIDTH  # of the whole drawing
    height: float = HEIGHT
    left: float = 48.0  # margins around the rectangle
    right: float = 16.0
    top: float = 14.0
    bottom: float = 34.0

    @property
    def floor(self) -> float:
        """Height of the lower edge."""
        return self.height - self.bottom

    def x(self, value: float) -> float:
        """Where a value lies across."""
        return self.left + (self.width - self.left - self.right) * _share(value, self.x_range)

    def y(self, value: float) -> float:
        """Where a value lies down."""
        return self.floor - (self.floor - self.top) * _share(value, self.y_range)

    def rows(self, at: Sequence[float], wording: Callable[[float], str]) -> Markup:
        """Horizontal grid lines with their values."""
        drawn = []
        for value in at:
            y = self.y(value)
            drawn.append(tag("line", class_="grid", x1=self.left, x2=self.width - self.right, y1=y, y2=y))
            drawn.append(tag("text", wording(value), class_="tick", x=self.left - 8, y=y + 4, text_anchor="end"))
        return Markup("").join(drawn)

    def columns(self, at: Sequence[tuple[float, str]]) -> Markup:
        """Labels under the lower edge; those at the ends stay inside the drawing."""
        drawn = [
            tag("line", class_="axis", x1=self.left, x2=self.width - self.right, y1=self.floor, y2=self.floor),
        ]
        for value, words in at:
            x = self.x(value)
            anchor = "start" if x - self.left < 8 else "end" if self.width - self.right - x < 8 else "middle"
            drawn.append(tag("text", words, class_="tick", x=x, y=self.floor + 18, text_anchor=anchor))
        return Markup("").join(drawn)


def _share(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return 0.5 if high == low else (value - low) / (high - low)


def _plain(value: Attribute) -> str:
    if isinstance(value, float):
        short = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if short == "-0" else short
    return str(value)

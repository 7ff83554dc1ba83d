"""How sure old and new model are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import dig, number, percent, short
from driftfit.app.report.svg import Frame, picture, polyline, tag, ticks

_MOST_BINS = 200


@dataclass(frozen=True)
class Histogram:
    """The drawing and which models are in it."""

    drawing: Markup
    old: bool
    new: bool


@dataclass(frozen=True)
class _Bins:
    edges: list[float]
    old: list[float]
    new: list[float]

    @property
    def unit(self) -> Any:
        """Shares of rows add up to one, counts do not."""
        return _share_of_rows if max(sum(self.old), sum(self.new)) <= 1.001 else short

    def words(self, place: int) -> str:
        said = [
            f"{name} {self.unit(heights[place])}" for name, heights in (("new", self.new), ("old", self.old)) if heights
        ]
        return f"confidence {percent(self.edges[place])} to {percent(self.edges[place + 1])}: {', '.join(said)}"


def confidence_histogram(result: Mapping[str, Any]) -> Histogram | None:
    """Confidence on the target rows: the new model as full bars, the old one as an outline."""
    bins = _bins(result)
    if bins is None:
        return None
    top = max(*bins.old, *bins.new, 0.0)
    frame = Frame((bins.edges[0], bins.edges[-1]), (0.0, top * 1.1 if top > 0 else 1.0), left=56.0)
    bars, hovers = [], []
    outline = [(frame.x(bins.edges[0]), frame.floor)]
    for place in range(len(bins.edges) - 1):
        left, right = frame.x(bins.edges[place]), frame.x(bins.edges[place + 1])
        if bins.new:
            y = frame.y(bins.new[place])
            wide = max(right - left - 1.2, 0.5)
            bars.append(tag("rect", class_="new-fill", x=left + 0.6, y=y, width=wide, height=frame.floor - y))
        if bins.old:
            outline += [(left, frame.y(bins.old[place])), (right, frame.y(bins.old[place]))]
        area = {"x": left, "y": frame.top, "width": right - left, "height": frame.floor - frame.top}
        hovers.append(tag("rect", tag("title", bins.words(place)), class_="hover", **area))
    outline.append((frame.x(bins.edges[-1]), frame.floor))
    line = tag("path", class_="old-outline", d=polyline(outline)) if bins.old else Markup("")
    across = [(value, f"{100 * value:.0f} %") for value in ticks(bins.edges[0], bins.edges[-1], 5)]
    axes = frame.rows(ticks(*frame.y_range, 4), bins.unit) + frame.columns(across)
    drawing = picture(axes, *hovers, *bars, line, label="Histogram of the confidence on target rows.")
    return Histogram(drawing, bool(bins.old), bool(bins.new))


def _bins(result: Mapping[str, Any]) -> _Bins | None:
    edges = _numbers(dig(result, "confidence", "edges"))
    n_bins = len(edges) - 1
    if not 1 <= n_bins <= _MOST_BINS or not edges[-1] > edges[0]:
        return None
    found = (_numbers(dig(result, "confidence", which)) for which in ("old", "new"))
    old, new = (heights if len(heights) == n_bins else [] for heights in found)
    if old == new and dig(result, "kept") == "source":
        # What was recorded is the model that was kept: the old one, twice.
        new = []
    if not old and not new:
        return None
    # Nothing is below the chance level: empty bins on the left only take space.
    first = next((place for place in range(n_bins) if any(heights[place] > 0 for heights in (old, new) if heights)), 0)
    return _Bins(edges[first:], old[first:], new[first:])


def _share_of_rows(value: Any) -> str:
    return f"{100 * float(value):.3g} %"


def _numbers(value: Any) -> list[float]:
    found = [number(item) for item in value] if isinstance(value, list) else []
    return [] if any(item is None for item in found) else [item for item in found if item is not None]

"""What moved: features, and the plan as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import clip, dig, number, pairs, records, thin
from driftfit.app.report.svg import WIDTH, picture, tag
from driftfit.app.report.words import percent

__all__ = ["drift_bars", "feature_bars", "feature_shares", "plan_lines"]

_MOST_FEATURES = 12
_MOST_LINES = 240
_PLAN_HEIGHT = 330.0


def feature_shares(result: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Features with their share of the transport, the largest first."""
    found = [(clip(record.get("name")), number(record.get("share"))) for record in records(dig(result, "features"))]
    return sorted(((name, share) for name, share in found if share is not None), key=lambda item: -item[1])


def drift_bars(result: Mapping[str, Any]) -> Markup | None:
    """How far each feature moved by itself, the farthest first; those that chance may have moved are pale."""
    found = records(dig(result, "check", "diagnosis", "features"))
    known = [(clip(one.get("name")), number(one.get("distance")), bool(one.get("moved"))) for one in found]
    far = sorted(((name, distance, moved) for name, distance, moved in known if distance is not None), key=_farthest)
    pale = frozenset(name for name, _, moved in far if not moved)
    return feature_bars(
        [(name, distance) for name, distance, _ in far], "Largest difference between distribution functions", pale
    )


def _farthest(feature: tuple[str, float, bool]) -> float:
    return -feature[1]


def feature_bars(
    shares: Sequence[tuple[str, float]],
    what: str = "Share of the transport carried by each feature",
    pale: frozenset[str] = frozenset(),
) -> Markup | None:
    """The features that moved most, each name above its bar so that long names fit a phone."""
    shown = list(shares[:_MOST_FEATURES])
    if not shown:
        return None
    largest = max(shown[0][1], 1e-12)
    space, pitch = WIDTH - 72.0, 36.0
    drawn = []
    for place, (name, share) in enumerate(shown):
        y = 6.0 + place * pitch
        wide = max(space * max(share, 0.0) / largest, 1.0)
        words = name if len(name) <= 44 else name[:43] + "…"
        drawn.append(tag("text", tag("title", name), words, class_="name", x=0, y=y + 11))
        drawn.append(
            tag(
                "rect",
                class_="bar generated" if name in pale else "bar given",
                x=0,
                y=y + 17,
                width=wide,
                height=9,
                rx=1.5,
            )
        )
        drawn.append(tag("text", percent(share), class_="tick", x=wide + 7, y=y + 26))
    label = f"{what}: " + ", ".join(f"{name} {percent(share)}" for name, share in shown[:3])
    return picture(*drawn, label=label, height=6 + len(shown) * pitch, class_="features")


def plan_lines(result: Mapping[str, Any]) -> Markup | None:
    """A sample of the plan: hollow points of the first domain joined to full points of the last."""
    starts, ends = pairs(dig(result, "plan", "from")), pairs(dig(result, "plan", "to"))
    mass = dig(result, "plan", "mass")
    weights = [number(value) for value in mass] if isinstance(mass, list) else []
    joined = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=False)):
        weight = weights[place] if place < len(weights) else None
        if start is not None and end is not None:
            joined.append((start, end, 1.0 if weight is None else max(weight, 0.0)))
    if not joined:
        return None
    joined = thin(joined, _MOST_LINES)
    heaviest = max(weight for *_, weight in joined) or 1.0
    place_of = _equal_scales([point for start, end, _ in joined for point in (start, end)])
    lines, tails, heads = [], [], []
    for start, end, weight in joined:
        (x1, y1), (x2, y2) = place_of(start), place_of(end)
        opacity = 0.18 + 0.5 * weight / heaviest
        lines.append(tag("line", class_="flow", x1=x1, y1=y1, x2=x2, y2=y2, stroke_opacity=opacity))
        tails.append(tag("circle", class_="tail", cx=x1, cy=y1, r=2.6))
        heads.append(tag("circle", class_="head", cx=x2, cy=y2, r=2.6))
    label = f"{len(joined)} lines of the transport plan from the first to the last domain."
    return picture(*lines, *tails, *heads, label=label, height=_PLAN_HEIGHT, class_="plan")


def _equal_scales(points: Sequence[tuple[float, float]]) -> Any:
    """From data to drawing with one scale for both axes; lengths of lines can be compared in any direction."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    wide, high = (max(xs) - min(xs)) or 1e-12, (max(ys) - min(ys)) or 1e-12
    unit = min((WIDTH - 24) / wide, (_PLAN_HEIGHT - 24) / high)
    mid_x, mid_y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    return lambda point: (WIDTH / 2 + unit * (point[0] - mid_x), _PLAN_HEIGHT / 2 - unit * (point[1] - mid_y))

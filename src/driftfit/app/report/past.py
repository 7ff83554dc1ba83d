"""The past windows on the page: gains of each way over time, and each class in the newest judged window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import clip, count, dig, number, percent, records, texts
from driftfit.app.report.svg import Frame, picture, polyline, tag, ticks

# So many lines have a colour and a dash of their own.
_MOST_WAYS = 8
_MOST_WINDOWS = 120
_MOST_CLASSES = 200


@dataclass(frozen=True)
class Past:
    """What the page shows of a backtest."""

    reference: str
    kept: str
    newest: str
    drawing: Markup | None
    names: list[str]  # of the lines, in the order of their colours
    classes: list[tuple[list[str], bool]]  # cells of a row, and whether that class is never named


def past_windows(result: Mapping[str, Any]) -> Past | None:
    """Those of a result, or None where there are none."""
    found = dig(result, "backtest")
    lines = _lines(found)
    classes = [
        (
            [
                clip(one.get("name"), 80),
                count(one.get("rows")),
                percent(one.get("recall")),
                percent(one.get("precision")),
            ],
            one.get("never") is True,
        )
        for one in records(dig(found, "classes"))[:_MOST_CLASSES]
    ]
    # What was never named is to be seen without scrolling.
    classes.sort(key=lambda one: not one[1])
    if not lines and not classes:
        return None
    reference, kept, newest = (clip(dig(found, key), 80) for key in ("reference", "kept", "newest"))
    names = texts(dig(found, "windows"), 60)[-_MOST_WINDOWS:]
    points = dig(found, "in_points") is not False
    return Past(reference, kept, newest, _picture(lines, names, points), [name for name, _ in lines], classes)


def _lines(found: Any) -> list[tuple[str, list[tuple[int, float]]]]:
    """Name and known gains of each way but the reference, by the number of the window."""
    lines = []
    for way in records(dig(found, "ways")):
        gains = way.get("gains")
        shown = gains[-_MOST_WINDOWS:] if isinstance(gains, list) else []
        known = [(place, gain) for place, gain in enumerate(map(number, shown)) if gain is not None]
        if known and way.get("name") != dig(found, "reference"):
            lines.append((clip(way.get("name"), 80), known))
    return lines[:_MOST_WAYS]


def _picture(lines: list[tuple[str, list[tuple[int, float]]]], windows: list[str], in_points: bool) -> Markup | None:
    """A line for each way; what is above 0 is better than the reference."""
    if not lines:
        return None
    heights = [gain for _, known in lines for _, gain in known]
    low, high = min(0.0, *heights), max(0.0, *heights)
    pad = 0.08 * (high - low) or 0.01
    last = max(place for _, known in lines for place, _ in known)
    frame = Frame((0.0, float(max(last, 1))), (low - pad, high + pad), left=56.0)
    drawn = []
    for place, (name, known) in enumerate(lines):
        spots = [(frame.x(x), frame.y(gain)) for x, gain in known]
        drawn.append(tag("path", tag("title", name), class_=f"run r{place}", d=polyline(spots)))
        for (x, y), (number_of, gain) in zip(spots, known, strict=True):
            where = windows[number_of] if number_of < len(windows) else str(number_of + 1)
            title = tag("title", f"{name}, {where}: {_said(gain, in_points)}")
            drawn.append(tag("circle", title, class_=f"run-dot r{place}", cx=x, cy=y, r=4))
    zero = tag("line", class_="axis", x1=frame.left, x2=frame.width - frame.right, y1=frame.y(0.0), y2=frame.y(0.0))
    ends = [(0.0, windows[0])] + ([(float(last), windows[last])] if 0 < last < len(windows) else []) if windows else []
    axes = frame.rows(ticks(*frame.y_range, 4), lambda value: _said(value, in_points)) + frame.columns(ends)
    return picture(axes, zero, *drawn, label=f"Gain of {len(lines)} ways to learn in each past window.")


def _said(gain: float, in_points: bool) -> str:
    return f"{100 * gain:+.3g}" if in_points else f"{gain:+.3g}"

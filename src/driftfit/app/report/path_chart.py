"""Charts over the position along the path: shift, accuracy, changed labels, class shares."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import MOST_STOPS, Stop, at_position, clip, dig, number, records, texts, thin
from driftfit.app.report.svg import WIDTH, Frame, diamond, picture, polyline, tag, ticks
from driftfit.app.report.words import interval, percent, stop_words

__all__ = ["accuracy_line", "class_stack", "class_totals", "given_labels", "step_bars"]

# Colours that stay apart for colour-blind readers run out here; the rest is drawn together.
MOST_CLASSES = 8


def step_bars(
    path: Sequence[Stop], key: str, wording: Callable[[Any], str], label: str, share: bool = False
) -> Markup | None:
    """One bar per step; bars of generated domains are hollow."""
    heights = [(stop, stop.measured(key)) for stop in path]
    known = [(stop, height) for stop, height in heights if height is not None]
    if not known:
        return None
    top = max(height for _, height in known)
    frame = _frame(path, (0.0, top * 1.12 if top > 0 else 1.0))
    wide = _bar_width(frame, path)
    bars = []
    for stop, height in known:
        x, y = frame.x(stop.position), frame.y(max(0.0, height))
        kind = f"bar {'generated' if stop.generated else 'given'}{' narrow' if wide < 8 else ''}"
        bars.append(tag("rect", class_=kind, x=x - wide / 2, y=y, width=wide, height=max(frame.floor - y, 0.5), rx=1.5))
    axes = frame.rows(ticks(*frame.y_range, 4), _tick_percent if share else wording) + frame.columns(
        given_labels(path, frame)
    )
    tips = {stop.index: f"{stop.name}: {wording(height)}" for stop, height in known}
    return picture(axes, _bands(frame, path, tips), *bars, label=label)


def accuracy_line(result: Mapping[str, Any], path: Sequence[Stop]) -> Markup | None:
    """Estimated accuracy with its interval along the path."""
    found = []
    for record in thin(records(dig(result, "accuracy", "path")), MOST_STOPS):
        x, y = number(record.get("position")), number(record.get("estimate"))
        if x is not None and y is not None:
            low, high = number(record.get("low")), number(record.get("high"))
            found.append((x, y, y if low is None else low, y if high is None else high))
    if not found:
        return None
    lowest, highest = min(low for *_, low, _ in found), max(high for *_, high in found)
    pad = max(0.03, 0.12 * (highest - lowest))
    frame = _frame(path, (max(0.0, lowest - pad), min(1.0, highest + pad)))
    edge = [(frame.x(x), frame.y(high)) for x, _, _, high in found]
    edge += [(frame.x(x), frame.y(low)) for x, _, low, _ in reversed(found)]
    band = tag("path", class_="interval", d=polyline(edge, closed=True))
    line = tag("path", class_="line", d=polyline((frame.x(x), frame.y(y)) for x, y, _, _ in found))
    marks, tips = [], {}
    for x, y, low, high in found:
        stop = at_position(path, x)
        marks.append(_point(frame.x(x), frame.y(y), stop))
        if stop is not None:
            tips[stop.index] = f"{stop.name}: {percent(y)}, 95 % interval {interval(low, high)}"
    axes = frame.rows(ticks(*frame.y_range, 4), _tick_percent) + frame.columns(given_labels(path, frame))
    label = f"Estimated accuracy: {percent(found[0][1])} at the start of the path, {percent(found[-1][1])} at its end."
    return picture(axes, _bands(frame, path, tips), band, line, *marks, label=label)


def class_totals(result: Mapping[str, Any], path: Sequence[Stop]) -> tuple[list[str], list[tuple[Stop, list[float]]]]:
    """Names of the classes that are drawn and their shares at each stop.

    Beyond the largest classes the rest is drawn as one, so that colours stay apart.
    """
    found: list[tuple[Stop, list[float]]] = []
    for record in thin(records(dig(result, "class_shares")), MOST_STOPS):
        stop = at_position(path, number(record.get("position")))
        shares = record.get("shares")
        if stop is not None and isinstance(shares, list | tuple) and shares:
            found.append((stop, [max(number(share) or 0.0, 0.0) for share in shares]))
    if not found:
        return [], []
    n = max(len(shares) for _, shares in found)
    names = [clip(name, 60) for name in texts(dig(result, "data", "classes"))[:n]]
    names += [f"class {place}" for place in range(len(names), n)]
    padded = [(stop, shares + [0.0] * (n - len(shares))) for stop, shares in found]
    if n <= MOST_CLASSES:
        return names, padded
    weight = [max(shares[place] for _, shares in padded) for place in range(n)]
    largest = sorted(sorted(range(n), key=lambda place: -weight[place])[: MOST_CLASSES - 1])
    rest = [place for place in range(n) if place not in set(largest)]
    merged = [
        (stop, [*(shares[place] for place in largest), sum(shares[place] for place in rest)]) for stop, shares in padded
    ]
    return [*(names[place] for place in largest), f"{len(rest)} other classes"], merged


def class_stack(result: Mapping[str, Any], path: Sequence[Stop]) -> tuple[Markup, list[str]] | None:
    """Class proportions as a stack of bars at each stop, with the names for the legend."""
    names, totals = class_totals(result, path)
    if len(totals) < 2:
        return None
    frame = _frame(path, (0.0, 1.0))
    wide = _bar_width(frame, [stop for stop, _ in totals])
    bars, tips = [], {}
    for stop, shares in totals:
        below, x = 0.0, frame.x(stop.position)
        for place, share in enumerate(shares):
            y, base = frame.y(min(below + share, 1.0)), frame.y(min(below, 1.0))
            below += share
            if base - y > 0.05:
                bars.append(
                    tag(
                        "rect",
                        class_=f"class c{place}",
                        x=x - wide / 2,
                        y=y,
                        width=wide,
                        height=max(base - y - 0.8, 0.4),
                    )
                )
        parts = ", ".join(f"{name} {percent(share)}" for name, share in zip(names, shares, strict=True))
        tips[stop.index] = f"{stop.name}: {parts}"
    axes = frame.rows([0.0, 0.25, 0.5, 0.75, 1.0], _tick_percent) + frame.columns(given_labels(path, frame))
    label = f"Shares of {len(names)} classes at {len(totals)} domains along the path."
    return picture(axes, _bands(frame, path, tips), *bars, label=label), names


def given_labels(path: Sequence[Stop], frame: Frame) -> list[tuple[float, str]]:
    """Names of given domains that fit under the axis: both ends first, then those with space."""
    given = [stop for stop in path if not stop.generated] or list(path)
    if not given:
        return []
    order = [given[0], given[-1], *given[1:-1]]
    taken: list[tuple[float, float]] = []
    chosen = []
    for rank, stop in enumerate(order):
        words = stop.name if len(stop.name) <= 14 else stop.name[:13] + "…"
        wide, x = 7.6 * len(words) + 8, frame.x(stop.position)
        start = x if x - frame.left < 8 else x - wide if WIDTH - frame.right - x < 8 else x - wide / 2
        if stop not in order[:rank] and not any(start < b and a < start + wide for a, b in taken):
            taken.append((start, start + wide))
            chosen.append((stop.position, words))
    return chosen


def _frame(path: Sequence[Stop], y_range: tuple[float, float]) -> Frame:
    places = [stop.position for stop in path] or [0.0, 1.0]
    low, high = min(places), max(places)
    # Half a step of air on both sides keeps the first and the last bar inside.
    air = 0.5 * (high - low) / max(len(places) - 1, 1) if high > low else 0.5
    return Frame((low - air, high + air), y_range)


def _bar_width(frame: Frame, path: Sequence[Stop]) -> float:
    places = sorted(frame.x(stop.position) for stop in path)
    gaps = [after - before for before, after in itertools.pairwise(places) if after - before > 1e-6]
    return min(38.0, max(0.62 * min(gaps), 1.0)) if gaps else 38.0


def _bands(frame: Frame, path: Sequence[Stop], tips: Mapping[int, str]) -> Markup:
    """Invisible columns behind the chart: hover shows the words, the chosen step is tinted."""
    drawn = []
    for place, stop in enumerate(path):
        x = frame.x(stop.position)
        before = frame.x(path[place - 1].position) if place else 2 * frame.left - x
        after = frame.x(path[place + 1].position) if place + 1 < len(path) else 2 * (frame.width - frame.right) - x
        start, end = (x + before) / 2, (x + after) / 2
        drawn.append(
            tag(
                "rect",
                tag("title", tips.get(stop.index, stop_words(stop))),
                class_="band",
                x=start,
                y=frame.top,
                width=max(end - start, 0.0),
                height=frame.floor - frame.top,
                data_step=stop.index,
            )
        )
    return Markup("").join(drawn)


def _point(x: float, y: float, stop: Stop | None) -> Markup:
    index = None if stop is None else stop.index
    if stop is not None and stop.generated:
        return tag("path", class_="generated mark", d=diamond(x, y, 4.5), data_step=index)
    return tag("circle", class_="given mark", cx=x, cy=y, r=4.5, data_step=index)


def _tick_percent(value: Any) -> str:
    return f"{100 * float(value):.3g} %"

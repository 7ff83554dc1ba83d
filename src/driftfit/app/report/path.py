"""The path of domains as a map, and what is measured along it: shift, labels, class shares."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import (
    MOST_STOPS,
    Stop,
    at_position,
    clip,
    dig,
    number,
    pairs,
    percent,
    records,
    short,
    stop_words,
    texts,
    thin,
)
from driftfit.app.report.svg import WIDTH, Frame, diamond, picture, polyline, tag, ticks

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


_TALLEST = 330.0
_FLATTEST = 220.0
_MARGIN = 46.0
# Beyond this many domains the cells of the grid are too small to hold a number.
_MOST_WITH_NUMBERS = 9
_MOST_WITH_GENERATED = 15
_MOST_IN_GRID = 40

Box = tuple[float, float, float, float]


def domain_map(result: Mapping[str, Any], path: Sequence[Stop]) -> Markup | None:
    """Domains as points, real ones as discs and generated ones as diamonds, with a scale bar."""
    points = pairs(dig(result, "map", "points"))
    placed = [(stop, points[stop.index]) for stop in path if stop.index < len(points)]
    known = [(stop, point) for stop, point in placed if point is not None]
    if not known:
        return None
    unit, height, spots = _fit([point for _, point in known])
    route = tag("path", class_="route", d=polyline(spots)) if len(spots) > 1 else Markup("")
    scale = 1.0 if len(known) <= 20 else 0.7
    marked = sorted(zip(known, spots, strict=True), key=lambda item: not item[0][0].generated)
    marks = [_mark(stop, *spot, scale) for (stop, _), spot in marked]
    names = _names([stop for stop, _ in known], spots, height)
    label = f"Map of {len(known)} domains from {known[0][0].name} to {known[-1][0].name}."
    return picture(route, *marks, *names, _scale_bar(unit, height), label=label, height=height, class_="map")


def distance_grid(result: Mapping[str, Any], path: Sequence[Stop]) -> Markup | None:
    """All distances between domains as a grid of shades, with the numbers where they fit."""
    matrix = dig(result, "distances")
    if len(path) > _MOST_WITH_GENERATED:
        path = [stop for stop in path if not stop.generated]
    if not isinstance(matrix, list) or not 2 <= len(path) <= _MOST_IN_GRID:
        return None
    values = [[_cell(matrix, row.index, column.index) for column in path] for row in path]
    known = [value for row in values for value in row if value is not None]
    if not known or max(known) <= 0:
        return None
    n = len(path)
    left, top = 92.0, 26.0
    side = min((WIDTH - left - 8) / n, (_TALLEST - top - 8) / n)
    drawn = []
    for i, row in enumerate(path):
        y = top + i * side
        if n <= 20 or not row.generated:
            drawn.append(_row_name(row, left - 8, y + side / 2 + 4))
        for j, column in enumerate(path):
            value = values[i][j]
            if value is not None:
                drawn.append(_shade(value, max(known), left + j * side, y, side, n, f"{row.name} to {column.name}"))
    label = f"Distances between {n} domains, the largest {short(max(known))}."
    note = tag("text", "columns in the same order as rows", class_="tick", x=left, y=16)
    return picture(note, *drawn, label=label, height=top + n * side + 8, class_="grid-of-distances")


def _fit(points: Sequence[tuple[float, float]]) -> tuple[float, float, list[tuple[float, float]]]:
    """Drawing units per unit of distance, the same on both axes so that distances stay true; height; places."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    room_x, room_y = WIDTH - 2 * _MARGIN, _TALLEST - 2 * _MARGIN
    unit = min(room_x / wide if wide > 0 else float("inf"), room_y / high if high > 0 else float("inf"))
    if unit == float("inf"):
        unit = 1.0
    mid_x, mid_y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    height = max(_FLATTEST, unit * high + 2 * _MARGIN)
    return unit, height, [(WIDTH / 2 + unit * (x - mid_x), height / 2 - 6 - unit * (y - mid_y)) for x, y in points]


def _mark(stop: Stop, x: float, y: float, scale: float) -> Markup:
    words = tag("title", stop_words(stop))
    halo = tag("circle", class_="halo", cx=x, cy=y, r=13, data_step=stop.index)
    if stop.generated:
        return halo + tag("path", words, class_="generated", d=diamond(x, y, 5.5 * scale), data_step=stop.index)
    return halo + tag("circle", words, class_="given", cx=x, cy=y, r=6.5 * scale, data_step=stop.index)


def _names(path: Sequence[Stop], spots: Sequence[tuple[float, float]], height: float) -> list[Markup]:
    """Names of given domains where they are free of marks and of each other; the ends of the path come first."""
    taken: list[Box] = [(x - 8, y - 8, x + 8, y + 8) for x, y in spots]
    given = [place for place, stop in enumerate(path) if not stop.generated]
    ends = [place for place in (0, len(path) - 1) if place in given]
    drawn = []
    for place in [*ends, *(place for place in given if place not in ends)]:
        name = path[place].name
        words = name if len(name) <= 20 else name[:19] + "…"
        wide = 7.4 * len(words)
        for anchor, x, y in _candidates(*spots[place]):
            start = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            box = (start, y - 12, start + wide, y + 3)
            inside = box[0] >= 2 and box[2] <= WIDTH - 2 and box[1] >= 2 and box[3] <= height - 32
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                drawn.append(
                    tag("text", words, class_="name", x=x, y=y, text_anchor=anchor, data_step=path[place].index)
                )
                break
    return drawn


def _candidates(x: float, y: float) -> list[tuple[str, float, float]]:
    near = [("middle", x, y - 17), ("middle", x, y + 26), ("start", x + 16, y + 4), ("end", x - 16, y + 4)]
    corners = [("start", x + 11, y - 11), ("end", x - 11, y - 11), ("start", x + 11, y + 20), ("end", x - 11, y + 20)]
    return near + corners


def _overlap(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def _scale_bar(unit: float, height: float) -> Markup:
    """A bar of round length: the map has no axes, only distances."""
    options = [value for value in ticks(0.0, 110.0 / unit, 3) if value > 0]
    if not options:
        return Markup("")
    length = options[-1] * unit
    y, end = height - 14.0, WIDTH - 12.0
    d = f"M{end - length:.2f} {y - 4:.2f}v4h{length:.2f}v-4"
    words = tag("text", f"distance {short(options[-1])}", class_="tick", x=end - length - 8, y=y + 2, text_anchor="end")
    return tag("path", class_="scale", d=d) + words


def _cell(matrix: list[Any], row: int, column: int) -> float | None:
    if row >= len(matrix) or not isinstance(matrix[row], list) or column >= len(matrix[row]):
        return None
    return number(matrix[row][column])


def _row_name(stop: Stop, x: float, y: float) -> Markup:
    words = "generated" if stop.generated else stop.name if len(stop.name) <= 11 else stop.name[:10] + "…"
    kind = "tick faint" if stop.generated else "tick"
    return tag(
        "text", tag("title", stop_words(stop)), words, class_=kind, x=x, y=y, text_anchor="end", data_step=stop.index
    )


def _shade(value: float, largest: float, x: float, y: float, side: float, n: int, words: str) -> Markup:
    share = max(0.0, value) / largest
    title = tag("title", f"{words}: {short(value)}")
    gap = 1.0 if n <= 20 else 0.0
    cell = tag(
        "rect",
        title,
        class_="cell",
        x=x,
        y=y,
        width=side - gap,
        height=side - gap,
        fill_opacity=0.05 + (0.5 if n <= _MOST_WITH_NUMBERS else 0.9) * share,
    )
    if n > _MOST_WITH_NUMBERS:
        return cell
    return cell + tag("text", short(value), class_="in-cell", x=x + side / 2, y=y + side / 2 + 4, text_anchor="middle")

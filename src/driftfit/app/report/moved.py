"""What moved: features, the plan as lines, samples that are images; and how sure old and new model are."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import Stop, at_position, clip, dig, number, pairs, percent, records, short, thin
from driftfit.app.report.svg import WIDTH, Frame, picture, polyline, tag, ticks

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


# Together they keep the pictures of a run below two and a half megabytes even where nothing compresses.
_LARGEST_SIDE = 48
_MOST_TILES = 6
_MOST_STRIPS = 40
_GAP = 2


@dataclass(frozen=True)
class Strip:
    """Tiles of one domain, one below the other."""

    source: str  # A data address of the picture
    width: int  # in pixels
    height: int
    n_tiles: int
    stop: Stop | None  # the domain on the path
    position: float | None
    generated: bool


def png(rows: Sequence[bytes], width: int, channels: int = 1) -> bytes:
    """An 8-bit PNG, grey or in colour, from rows of bytes.

    >>> png([b"\\x00\\xff"], 2)[:4]
    b'\\x89PNG'
    """
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2 if channels == 3 else 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\x00" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def strips(result: Mapping[str, Any], path: Sequence[Stop]) -> list[Strip]:
    """One strip of tiles per domain; none where samples are no images."""
    shape = dig(result, "images", "shape")
    if not isinstance(shape, list | tuple) or len(shape) < 2:
        return []
    height, width = (int(number(side) or 0) for side in shape[:2])
    if height < 1 or width < 1:
        return []
    found = []
    for record in thin(records(dig(result, "images", "steps")), _MOST_STRIPS):
        tiles = record.get("tiles")
        drawn = [_tile(tile, height, width) for tile in tiles[:_MOST_TILES]] if isinstance(tiles, list) else []
        good = [tile for tile in drawn if tile is not None]
        # A strip has one kind of tile; grey and coloured ones cannot share a picture.
        good = [tile for tile in good if tile[1] == good[0][1]]
        if good:
            position = number(record.get("position"))
            found.append(_strip(good, at_position(path, position), position, bool(record.get("generated"))))
    return found


def _strip(tiles: list[tuple[list[bytes], int]], stop: Stop | None, position: float | None, generated: bool) -> Strip:
    channels = tiles[0][1]
    width = len(tiles[0][0][0]) // channels
    rows: list[bytes] = []
    for place, (tile, _) in enumerate(tiles):
        # Mid grey between tiles stands off from black and from white images.
        rows += [b"\x80" * (width * channels)] * (_GAP if place else 0) + tile
    source = "data:image/png;base64," + base64.b64encode(png(rows, width, channels)).decode("ascii")
    return Strip(source, width, len(rows), len(tiles), stop, position, generated)


def _tile(pixels: Any, height: int, width: int) -> tuple[list[bytes], int] | None:
    """Rows of bytes of one image and its number of channels; every k-th pixel of large images."""
    if not isinstance(pixels, list | tuple) or len(pixels) not in (height * width, 3 * height * width):
        return None
    channels = len(pixels) // (height * width)
    stride = -(-max(height, width) // _LARGEST_SIDE)
    rows = []
    for y in range(0, height, stride):
        values = (
            pixels[(y * width + x) * channels + channel] for x in range(0, width, stride) for channel in range(channels)
        )
        rows.append(bytes(_byte(value) for value in values))
    return rows, channels


def _byte(value: Any) -> int:
    # The common case first: a page may hold a hundred thousand pixels.
    if type(value) is float and 0.0 <= value <= 1.0:
        return round(255 * value)
    plain = number(value)
    return 0 if plain is None else round(255 * min(max(plain, 0.0), 1.0))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


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

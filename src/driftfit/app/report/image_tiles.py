"""Samples that are images, as small PNG pictures inside the page."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftfit.app.report.content import Stop, at_position, dig, number, records, thin

__all__ = ["Strip", "png", "strips"]

# Together they keep the pictures of a run below two and a half megabytes even where nothing compresses.
_LARGEST_SIDE = 48
_MOST_TILES = 6
_MOST_STRIPS = 40
_GAP = 2


@dataclass(frozen=True)
class Strip:
    """Tiles of one domain, one below the other.

    Attributes
    ----------
    source : str
        A data address of the picture.
    width, height : int
        In pixels.
    n_tiles : int
    stop : Stop or None
        The domain on the path.
    position : float or None
    generated : bool
    """

    source: str
    width: int
    height: int
    n_tiles: int
    stop: Stop | None
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

"""Drawings: distances stay true, pixels survive, colours can be told apart."""

from __future__ import annotations

import base64
import itertools
import math
import re
import struct
import zlib
from importlib.resources import files

import pytest

from driftfit.app.report.content import short, stops
from driftfit.app.report.listings import gain_unit, past_windows
from driftfit.app.report.moved import (
    confidence_histogram,
    drift_bars,
    feature_bars,
    feature_shares,
    plan_lines,
    png,
    strips,
)
from driftfit.app.report.path import class_totals, distance_grid, domain_map, given_labels, step_bars
from driftfit.app.report.svg import Frame, ticks

STYLE = files("driftfit.app.report").joinpath("template", "style.css").read_text(encoding="utf-8")


def pixels_of(content: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of an unfiltered 8-bit grey PNG; checksums are checked."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, body, size = 8, b"", (0, 0)
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        data = content[place + 8 : place + 8 + length]
        assert struct.unpack(">I", content[place + 8 + length : place + 12 + length])[0] == zlib.crc32(kind + data)
        size = struct.unpack(">II", data[:8]) if kind == b"IHDR" else size
        body += data if kind == b"IDAT" else b""
        place += 12 + length
    raw = zlib.decompress(body)
    step = len(raw) // size[1]
    return size[0], size[1], [raw[row * step + 1 : (row + 1) * step] for row in range(size[1])]


def test_png_round_trip():
    rows = [bytes([0, 128, 255]), bytes([1, 2, 3])]
    assert pixels_of(png(rows, 3)) == (3, 2, rows)


def test_tiles_of_a_domain_stand_one_below_the_other(image_result):
    image_result["images"] = {
        "shape": [2, 3],
        "steps": [{"position": 0.0, "generated": False, "tiles": [[0, 0.5, 1, 0, 0, 0], [1] * 6, [1] * 5]}],
    }
    (strip,) = strips(image_result, stops(image_result))
    width, height, rows = pixels_of(base64.b64decode(strip.source.partition(",")[2]))
    assert (width, height, strip.n_tiles) == (3, 6, 2)
    assert rows == [bytes([0, 128, 255]), bytes(3), b"\x80" * 3, b"\x80" * 3, b"\xff" * 3, b"\xff" * 3]


def test_colour_tiles_and_large_tiles():
    red = {"shape": [1, 2], "steps": [{"position": None, "tiles": [[1, 0, 0, 0, 1, 0]]}]}
    assert strips({"images": red}, [])[0].width == 2
    large = {"shape": [100, 50], "steps": [{"position": 0, "tiles": [[0.5] * 5000]}]}
    (strip,) = strips({"images": large}, [])
    assert (strip.width, strip.height) == (17, 34)


def test_distances_on_the_map_are_those_of_the_points(result):
    drawing = str(domain_map(result, stops(result)))
    route = re.search(r'class="route" d="M([^"]*)"', drawing)
    assert route is not None
    numbers = [float(word) for word in route.group(1).split()]
    drawn = list(zip(numbers[::2], numbers[1::2], strict=True))
    points = result["map"]["points"]
    ratios = [
        math.dist(drawn[i], drawn[j]) / math.dist(points[i], points[j])
        for i, j in itertools.combinations(range(len(points)), 2)
    ]
    assert max(ratios) / min(ratios) < 1.01
    bar = re.search(r'class="scale" d="M[\d. ]+v4h([\d.]+)v-4"', drawing)
    said = re.search(r">distance ([\d.]+)<", drawing)
    assert bar is not None
    assert said is not None
    assert float(bar.group(1)) / float(said.group(1)) == pytest.approx(ratios[0], rel=0.01)


def test_real_and_generated_domains_look_different(result):
    drawing = str(domain_map(result, stops(result)))
    assert drawing.count('class="given"') == 5
    assert drawing.count('class="generated"') == 4


def test_one_domain_and_domains_at_one_place():
    for n in (1, 3):
        result = {
            "domains": [{"name": str(i), "position": i / 2} for i in range(n)],
            "map": {"points": [[2.0, 2.0]] * n},
        }
        assert "<svg" in str(domain_map(result, stops(result)))


def test_distance_grid_holds_the_numbers(result):
    drawing = str(distance_grid(result, stops(result)))
    assert f">{short(result['distances'][0][8])}<" in drawing
    result["distances"] = [[0.0] * 9] * 9
    assert distance_grid(result, stops(result)) is None


def test_long_paths_show_distances_of_given_domains_only(result):
    result["domains"] = [{"name": str(i), "generated": i % 10 != 0, "position": i / 40} for i in range(41)]
    result["distances"] = [[abs(i - j) for j in range(41)] for i in range(41)]
    assert str(distance_grid(result, stops(result))).count('class="cell"') == 25


def test_bar_heights_are_proportional(result):
    path = stops(result)
    drawing = str(step_bars(path, "shift", short, "Shift."))
    bars = re.findall(r'class="bar [^"]*" x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)"', drawing)
    shifts = [step["shift"] for step in result["steps"]]
    ratios = [float(height) / shift for height, shift in zip(bars, shifts, strict=True)]
    assert max(ratios) / min(ratios) < 1.01
    assert step_bars(path, "not measured", short, "Nothing.") is None


def test_many_classes_are_gathered(result):
    result["data"]["classes"] = [f"class {i}" for i in range(30)]
    result["class_shares"] = [{"position": 0.0, "shares": [1 / 30] * 30}]
    names, totals = class_totals(result, stops(result))
    assert names[-1] == "23 other classes"
    assert sum(totals[0][1]) == pytest.approx(1.0)


def test_labels_under_the_axis_do_not_overlap(result):
    for place, domain in enumerate(result["domains"]):
        domain["name"] = f"a rather long name {place}"
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    shown = given_labels(stops(result), frame)
    places = sorted(frame.x(position) for position, _ in shown)
    assert len(shown) >= 2
    assert min(b - a for a, b in itertools.pairwise(places)) > 80


def test_features_are_sorted_and_cut(result):
    shares = feature_shares(result)
    assert [share for _, share in shares] == sorted((share for _, share in shares), reverse=True)
    assert str(feature_bars(shares)).count("<rect") == 12
    assert feature_bars([]) is None


def test_plan_lines_are_a_bounded_sample(result):
    assert str(plan_lines(result)).count("<line") == 160
    result["plan"] = {"from": [[0, i] for i in range(5000)], "to": [[1, i] for i in range(5000)], "mass": [1.0] * 5000}
    assert str(plan_lines(result)).count("<line") == 240


def test_histograms_of_counts_and_of_shares(result):
    assert ">600<" in confidence_histogram(result).drawing
    result["confidence"] = {"edges": [0.0, 0.25, 0.5, 0.75, 1.0], "old": [0, 0, 0.5, 0.5], "new": [0, 0, 0.1, 0.9]}
    drawing = confidence_histogram(result).drawing
    assert "confidence 50.0\u202f% to 75.0\u202f%: new 10 %, old 50 %" in drawing
    assert "confidence 0.0" not in drawing


def test_a_histogram_shows_the_models_that_were_recorded(result):
    shown = confidence_histogram(result)
    assert (shown.old, shown.new) == (True, True)
    result["confidence"]["old"] = [1]
    shown = confidence_histogram(result)
    assert (shown.old, shown.new) == (False, True)
    result["confidence"]["old"] = result["confidence"]["new"]
    result["kept"] = "source"
    shown = confidence_histogram(result)
    assert (shown.old, shown.new) == (True, False)
    result["confidence"] = {"edges": [1, 0], "old": [1], "new": [1]}
    assert confidence_histogram(result) is None


def test_ticks_lie_inside():
    for low, high in [(0.0, 1.0), (0.61, 0.92), (-3.0, 1e5), (0.0, 1e-9), (0.999, 1.0)]:
        found = ticks(low, high, 4)
        assert 2 <= len(found) <= 8
        assert all(low - 1e-9 * abs(high) <= value <= high * (1 + 1e-9) for value in found)


def theme(dark: bool) -> dict[str, tuple[float, ...]]:
    """The colours of one theme as linear red, green, blue."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.S)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[0]))
    if dark:
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[1]))
    return {name: tuple(_linear(int(code[i : i + 2], 16) / 255) for i in (1, 3, 5)) for name, code in colours.items()}


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def contrast(one: tuple[float, ...], two: tuple[float, ...]) -> float:
    light, dark = sorted((0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (one, two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_enough_contrast(dark):
    colours = theme(dark)
    for ink, background in itertools.product(("ink", "soft", "faint", "new"), ("paper", "sheet")):
        assert contrast(colours[ink], colours[background]) >= 4.5, (ink, background)
    for tone in ("good", "care", "keep"):
        assert contrast(colours[tone], colours[f"{tone}-wash"]) >= 4.5, tone
        assert contrast(colours["soft"], colours[f"{tone}-wash"]) >= 4.5, tone
        assert contrast(colours["bad"], colours[f"{tone}-wash"]) >= 4.5, tone
    assert contrast(colours["bad"], colours["sheet"]) >= 4.5


# How the three kinds of colour blindness see linear colours (Machado, Oliveira and Fernandes 2009, full strength).
BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def difference(one: tuple[float, ...], two: tuple[float, ...]) -> float:
    """Distance in CIE Lab."""
    return math.dist(_lab(one), _lab(two))


def _lab(colour: tuple[float, ...]) -> tuple[float, float, float]:
    r, g, b = (min(max(value, 0.0), 1.0) for value in colour)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_classes_can_be_told_apart_by_colour_blind_readers(dark, kind):
    colours = theme(dark)
    seen = [
        tuple(
            sum(weight * value for weight, value in zip(row, colours[f"c{i}"], strict=True)) for row in BLINDNESS[kind]
        )
        for i in range(8)
    ]
    assert min(difference(one, two) for one, two in itertools.combinations(seen, 2)) > 20


def test_the_colour_check_can_fail():
    assert difference(theme(False)["c0"], theme(False)["c0"]) == 0
    assert contrast((1, 1, 1), (0, 0, 0)) == pytest.approx(21)


def test_the_diagnosis_as_bars_the_farthest_first_and_chance_pale():
    features = [{"name": "still", "distance": 0.02, "moved": False}, {"name": "far", "distance": 0.6, "moved": True}]
    drawn = str(drift_bars({"check": {"diagnosis": {"features": features}}}))
    assert drawn.index("far") < drawn.index("still")
    assert (drawn.count("bar given"), drawn.count("bar generated")) == (1, 1)
    assert drift_bars({"check": {"diagnosis": {"features": [{"name": 3}, "x"]}}}) is None


def test_gains_have_a_unit():
    assert gain_unit({"remedies": {"in_points": True}}) == "share of the rows"
    assert "nats" in gain_unit({})


def test_gains_over_time_are_lines_with_their_zero(result):
    found = past_windows(result)
    drawing = str(found.drawing)
    assert found.names == ["last window", "own <scale>"]
    # A window that a way could not be judged on has no mark, and the line goes on behind it.
    assert drawing.count('class="run-dot r0"') == 3
    assert drawing.count('class="run-dot r1"') == 2
    assert drawing.count('class="axis"') == 2
    assert [never for _, never in found.classes] == [True, False, False]
    assert past_windows({}) is None
    assert past_windows({"backtest": {"ways": 3, "classes": [4]}}) is None

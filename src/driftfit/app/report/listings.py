"""The tables of the page: steps, past windows, configuration, data, versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from driftfit.app.report.content import (
    Stop,
    clip,
    count,
    dig,
    moment,
    number,
    percent,
    records,
    short,
    stop_words,
    texts,
)
from driftfit.app.report.svg import Frame, picture, polyline, tag, ticks

_MOST_ROWS = 150


@dataclass(frozen=True)
class StepRow:
    """One row of the table of steps; the slider reads ``words`` and ``position``."""

    index: int
    position: float
    name: str
    kind: str
    words: str
    cells: list[str]


def step_rows(result: Mapping[str, Any], path: Sequence[Stop]) -> list[StepRow]:
    """Every stop with the numbers of the step to it."""
    rows = []
    for stop in path:
        kind = "source" if stop.index == 0 else "generated" if stop.generated else "given"
        words = stop_words(stop)
        cells = [
            count(stop.n_samples),
            short(stop.measured("shift")),
            percent(stop.measured("kept_fraction")),
            percent(stop.measured("mean_confidence")),
            percent(stop.measured("changed_fraction")),
        ]
        rows.append(StepRow(stop.index, stop.position, stop.name, kind, words, cells))
    return rows


def facts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The run at a glance."""
    data = dig(result, "data")
    path = records(dig(result, "domains"))
    generated = sum(bool(domain.get("generated")) for domain in path)
    classes = texts(dig(data, "classes"), 60)
    named = ", ".join(classes[:5]) + (f" and {len(classes) - 5} more" if len(classes) > 5 else "")
    n_given = number(dig(data, "n_windows")) or len(path) - generated
    found = [
        ("Rows", count(dig(data, "n_rows")) if number(dig(data, "n_rows")) is not None else ""),
        ("Rows to predict", count(dig(data, "n_target")) if number(dig(data, "n_target")) is not None else ""),
        ("Label", clip(dig(data, "label"))),
        ("Classes", named),
        ("Order", clip(dig(data, "order"))),
        ("Windows", _path_words(int(n_given), generated) if path else ""),
        ("Made", moment(dig(result, "created"))),
    ]
    return [(name, value) for name, value in found if value]


def fields(value: Any) -> list[tuple[str, str]]:
    """A dictionary as rows of a table; what is nested is written as JSON."""
    if not isinstance(value, Mapping):
        return []
    shown = [(clip(key), _flat(item)) for key, item in list(value.items())[:_MOST_ROWS]]
    left = len(value) - len(shown)
    return [*shown, ("…", f"{left:,} more in result.json")] if left > 0 else shown


def simple_fields(value: Any) -> list[tuple[str, str]]:
    """Those fields of a dictionary that are one number or one text, with readable names."""
    if not isinstance(value, Mapping):
        return []
    simple = {
        key: item for key, item in value.items() if isinstance(item, str | int | float) and not isinstance(item, bool)
    }
    return [
        (clip(key).replace("_", " "), _flat(item) if isinstance(item, str) else short(item))
        for key, item in list(simple.items())[:_MOST_ROWS]
    ]


def check_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """What the check saw at each step: from, to, shift, shift in margins, samples from nowhere, class change."""
    rows = []
    for step in records(dig(result, "verdict", "numbers", "steps"))[:_MOST_ROWS]:
        shares = [percent(step.get(key)) for key in ("jumped", "crossing", "proportion_change")]
        rows.append(
            [
                clip(step.get("before")),
                clip(step.get("after")),
                short(step.get("shift")),
                short(step.get("ratio")),
                *shares,
            ]
        )
    return rows


def decisions(result: Mapping[str, Any]) -> list[list[str]]:
    """The newest decisions of a run, the newest first: when, what came, what was done, expected, and came of it."""
    parts = ("came", "done", "expected", "outcome")
    log = records(dig(result, "log"))[-_MOST_ROWS:]
    return [[moment(one.get("at")), *(clip(one.get(part), 600) for part in parts)] for one in reversed(log)]


def gain_unit(result: Mapping[str, Any]) -> str:
    """What gains of remedies are counted in."""
    return "share of the rows" if dig(result, "remedies", "in_points") else "nats; in accuracy it is not known"


def remedy_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """Name, score, gain with its interval, and the outcome of every remedy."""
    found, rows = dig(result, "remedies"), []
    best = clip(dig(found, "best"), 80)
    for one in records(dig(found, "tried"))[:_MOST_ROWS]:
        name = clip(one.get("name"), 80)
        ends = [short(one.get(end)) for end in ("gain", "low", "high")]
        outcome = "chosen" if name == best else "compared"
        rows.append([name, outcome, short(one.get("score")), f"{ends[0]} ({ends[1]} to {ends[2]})"])
    for key, word in (("struck", "struck out"), ("failed", "could not run")):
        for one in records(dig(found, key))[:_MOST_ROWS]:
            rows.append([clip(one.get("name"), 80), f"{word}: {clip(one.get('reason'), 400)}", "–", "–"])
    return rows


def file_rows(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, number of rows and fingerprint of each file that was read."""
    files = records(dig(result, "data", "files"))
    shown = [(clip(item.get("name")), count(item.get("rows")), clip(item.get("sha256"), 64)) for item in files[:50]]
    return [*shown, (f"{len(files) - 50:,} more", "", "")] if len(files) > 50 else shown


def preparation(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Column, kind and note of the preprocessing."""
    columns = records(dig(result, "preprocessing"))
    shown = [
        (clip(item.get("column")), clip(item.get("kind")), clip(item.get("note"), 400)) for item in columns[:_MOST_ROWS]
    ]
    left = len(columns) - len(shown)
    return [*shown, ("…", "", f"{left:,} more in result.json")] if left > 0 else shown


def differences(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Configuration keys whose values are not the same in all runs."""
    configs = [dict(fields(dig(result, "config"))) for result in results]
    for config, result in zip(configs, results, strict=True):
        config["seed"] = _flat(dig(result, "seed"))
        config["driftfit"] = _flat(dig(result, "driftfit"))
    keys = list(dict.fromkeys(key for config in configs for key in config))
    rows = [(key, [config.get(key, "–") for config in configs]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def _path_words(given: int, generated: int) -> str:
    return f"{given:,} given, {generated:,} generated" if generated else f"{given:,}"


def _flat(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return clip(value, 600)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clip(json.dumps(value, ensure_ascii=False, default=str), 600)


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

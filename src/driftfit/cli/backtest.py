"""`driftfit backtest`: what each way to learn would have gained in the windows of the past."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftfit.cli.parsing import Fail, declare_engine, engine_of, need_tables
from driftfit.cli.table_options import declare_table, settings_of
from driftfit.cli.text import printable, show_warnings, stages, text_table

if TYPE_CHECKING:
    from driftfit.selection import Backtest

HELP = """Measure on the past which way to learn helps, before anything is adapted.

For every past window with labels, each way learns from what was known then (labels arrive --late windows late), adapts
to the window without its labels, and is measured on them. Shows the metric and the gain over a model of all labels,
window by window, with intervals that know that windows vary. With --out the forecasts are kept: an interrupted run goes
on where it stopped."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    declare_table(parser)
    parser.add_argument("--out", "-o", type=Path, metavar="FOLDER", help="keep forecasts and backtest.json here")
    declare_engine(parser, "forecasts")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Read, measure and print."""
    need_tables("backtest", "narwhals")
    settings = settings_of(chosen, fail)
    from driftfit.app import open_table
    from driftfit.app.backtests import backtest_summary, backtest_table
    from driftfit.files import write_json

    with stages() as progress:
        found, said = backtest_table(open_table(chosen.tables), settings, progress, engine_of(chosen), chosen.out)
    summary = backtest_summary(found) | {"notes": list(said)}
    if chosen.out is not None:
        write_json(chosen.out / "backtest.json", summary)
    notes = [one for one in said if one.startswith("labels until ")]
    show_warnings([one for one in said if one not in notes])
    if chosen.as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print("\n".join([backtest_text(found), "", *map(printable, notes)]))
    return 0


def backtest_text(found: Backtest) -> str:
    """One sentence, then a line for each way: its gain in each window, and the one to expect."""
    metric, scores, by_window, gains = found.metric, found.scores, found.gains_by_window, found.gains
    # The whole span of a window would leave no room for the names of ways.
    starts = [name.partition("..")[0] for name in found.windows]
    days = [name.partition("T")[0] for name in starts]
    short = next((names for names in (days, starts) if len(set(names)) == len(names)), list(found.windows))
    head = ["way", *short, "to expect"]
    rows: list[list[str]] = [[found.reference, *(_shown(metric, value) for value in scores[found.reference]), ""]]
    for name in found.ways:
        if name != found.reference and name in gains:
            gain = gains[name]
            span = f"{_gain(metric, gain.value)} ({_gain(metric, gain.low)} to {_gain(metric, gain.high)})"
            rows.append([name, *(_gain(metric, value) for value in by_window[name]), span])
    better = ", less is better" if metric.is_loss else ""
    unit = f"{metric.words} of {found.reference}{better}, and what the others gained over it"
    unit += ", by window (where it begins)" if short != list(found.windows) else ""
    lines = [f"{found.sentence[:1].upper()}{found.sentence[1:]}.", "", f"{unit}:", text_table(head, rows)]
    lines += [f"{name} could not run: {why}" for name, why in found.failed.items()]
    return "\n".join(printable(line) for block in lines for line in block.split("\n"))


def _shown(metric: Any, value: float) -> str:
    return "-" if value != value else metric.shown(value)


def _gain(metric: Any, value: float) -> str:
    return "-" if value != value else metric.shown(value, signed=True).removesuffix(" points")

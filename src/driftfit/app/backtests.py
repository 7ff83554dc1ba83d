"""Backtests of a user's table: read, cut, measure, and keep the forecasts so that nothing is made twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driftfit.app.checked import Progress, answers_on_labelled, new_learner, recorded
from driftfit.app.forecasts import Forecasts
from driftfit.app.prepare import PLANS, prepare
from driftfit.app.read import Table
from driftfit.app.run_summary import plain
from driftfit.app.settings import Settings
from driftfit.errors import InputError
from driftfit.parallel import Engine
from driftfit.selection import IN_USE, Backtest, as_way, backtest, history_ways


def backtest_table(
    table: Table,
    settings: Settings,
    progress: Progress | None = None,
    engine: Engine | None = None,
    folder: Path | None = None,
) -> tuple[Backtest, list[str]]:
    """Measure on a table's labelled windows what each way to learn would have gained, and say what was left out.

    ``settings``: its method, if it names one, is measured beside the ways of `history_ways`, and so is a model in use.
    ``progress``: called with stage, done and total. ``engine``: where forecasts are made, side by side; the results are
    the same. ``folder``: where forecasts are kept, and found again by an interrupted run.
    """
    report = progress or (lambda stage, done, total: None)
    with recorded() as messages:
        report("read", 0, 1)
        prepared = prepare(table, settings)
        report("read", 1, 1)
        if prepared.history is None:
            raise InputError(
                f"labels of column {settings.label!r} are in a single window; a backtest needs two windows with labels "
                "at the least: cut finer ones with --windows, or leave --history first out"
            )
        learner, told = new_learner(prepared, settings)
        ways = history_ways(settings.seed, in_order=prepared.in_order)
        if settings.method is not None:
            ways[settings.method_word] = as_way(settings.method, settings.seed)
        store = None if folder is None else Forecasts(folder=folder).of(prepared.history, learner, settings)
        found = backtest(
            prepared.history, learner, ways, metric=settings.metric, late=settings.late, seed=settings.seed,
            engine=engine, store=store, on_forecast=lambda done, total: report("backtest", done, total),
        )  # fmt: skip
        if settings.in_use is not None:
            if not found.metric.of_answers:
                raise InputError(
                    f"the model in use names classes and gives no probabilities: it cannot be measured by "
                    f"{found.metric.words}; take a --metric of answers, such as accuracy or balanced_accuracy"
                )
            said, odd = answers_on_labelled(table, prepared, settings, learner.classes)
            found, told = found.beside(IN_USE, said, prepared.history), [*told, *odd]
    # Nothing is compared with today's rows here.
    sampled = [one for one in prepared.sampled if not one.startswith(PLANS)]
    return found, list(dict.fromkeys([*told, *sampled, *messages]))


def backtest_summary(found: Backtest) -> dict[str, Any]:
    """A backtest as plain JSON values."""
    gains = {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in found.gains.items()}
    content: dict[str, Any] = plain(
        {
            "metric": found.metric.name,
            "reference": found.reference,
            "late": found.late,
            "asked_late": found.asked_late,
            "windows": found.windows,
            "rows": [len(forecast.codes) for forecast in found.forecasts],
            "scores": found.scores,
            "gains_by_window": found.gains_by_window,
            "gains": gains,
            "best": found.best,
            "sentence": found.sentence,
            "failed": dict(found.failed),
        }
    )
    return content

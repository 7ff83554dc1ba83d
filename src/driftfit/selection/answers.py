"""Other answers and surer or less sure probabilities, chosen on the windows that were forecast."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from driftfit.selection.backtest import Backtest, Forecast
from driftfit.selection.metric import Metric

# Odds of the second class that are tried: evenly spaced on a log scale.
_ODDS = np.exp(np.linspace(-np.log(200.0), np.log(200.0), 81))
_ENDING = ", another threshold"
# Thresholds and temperatures are chosen on so many windows, the newest ones.
_RECENT = 2


def with_thresholds(found: Backtest) -> Backtest:
    """The same, with the reference and the best way under a threshold of their own, where the metric counts answers.

    A rare class is seldom the likeliest one. In each past window the threshold is the one that would have been best in
    the windows before it, so that such a way is measured like any other.

    >>> from driftfit.domains import Domain, DomainSequence
    >>> from driftfit.selection import Metric, backtest
    >>> rng = np.random.default_rng(0)
    >>> labels = [(rng.random(500) < 0.1).astype(int) for _ in range(6)]
    >>> rows = [rng.normal(size=(500, 1)) + 1.5 * y[:, None] for y in labels]
    >>> found = backtest(DomainSequence(map(Domain, rows, labels)), metric=Metric("balanced_accuracy"))
    >>> found.best, float(worth_of(found, found.best)[1][1, 1].round(1))
    ('mixture, another threshold', 5.6)
    """
    metric = found.metric
    if not metric.of_answers or metric.costs is not None or metric.name == "accuracy" or len(found.classes) != 2:
        return found
    for way in dict.fromkeys((found.reference, found.best)):
        forecasts = list(found.forecasts)
        judged = [place for place, forecast in enumerate(forecasts) if way in forecast.shares]
        for place in judged:
            own = forecasts[place]
            # Labels of the windows just before had not come when this one was forecast.
            known = [found.forecasts[one] for one in judged if forecasts[one].window < own.window - found.late]
            before = known[-_RECENT:]
            if not before:
                continue
            said = (own.shares[way] * [1.0, _best(metric, before, way)]).argmax(axis=1)
            name = f"{way}{_ENDING}"
            forecasts[place] = replace(
                own, shares={**own.shares, name: own.shares[way]}, answers={**own.answers, name: said}
            )
        found = replace(found, forecasts=tuple(forecasts))
    return found


def worth_of(found: Backtest, name: str) -> tuple[str, NDArray[np.float64] | None]:
    """The way behind a name, and what answers are worth for `DecidingClassifier`; None for the likeliest class."""
    if not name.endswith(_ENDING):
        return name, None
    way = name.removesuffix(_ENDING)
    judged = [forecast for forecast in found.forecasts if way in forecast.shares]
    return way, np.diag([1.0, _best(found.metric, judged[-_RECENT:], way)])


def _best(metric: Metric, forecasts: list[Forecast], way: str) -> float:
    """The odds of the largest mean metric over some windows; of equal ones those nearest to even."""
    parts = [(forecast.shares[way], forecast.codes) for forecast in forecasts]
    scores = np.array(
        [np.mean([metric.of(p, y, (p * [1.0, odds]).argmax(axis=1)) for p, y in parts]) for odds in _ODDS]
    )
    if not np.isfinite(scores).any():
        return 1.0
    largest = np.flatnonzero(scores >= np.nanmax(scores) - 1e-12)
    return float(_ODDS[largest[np.abs(np.log(_ODDS[largest])).argmin()]])


# No probability of a forecast is taken to be smaller.
_LEAST = 1e-9
_LIMITS = float(np.log(0.1)), float(np.log(5.0))


def temperature(found: Backtest, way: str) -> tuple[float, str] | None:
    """What logarithms of probabilities are to be multiplied by so that these hold, and what that brought.

    Past windows were forecast by models that had not seen them: what drift does to the sureness of a model is in them.
    Which class is named stays. None where the windows before the newest judged one do not tell what clearly helps
    there, by log loss.
    """
    judged = [forecast for forecast in found.forecasts if way in forecast.shares and len(forecast.codes)]
    if len(judged) < 2:
        return None
    before, newest = judged[-1 - _RECENT : -1], judged[-1]
    plain, other = (_losses(newest, way, scale) for scale in (1.0, _best_scale(before, way)))
    gain = plain - other
    if gain.mean() <= 2.0 * gain.std() / sqrt(len(gain)):
        return None
    words = f"log loss {other.mean():.3f} instead of {plain.mean():.3f} in the newest one"
    return _best_scale(judged[-_RECENT:], way), f"probabilities are calibrated on past windows: {words}"


def _losses(forecast: Forecast, way: str, scale: float) -> NDArray[np.float64]:
    logs = log_softmax(scale * np.log(np.maximum(forecast.shares[way], _LEAST)), axis=1)
    return np.asarray(-logs[np.arange(len(logs)), forecast.codes])


def _best_scale(forecasts: list[Forecast], way: str) -> float:
    """The multiplier of the least log loss, each window counting the same."""

    def loss(log_scale: float) -> float:
        return float(np.mean([_losses(one, way, float(np.exp(log_scale))).mean() for one in forecasts]))

    return float(np.exp(minimize_scalar(loss, bounds=_LIMITS, method="bounded").x))

"""Other answers to the same probabilities, chosen on windows that were forecast: thresholds, temperatures, sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from driftfit.errors import InputError
from driftfit.selection.backtest import FEWEST_WINDOWS, Backtest, Forecast
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


@dataclass(frozen=True)
class PredictionSets:
    """For each row the classes whose probability is not too small to be true (conformal prediction).

    A class is left out where ``1 - probability`` is above a threshold that the truth stayed below in as many rows of
    the past windows as asked, each window counting the same. Those rows were forecast without their labels: what drift
    did to the model from one window to the next is in the threshold, as rows that it had learnt from could not show.

    ``coverage``: share of the rows that are to have the truth in their set. ``by_window``: the coverage in each past
    window of the threshold that the other windows give.
    """

    coverage: float
    threshold: float
    by_window: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, found: Backtest, way: str, coverage: float = 0.9) -> PredictionSets:
        """Calibrate the sets of one way on what it forecast.

        ``way``: one of its ways. ``coverage``: above 0.5 and below 1.
        """
        if not 0.5 < coverage < 1.0:
            raise InputError(f"the coverage of sets must lie above 0.5 and below 1, got {coverage!r}")
        judged = [forecast for forecast in found.forecasts if way in forecast.shares]
        strange = [_strangeness(forecast.shares[way], forecast.codes) for forecast in judged]
        fewest = int(np.ceil(1.0 / (1.0 - coverage)))
        if len(judged) < FEWEST_WINDOWS or sum(map(len, strange)) < fewest:
            raise InputError(
                f"sets that hold the truth in {100 * coverage:g} % of the rows need {FEWEST_WINDOWS} past windows with "
                f"labels that can be forecast and {fewest} rows; there are {len(judged)} and {sum(map(len, strange))}: "
                "cut finer windows, or label more"
            )
        by_window = []
        for place, forecast in enumerate(judged):
            others = [own for number, own in enumerate(strange) if number != place]
            by_window.append((forecast.name, float((strange[place] <= _threshold(others, coverage)).mean())))
        return cls(coverage, _threshold(strange, coverage), tuple(by_window))

    def members(self, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which classes are in the set of each row; the likeliest one always is."""
        inside: NDArray[np.bool_] = 1.0 - shares <= self.threshold
        inside[np.arange(len(shares)), shares.argmax(axis=1)] = True
        return inside

    def words(self, shares: NDArray[np.float64], classes: Sequence[object]) -> NDArray[np.object_]:
        """The set of each row in words, the likeliest class first.

        >>> PredictionSets(0.9, 0.8).words(np.array([[0.3, 0.6, 0.1]]), ["a", "b", "c"]).tolist()
        ['b|a']
        """
        inside, order = self.members(shares), np.argsort(-shares, axis=1, kind="stable")
        names = [str(name) for name in classes]
        said = ["|".join(names[k] for k in row if own[k]) for row, own in zip(order, inside, strict=True)]
        return np.array(said, dtype=object)


def _strangeness(shares: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """How unlikely the truth of each row was taken to be."""
    return np.asarray(1.0 - shares[np.arange(len(codes)), codes])


def _threshold(windows: list[NDArray[np.float64]], coverage: float) -> float:
    """The least value that so large a share of all windows stays below, each window counting the same."""
    values = np.concatenate(windows)
    weights = np.concatenate([np.full(len(own), 1.0 / len(own)) for own in windows])
    order = np.argsort(values)
    # One more row, as strange as can be, stands for the one to come.
    total = weights.sum() + weights.mean()
    reached = np.cumsum(weights[order]) / total
    place = int(np.searchsorted(reached, coverage - 1e-12))
    return float(values[order][place]) if place < len(values) else 1.0

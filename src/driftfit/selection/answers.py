"""Which class to name, given its probabilities: by costs, or by a threshold that gained in past windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftfit.selection.backtest import CAUTION, FEWEST_WINDOWS, Backtest, Forecast
from driftfit.selection.metric import Metric

__all__ = ["Answers"]

# Thresholds that are tried, as odds of the second class: evenly spaced from 1 to 200 to 200 to 1 on a log scale.
_ODDS = np.exp(np.linspace(-np.log(200.0), np.log(200.0), 81))


@dataclass(frozen=True, eq=False)
class Answers:
    """What answers are worth, where the likeliest class is not always the best one to name.

    Attributes
    ----------
    worth : array of shape (K, K)
        For `driftfit.methods.rescaled_classifier.DecidingClassifier`.
    sentence : str
        Why, in words.
    """

    worth: NDArray[np.float64]
    sentence: str

    @classmethod
    def of(cls, found: Backtest, way: str) -> Answers | None:
        """The answers that suit the metric; None where that is the likeliest class.

        A threshold is chosen on the windows before each past one and measured there. It is used only where that
        gained by more than its error; then it is chosen once more on all of them, the newest two at the most.

        Parameters
        ----------
        found : Backtest
        way : str
            One of its ways.

        Examples
        --------
        >>> from driftfit.domains import Domain, DomainSequence
        >>> from driftfit.selection import Metric, backtest
        >>> rng = np.random.default_rng(0)
        >>> labels = [(rng.random(500) < 0.1).astype(int) for _ in range(6)]
        >>> rows = [rng.normal(size=(500, 1)) + 1.5 * y[:, None] for y in labels]
        >>> found = backtest(DomainSequence(map(Domain, rows, labels)), metric=Metric("balanced_accuracy"))
        >>> Answers.of(found, "all labels").sentence[:43]
        'class 1 is named from a probability of 12 %'
        """
        metric, costs = found.metric, found.metric.costs
        if costs is not None:
            return cls(-np.asarray(costs, dtype=np.float64), "the cheapest class is named, by the table of costs")
        judged = [forecast for forecast in found.forecasts if way in forecast.shares]
        if not metric.of_answers or metric.name == "accuracy" or len(found.classes) != 2:
            return None
        if len(judged) <= FEWEST_WINDOWS:
            return None
        gains = []
        for place in range(1, len(judged)):
            odds = _best(metric, judged[max(place - 2, 0) : place], way)
            plain, moved = (_score(metric, [judged[place]], way, own) for own in (1.0, odds))
            gains.append(moved - plain)
        own = np.array([gain for gain in gains if np.isfinite(gain)])
        if len(own) < FEWEST_WINDOWS or own.mean() <= CAUTION * own.std(ddof=1) / np.sqrt(len(own)):
            return None
        odds = _best(metric, judged[-2:], way)
        share = 100.0 / (1.0 + odds)
        name, named = found.classes[1], "is named from a probability of"
        return cls(
            np.diag([1.0, odds]),
            f"class {name} {named} {share:.0f} % on, which gained {metric.shown(float(own.mean()), signed=True)} of "
            f"{metric.words} in {len(own)} past windows",
        )


def _score(metric: Metric, forecasts: list[Forecast], way: str, odds: float) -> float:
    """The mean metric over windows where the second class counts so many times as much."""
    worth = np.array([1.0, odds])
    values = [metric.of(one.shares[way], one.codes, (one.shares[way] * worth).argmax(axis=1)) for one in forecasts]
    return float(np.mean(values))


def _best(metric: Metric, forecasts: list[Forecast], way: str) -> float:
    """The odds of the largest metric; of equal ones those nearest to even."""
    scores = np.array([_score(metric, forecasts, way, odds) for odds in _ODDS])
    largest = np.flatnonzero(scores >= np.nanmax(scores) - 1e-12) if np.isfinite(scores).any() else np.array([40])
    return float(_ODDS[largest[np.abs(np.log(_ODDS[largest])).argmin()]])

"""Sets of classes that hold the truth as often as asked, calibrated on windows that were forecast, not on old rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.selection.backtest import FEWEST_WINDOWS, Backtest


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

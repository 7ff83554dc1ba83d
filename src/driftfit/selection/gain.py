"""`PairedGain`: what an adapted model is estimated to win over its source model, on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from driftfit.models import Learner
from driftfit.selection.accuracy import NORMAL_95, AccuracyEstimate, PreparedEstimator
from driftfit.selection.weighted import Weights, effective_size, mean


@dataclass(frozen=True)
class PairedGain:
    """Estimated difference in accuracy of two models on the same rows, with a 95 % interval.

    Attributes
    ----------
    value, low, high : float
    """

    value: float
    low: float
    high: float

    @property
    def settled(self) -> bool:
        """Whether the adapted model is better by more than sampling error."""
        return self.low > 0.0

    def __str__(self) -> str:
        return f"{100 * self.value:+.1f} points ({100 * self.low:+.1f} .. {100 * self.high:+.1f})"


@dataclass(frozen=True)
class Compared:
    """Two models on one domain, by one yardstick: both estimates, and their difference."""

    before: AccuracyEstimate
    after: AccuracyEstimate
    gain: PairedGain


def paired_gain(
    before: NDArray[np.int64], after: NDArray[np.int64], labels: NDArray[np.int64], weights: Weights = None
) -> PairedGain:
    """The gain by given labels: only rows on which exactly one of two models agrees with them count.

    Examples
    --------
    >>> labels = np.zeros(100, dtype=int)
    >>> better = labels.copy()
    >>> worse = np.repeat([0, 1], [90, 10])
    >>> print(paired_gain(worse, better, labels), paired_gain(worse, worse, labels))
    +10.0 points (+3.8 .. +16.2) +0.0 points (+0.0 .. +0.0)
    """
    if (before == after).all():
        return PairedGain(0.0, 0.0, 0.0)
    n = effective_size(len(labels), weights)
    won, lost = (
        mean((model == labels) & (other != labels), weights) for model, other in ((after, before), (before, after))
    )
    # None won or lost in a finite sample is not certain: half a row of each is imagined.
    rates = [(rate * n + 0.5) / (n + 1.0) for rate in (won, lost)]
    width = NORMAL_95 * sqrt((sum(rates) - (rates[0] - rates[1]) ** 2) / n)
    return PairedGain(won - lost, won - lost - width, won - lost + width)


def compared(prepared: PreparedEstimator, source: Learner, adapted: Learner, number: int) -> Compared:
    """Source model and adapted model by one yardstick, where the estimator has one; else estimate by estimate."""
    compare = getattr(prepared, "compare", None)
    if compare is not None:
        found: Compared = compare(source, adapted, number)
        return found
    before = prepared.estimate(source, number, adapted=False)
    after = prepared.estimate(adapted, number, adapted=True)
    return Compared(before, after, unpaired(before, after))


def unpaired(before: AccuracyEstimate, after: AccuracyEstimate) -> PairedGain:
    """The difference of two estimates that do not share their rows."""
    value = after.value - before.value
    width = 0.5 * sqrt((before.high - before.low) ** 2 + (after.high - after.low) ** 2)
    return PairedGain(value, value - width, value + width)

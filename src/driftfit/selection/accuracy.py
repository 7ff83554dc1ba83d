"""Accuracy without labels: what an estimate is, and what it is where none can be made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

NORMAL_95 = 1.96


@dataclass(frozen=True)
class AccuracyEstimate:
    """Estimated accuracy of one model on one unlabelled domain.

    ``value``, ``low`` and ``high``: the estimate and a 95 % interval: sampling error, and what the estimator knows
    about its own bias from the source. It does not cover a bias that the source cannot show. ``method``: name of the
    estimator. ``reliable``: whether the estimator reproduced the known accuracy on the source, and nothing speaks
    against it on the domain. ``remark``: why it is not reliable, in words, with the remedy; empty where there is
    nothing to say.
    """

    value: float
    low: float
    high: float
    method: str
    reliable: bool = True
    remark: str = ""

    @classmethod
    def around(cls, value: float, half_width: float, method: str, reliable: bool = True) -> AccuracyEstimate:
        """An estimate with a symmetric interval, cut to [0, 1].

        >>> AccuracyEstimate.around(0.95, 0.1, "test")
        AccuracyEstimate(value=0.95, low=0.85, high=1.0, method='test', reliable=True, remark='')
        """
        value = float(min(max(value, 0.0), 1.0))
        low, high = (float(round(min(max(edge, 0.0), 1.0), 12)) for edge in (value - half_width, value + half_width))
        return cls(value, low, high, method, reliable)

    @property
    def estimable(self) -> bool:
        """Whether the interval excludes anything; where it does not, the value only ranks models.

        >>> AccuracyEstimate(0.9, 0.85, 0.95, "test").refused("no overlap").estimable
        False
        """
        return self.reliable or self.low > 0.0 or self.high < 1.0

    @classmethod
    def unknown(cls, remark: str) -> AccuracyEstimate:
        """No estimate, and why there is none.

        >>> AccuracyEstimate.unknown("too few rows").estimable
        False
        """
        return cls(0.0, 0.0, 1.0, "none", reliable=False, remark=remark)

    def widened(self, times: float) -> AccuracyEstimate:
        """The same with an interval so many times as wide.

        >>> found = AccuracyEstimate(0.8, 0.7, 0.9, "test").widened(1.5)
        >>> round(found.low, 3), round(found.high, 3)
        (0.65, 0.95)
        """
        low, high = (min(max(self.value + times * (edge - self.value), 0.0), 1.0) for edge in (self.low, self.high))
        return replace(self, low=low, high=high)

    def refused(self, remark: str) -> AccuracyEstimate:
        """The same value with an interval that excludes nothing: it ranks models, and says nothing about accuracy.

        >>> AccuracyEstimate(0.9, 0.85, 0.95, "test").refused("no overlap")
        AccuracyEstimate(value=0.9, low=0.0, high=1.0, method='test', reliable=False, remark='no overlap')
        """
        return replace(self, low=0.0, high=1.0, reliable=False, remark=remark)


def spread(*rates: tuple[float, float]) -> float:
    """Half width of a 95 % interval for a sum of independent shares, given as (share, sample size).

    >>> round(spread((0.5, 100)), 3)
    0.098
    """
    # A share of 0 or 1 in a finite sample is not certain: one imagined failure and success are added.
    variance = sum(_smoothed(rate, n) * (1.0 - _smoothed(rate, n)) / n for rate, n in rates)
    return NORMAL_95 * sqrt(variance)


def _smoothed(rate: float, n: float) -> float:
    return (rate * n + 1.0) / (n + 2.0)

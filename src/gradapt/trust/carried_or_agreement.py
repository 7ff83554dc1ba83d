"""The default estimator: carried labels where the source shows that they can be relied on, agreement elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gradapt.learners import Learner
from gradapt.trust.accuracy import AccuracyEstimate, PreparedEstimator, spread
from gradapt.trust.agreement import Agreement
from gradapt.trust.carried import CarriedAgreement
from gradapt.trust.overlap import overlapping
from gradapt.trust.view import PathView
from gradapt.trust.weighted import effective_size, mean

__all__ = ["CarriedOrAgreement"]


@dataclass(frozen=True)
class CarriedOrAgreement:
    """`CarriedAgreement`, or `Agreement` where carried labels fail on the source or lose a class on the way.

    In the second case nothing speaks for the labels that adaptation changed: an adapted model is
    credited with the source model's estimate where it says the same, and with chance where it
    does not. Such estimates are marked as not reliable.

    Parameters
    ----------
    carried : CarriedAgreement
    agreement : Agreement
    """

    carried: CarriedAgreement = field(default_factory=CarriedAgreement)
    agreement: Agreement = field(default_factory=Agreement)

    def prepare(self, view: PathView) -> PreparedEstimator:
        """Calibrate the first and, only for domains where it is not reliable, the other."""
        return _Prepared(view, self.carried.prepare(view), self.agreement)


@dataclass(eq=False)
class _Prepared:
    view: PathView
    carried: Any
    agreement: Agreement

    @cached_property
    def unproven(self) -> _Unproven:
        return _Unproven(self.view, self.agreement.prepare(self.view))

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        chosen: PreparedEstimator = self.carried if self.carried.reliable_at(number) else self.unproven
        return chosen.estimate(learner, number, adapted=adapted)


@dataclass(frozen=True, eq=False)
class _Unproven:
    view: PathView
    agreement: PreparedEstimator

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        if not adapted:
            return replace(self.agreement.estimate(learner, number, adapted=False), reliable=False)
        before = self.agreement.estimate(self.view.learner, number, adapted=False)
        own, weights = self.view.predicted(learner, number), self.view.weights(number)
        same = mean(own == self.view.predicted(self.view.learner, number), weights)
        chance = (1.0 - before.value) / (self.view.n_classes - 1)
        value = before.value * same + chance * (1.0 - same)
        sampling = spread((same, effective_size(len(own), weights)))
        width = 0.5 * (before.high - before.low) + 0.5 * (1.0 - same) + sampling
        found = AccuracyEstimate.around(value, width, "agreement, changes unproven", reliable=False)
        return overlapping(found, self.view, 0, number)

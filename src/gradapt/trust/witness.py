"""The default estimator: carried labels where the source shows that they can be relied on, agreement elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gradapt.learners import Learner
from gradapt.trust.accuracy import AccuracyEstimate, PreparedEstimator, predictions, spread
from gradapt.trust.agreement import Agreement
from gradapt.trust.carried import CarriedLabels
from gradapt.trust.view import PathView

__all__ = ["BestWitness"]


@dataclass(frozen=True)
class BestWitness:
    """Asks `CarriedLabels`, or `Agreement` where carried labels fail on the source or lose a class on the way.

    In the second case nothing speaks for the labels that adaptation changed: an adapted model is
    credited with the source model's estimate where it says the same, and with chance where it
    does not. Such estimates are marked as not reliable.

    Parameters
    ----------
    first : CarriedLabels
    otherwise : Agreement
    """

    first: CarriedLabels = field(default_factory=CarriedLabels)
    otherwise: Agreement = field(default_factory=Agreement)

    def prepare(self, view: PathView) -> PreparedEstimator:
        """Calibrate the first and, only for domains where it is not reliable, the other."""
        return _Best(view, self.first.prepare(view), self.otherwise)


@dataclass(eq=False)
class _Best:
    view: PathView
    carried: Any
    otherwise: Agreement

    @cached_property
    def unproven(self) -> _Unproven:
        return _Unproven(self.view, self.otherwise.prepare(self.view))

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        witness = self.carried if self.carried.reliable_at(number) else self.unproven
        estimate: AccuracyEstimate = witness.estimate(learner, number, adapted=adapted)
        return estimate


@dataclass(frozen=True, eq=False)
class _Unproven:
    view: PathView
    agreement: PreparedEstimator

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        before = replace(self.agreement.estimate(self.view.learner, number, adapted=False), reliable=False)
        own = predictions(learner, self.view, number)
        same = float((own == predictions(self.view.learner, self.view, number)).mean())
        if not adapted:
            return replace(self.agreement.estimate(learner, number, adapted=False), reliable=False)
        chance = (1.0 - before.value) / (self.view.n_classes - 1)
        value = before.value * same + chance * (1.0 - same)
        width = 0.5 * (before.high - before.low) + 0.5 * (1.0 - same) + spread((same, len(own)))
        return AccuracyEstimate.around(value, width, "agreement, changes unproven", reliable=False)

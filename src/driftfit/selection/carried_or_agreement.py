"""The default estimator: carried labels where the source shows that they can be relied on, agreement elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from driftfit.models import Learner
from driftfit.selection.accuracy import AccuracyEstimate, PreparedEstimator, spread
from driftfit.selection.agreement import Agreement
from driftfit.selection.carried import CarriedAgreement
from driftfit.selection.checking import diagnose
from driftfit.selection.gain import Compared, PairedGain
from driftfit.selection.overlap import rows_to_label
from driftfit.selection.reweighted import ReweightedSource
from driftfit.selection.same_law import same_laws
from driftfit.selection.verdict import trouble
from driftfit.selection.view import PathView
from driftfit.selection.weighted import effective_size, mean

_BLIND = (
    "labels carried along the plans are wrong too often on the source itself, or lost a class, and models that agree "
    f"may be wrong alike: label {rows_to_label()} rows"
)
_UNPROVEN = f"nothing speaks for the labels that adaptation changed: label {rows_to_label()} rows"


@dataclass(frozen=True)
class CarriedOrAgreement:
    """Held-out source rows where the classes stay; else `CarriedAgreement`, or `Agreement` where that fails.

    Where carried labels cannot be relied on (they fail on the source, or a class is lost on the way) nothing speaks for
    the labels that adaptation changed: an adapted model is credited with the source model's estimate where it says
    the same, and with chance where it does not. Such estimates are marked as not reliable, and so are those behind a
    step that the check finds too large: carried labels then rest on a plan that may join the wrong classes.

    Parameters
    ----------
    carried : CarriedAgreement
    agreement : Agreement
    """

    carried: CarriedAgreement = field(default_factory=CarriedAgreement)
    agreement: Agreement = field(default_factory=Agreement)

    def prepare(self, view: PathView) -> PreparedEstimator:
        """Calibrate each only when it is asked: carried labels where classes move, agreement where these fail."""
        return _Prepared(view, self)


@dataclass(eq=False)
class _Prepared:
    view: PathView
    parts: CarriedOrAgreement

    @cached_property
    def carried(self) -> Any:
        return self.parts.carried.prepare(self.view)

    @cached_property
    def committee(self) -> PreparedEstimator:
        return self.parts.agreement.prepare(self.view)

    @cached_property
    def reweighted(self) -> PreparedEstimator:
        return ReweightedSource().prepare(self.view)

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        if adapted:
            return self.compare(self.view.learner, learner, number).after
        if number == 0 or same_laws(self.view)[number - 1].classes_stay:
            return self.reweighted.estimate(learner, number, adapted=False)
        if not self.carried.reliable_at(number):
            found = self.committee.estimate(learner, number, adapted=False)
            # Where there is no overlap that is said already.
            return replace(found, reliable=False, remark=found.remark or _BLIND)
        return self._along_small_steps(self.carried.estimate(learner, number, adapted=False), number)

    def compare(self, source: Learner, adapted: Learner, number: int) -> Compared:
        """Both models on the same rows: what the adapted one wins is added to the estimate of the source model."""
        before = self.estimate(source, number, adapted=False)
        proven = self.carried.reliable_at(number)
        gain = self.carried.gain(source, adapted, number) if proven else self._unproven(source, adapted, number, before)
        if gain.value == gain.low == gain.high == 0.0:
            return Compared(before, before, gain)
        doubt = 0.5 * (before.high - before.low) + 0.5 * (gain.high - gain.low)
        method = before.method if proven else f"{before.method}, changes unproven"
        after = AccuracyEstimate.around(before.value + gain.value, doubt, method, before.reliable and proven)
        remark = before.remark or ("" if proven else _UNPROVEN)
        if remark:
            after = replace(after, remark=remark) if before.estimable else after.refused(remark)
        return Compared(before, after, gain)

    def _along_small_steps(self, found: AccuracyEstimate, number: int) -> AccuracyEstimate:
        large = next((step for step in diagnose(self.view).steps[:number] if trouble(step) is not None), None)
        if large is None or not found.reliable:
            return found
        remark = (
            f"the step {large.before} -> {large.after} is too large for this model: labels carried across it may be "
            f"wrong; label {rows_to_label()} rows"
        )
        return replace(found, reliable=False, remark=remark)

    def _unproven(self, source: Learner, adapted: Learner, number: int, before: AccuracyEstimate) -> PairedGain:
        own, weights = self.view.predicted(adapted, number), self.view.weights(number)
        changed = mean(own != self.view.predicted(source, number), weights)
        chance = (1.0 - before.value) / (self.view.n_classes - 1)
        value = changed * (chance - before.value)
        sampling = spread((changed, effective_size(len(own), weights))) if changed > 0 else 0.0
        return PairedGain(value, value - 0.5 * changed - sampling, value + 0.5 * changed + sampling)

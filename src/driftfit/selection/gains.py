"""What a method gains in accuracy if its assumption holds, from labelled rows of the source alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Assumption, ImportanceWeights, Method, OwnScale, ProportionCorrection
from driftfit.methods.alignment import dense_matrix
from driftfit.methods.class_proportions import GivenProportions
from driftfit.methods.held_out import HeldOut, held_out
from driftfit.methods.source_weights import importance_weights
from driftfit.models import Learner
from driftfit.selection.accuracy import (
    NORMAL_95,
    UNDECLARED,
    WIDEST,
    AccuracyEstimate,
    Draw,
    accuracy_if,
    overlap,
    rows_to_label,
)
from driftfit.selection.diagnosis import fit_proportions, raw_overlap
from driftfit.selection.evidence import Gain, Judgement
from driftfit.selection.exchange import row_units
from driftfit.selection.ladder import Ladder
from driftfit.selection.runs import Runs

__all__ = ["UNDECLARED", "Found", "accuracy_before", "known_gain", "unmoved"]

_FOLDS = 5
_WEIGHTED = "labelled rows of the first window, weighted as the last"


def in_points(gain: Gain) -> str:
    """A gain in accuracy with its interval.

    >>> in_points(Gain(0.012, -0.004, 0.03))
    '+1.2 points (-0.4 to +3.0)'
    """
    return f"{100 * gain.value:+.1f} points ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"


@dataclass(frozen=True, eq=False)
class Found:
    """The gain of one method over the reference, and both accuracies, if an assumption holds.

    ``before`` and ``after``: of the reference and of the method. ``shares``: share of each class in the target, where
    the assumption says it; None where it is that of the source, or where the assumption says nothing about it.
    """

    gain: Gain
    before: AccuracyEstimate | None
    after: AccuracyEstimate | None
    shares: tuple[float, ...] | None = None

    @property
    def gain_in_words(self) -> str:
        """In points of accuracy."""
        return in_points(self.gain)

    def judge(self, runs: Runs) -> Judgement:
        """The gain for every row; whole intervals are known only for all rows together, so the lower end decides."""
        rows = len(runs.target)
        sure = self.gain.value if self.gain.low > 0.0 else min(self.gain.value, 0.0)
        found: dict[Any, NDArray[np.float64]] = {name: np.full(rows, sure) for name in runs.names}
        found[runs.reference] = np.zeros(rows)
        return Judgement(found, None, "gain in accuracy if the assumption holds")


def known_gain(
    assumption: Assumption,
    method: Method,
    learner: Learner,
    ends: DomainSequence,
    seed: int = 0,
    in_use: NDArray[np.int64] | None = None,
) -> Found:
    """What the method of an assumption gains over the source model, or over the answers of a model in use.

    ``assumption``: covariates, proportions or scale. ``learner``: trained on the source. ``ends``: source and target;
    labels of the target are not looked at. ``in_use``: what a model in use says about the target.
    """
    if isinstance(method, ImportanceWeights):
        return _weighted(method, learner, ends, seed)
    if isinstance(method, ProportionCorrection):
        return _corrected(method, learner, ends, seed, in_use)
    if isinstance(method, OwnScale):
        return _scaled(method, learner, ends, seed, in_use)
    raise InputError(f"the gain of {type(method).__name__} cannot be known from {assumption} alone")


def unmoved(
    learner: Learner, sequence: DomainSequence, declared: tuple[Assumption, ...], seed: int = 0
) -> AccuracyEstimate | None:
    """The accuracy where nothing speaks for a change: that of source rows which were held out, if these suffice."""
    ends = sequence.masked().ends()
    try:
        here, there, held = _units_and_answers(learner, ends, seed)
    except InputError:
        return None
    words, known = "held-out rows of the first window", declared[0] if declared else None
    return accuracy_if(Draw(_right(held), here), len(np.unique(there)), words, declared=known)


def accuracy_before(ladder: Ladder, learner: Learner, sequence: DomainSequence, seed: int = 0) -> AccuracyEstimate:
    """The accuracy of the source model on the target, if what was declared holds; conditional where nothing was.

    ``learner``: trained on the source. ``sequence``: labels but the source's are not looked at.
    """
    declared = ladder.declared
    if not ladder.moved.rejected:
        found = unmoved(learner, sequence, declared, seed)
        return found or AccuracyEstimate.unknown("too few labelled rows to hold some out")
    known = next((name for name in declared if name in ladder.standing), None)
    if declared and known not in (Assumption.COVARIATES, Assumption.PROPORTIONS):
        why = "what was declared is refuted" if known is None else f"{known} says nothing about the old model"
        return AccuracyEstimate.unknown(f"{why}: label {rows_to_label()} rows")
    ends = sequence.masked().ends()
    try:
        if known is Assumption.PROPORTIONS:
            found = known_gain(known, ProportionCorrection(seed=seed), learner, ends, seed).before
        else:
            found = _weighted_accuracy(learner, ends, seed, known)
    except InputError as error:
        return AccuracyEstimate.unknown(str(error))
    return found or AccuracyEstimate.unknown("it says nothing about the old model")


def _weighted_accuracy(
    learner: Learner, ends: DomainSequence, seed: int, declared: Assumption | None
) -> AccuracyEstimate:
    """Of the source model, by held-out rows of the source that are weighted as the target has them."""
    weights = importance_weights(dense_matrix(ends.source), dense_matrix(ends.target))
    here, there, held = _units_and_answers(learner, ends, seed)
    left = not_represented(ends, weights, seed)
    draw = Draw(_right(held), here, weights)
    found = accuracy_if(draw, len(np.unique(there)), _WEIGHTED, declared=declared, doubt=left)
    apart = raw_overlap(ends, seed)
    return found if apart.estimable else found.refused(apart.sentence)


def not_represented(ends: DomainSequence, weights: NDArray[np.float64], seed: int = 0) -> float:
    """Share of the target that weighted rows of the source still do not stand for, as far as that is beyond chance.

    A classifier that tells the two apart with an AUC of ``a`` shows that they differ in ``2 a - 1`` of their mass; on
    these rows a model may be right or wrong.
    """
    left = overlap(ends.source.matrix(), ends.target.matrix(), weights=(weights / weights.sum(), None), seed=seed)
    return max(2.0 * left.low - 1.0, 0.0)


def _units_and_answers(
    learner: Learner, ends: DomainSequence, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], HeldOut]:
    here, there = row_units(ends.source), row_units(ends.target)
    return here, there, held_out(learner, ends.source, _FOLDS, seed, max_rows=None, units=here)


def _right(held: HeldOut) -> NDArray[np.float64]:
    return np.asarray(held.logits.argmax(axis=1) == held.codes, dtype=np.float64)


def _weighted(method: ImportanceWeights, learner: Learner, ends: DomainSequence, seed: int) -> Found:
    """Held-out rows of the source, weighted as the target has them: fair to any model if P(label | row) holds."""
    weights = importance_weights(dense_matrix(ends.source), dense_matrix(ends.target), method.most)
    here, there, held = _units_and_answers(learner, ends, seed)
    plain = _right(held)
    n_units = len(np.unique(there))
    known: Any = {"declared": Assumption.COVARIATES, "doubt": not_represented(ends, weights, seed)}
    before = accuracy_if(Draw(plain, here, weights), n_units, _WEIGHTED, **known)
    apart = raw_overlap(ends, seed)
    if not apart.estimable:
        before = before.refused(apart.sentence)
        return Found(Gain(0.0, 0.0, 0.0), before, before)
    if not learner.takes_weights:
        return Found(Gain(0.0, 0.0, 0.0), before, before)
    other = _weighted_answers(learner, ends, weights, here, seed)
    after = accuracy_if(Draw(other, here, weights), n_units, _WEIGHTED, **known)
    return Found(Draw(other - plain, here, weights).gain, before, after)


def _weighted_answers(
    learner: Learner, ends: DomainSequence, weights: NDArray[np.float64], units: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Whether a model that was trained on weighted rows is right on those held out of its training."""
    source = ends.source
    weighed = type(source)(source.samples, source.labels, weights / weights.sum(), source.name, source.allow_missing)
    return _right(held_out(learner, weighed, _FOLDS, seed, max_rows=None, units=units))


def _corrected(
    method: ProportionCorrection, learner: Learner, ends: DomainSequence, seed: int, in_use: NDArray[np.int64] | None
) -> Found:
    given = method.estimator if isinstance(method.estimator, GivenProportions) else None
    fit = fit_proportions(learner, ends, seed, given, in_use)
    # The fit counts rows; where they hang together they say as much as fewer.
    times = max(sqrt(len(domain) / len(np.unique(row_units(domain)))) for domain in ends)
    gain = Gain(fit.gain, fit.gain - times * (fit.gain - fit.low), fit.gain + times * (fit.high - fit.gain))
    after = fit.accuracy.widened(times)
    value, low, high = after.value - gain.value, after.low - gain.high, after.high - gain.low
    before = replace(after, value=min(max(value, 0.0), 1.0), low=max(low, 0.0), high=min(high, 1.0))
    before, after = (_as_far_as_it_says(one) for one in (before, after))
    return Found(gain, before, after, tuple(fit.by_likelihood.estimate))


def _as_far_as_it_says(estimate: AccuracyEstimate) -> AccuracyEstimate:
    wide = estimate.high - estimate.low > WIDEST
    return estimate.refused(f"too few independent rows: label {rows_to_label()} rows") if wide else estimate


def _scaled(
    method: OwnScale, learner: Learner, ends: DomainSequence, seed: int, in_use: NDArray[np.int64] | None
) -> Found:
    """Behind its own scale the target is the source again: what the model knows there, it knows of the target."""
    here, there, held = _units_and_answers(learner, ends, seed)
    n_units = len(np.unique(there))
    after = accuracy_if(
        Draw(_right(held), here), n_units, "held-out rows of the first window", declared=Assumption.SCALE
    )
    target = ends.target.samples
    adapted = method.adapt(learner, ends).learner.logits(target)
    old = learner.logits(target).argmax(axis=1) if in_use is None else in_use
    shares, rows = held.calibration().probabilities(adapted), np.arange(len(old))
    gained = shares[rows, adapted.argmax(axis=1)] - shares[rows, old]
    draw = Draw(gained, there)
    half = draw.quantile * draw.error if draw.size > 1.0 else NORMAL_95
    return Found(Gain(draw.value, draw.value - half, draw.value + half), None, after)

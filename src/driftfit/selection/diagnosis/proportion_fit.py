"""Does a change of class proportions explain what is seen, and what would correcting it gain?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import hypot

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import kstwobign

from driftfit.domains import DomainSequence
from driftfit.methods.class_proportions import (
    ByConfusion,
    ByLikelihood,
    GivenProportions,
    ProportionEstimate,
    log_ratio,
)
from driftfit.methods.held_out import HeldOut, held_out
from driftfit.models import Learner
from driftfit.selection.accuracy import NORMAL_95, AccuracyEstimate, Overlap, overlap
from driftfit.selection.view import effective_size

# A misfit that chance alone exceeds so seldom speaks against a change of proportions.
_CHANCE = 0.01
# Of the rows that would have changed class, at most this part may differ otherwise as well. Fixed on the design seeds
# of docs/remedies_measured.md: 0.0 to 0.2 where a correction helps, 0.7 and more where it harms.
_LARGEST_REST = 0.5


@dataclass(frozen=True, eq=False)
class ProportionFit:
    """How well other class proportions, and nothing else, explain a target.

    Attributes
    ----------
    by_likelihood, by_confusion : ProportionEstimate
    left : Overlap
        Of the target and the source with its classes weighted to the estimate: what is left to tell apart.
    misfit, largest_misfit : float
        Largest distance between the distributions of a class's probability in the target and in the weighted source
        (held-out rows), and what chance exceeds in one of a hundred samples.
    gain, low, high : float
        Estimated gain in accuracy by the correction, if the change of proportions is all there is. Its interval is the
        one that other samples of both windows give, with that of the labels of the target's rows, which are a draw
        themselves. Estimated proportions lie too near to the old ones: the upper end is the higher of both estimates.
    second_opinion : float
        The gain if the proportions by the model's confusion were the true ones.
    accuracy : AccuracyEstimate
        Of the corrected model, under the same assumption.
    contributions : array
        What each row of the target adds to the gain.
    """

    by_likelihood: ProportionEstimate
    by_confusion: ProportionEstimate
    left: Overlap
    misfit: float
    largest_misfit: float
    gain: float
    low: float
    high: float
    second_opinion: float
    accuracy: AccuracyEstimate
    contributions: NDArray[np.float64] = field(repr=False)

    @property
    def unexplained(self) -> float:
        """Share of the rows that, at least, differ otherwise than by their class: ``2 * AUC - 1``, less its noise."""
        return max(2.0 * self.left.low - 1.0, 0.0)

    @property
    def changed(self) -> bool:
        """Whether the proportions moved by more than other samples would move the estimate."""
        return self.by_likelihood.distance > self.by_likelihood.spread

    @property
    def explains(self) -> bool:
        """Whether other proportions, and little else, explain the target."""
        return self.misfit_sentence is None

    @property
    def objection(self) -> str | None:
        """Why proportions should not be corrected, or None."""
        if self.misfit_sentence is not None:
            return self.misfit_sentence
        if self.low <= 0.0:
            return f"the estimated gain includes 0 ({100 * self.low:.1f} to {100 * self.high:.1f} points)"
        if self.second_opinion <= 0.0:
            return f"by the second estimate of the proportions it would lose {-100 * self.second_opinion:.1f} points"
        return None

    @property
    def misfit_of_scores(self) -> str:
        """How far the model's scores are from those that the new proportions would give."""
        return (
            f"other proportions do not explain the model's scores (largest distance {self.misfit:.2f}, "
            f"by chance up to {self.largest_misfit:.2f})"
        )

    @property
    def misfit_sentence(self) -> str | None:
        """What other proportions leave unexplained, or None."""
        moved = self.by_likelihood.distance
        if not self.left.estimable:
            return f"other proportions do not explain the target: {self.left.sentence}"
        if self.misfit > self.largest_misfit:
            return self.misfit_of_scores
        if self.unexplained >= _LARGEST_REST * moved:
            return (
                f"{100 * moved:.0f} % of the rows would have changed class, but at least "
                f"{100 * self.unexplained:.0f} % differ otherwise"
            )
        return None


def fit_proportions(
    learner: Learner,
    sequence: DomainSequence,
    seed: int = 0,
    given: GivenProportions | None = None,
    in_use: NDArray[np.int64] | None = None,
) -> ProportionFit:
    """Estimate the target's class proportions in two ways and ask whether they explain it.

    Parameters
    ----------
    learner : Learner
        Trained on the source.
    sequence : DomainSequence
        Of numbers; labels but the source's are not looked at.
    seed : int
    given : GivenProportions, optional
        Proportions that somebody knows, in place of the estimate by likelihood.
    in_use : int array, optional
        What the model in use says about the rows of the target, where that is another one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.models import as_learner
    >>> rng = np.random.default_rng(0)
    >>> old, new = np.repeat([0, 1], [500, 500]), np.repeat([0, 1], [900, 100])
    >>> x0, x1 = rng.normal(1.5 * old)[:, None], rng.normal(1.5 * new)[:, None]
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x0, old)
    >>> fit = fit_proportions(learner, DomainSequence([Domain(x0, old), Domain(x1)]))
    >>> fit.objection, round(fit.by_likelihood.estimate[1], 1), fit.gain > 0.05
    (None, 0.1, True)
    """
    masked = sequence.masked()
    source, target = masked.source, masked.target
    held = held_out(learner, source, seed=seed)
    there = held.elsewhere(target.samples)
    kinds = (given or ByLikelihood(seed=seed), ByConfusion(seed=seed))
    likely, confused = (kind.estimate(held, there) for kind in kinds)
    ratio = np.exp(likely.log_ratio)
    weights = ratio[source.codes(learner.classes)]
    left = overlap(source.matrix(), target.matrix(), weights=(weights / weights.sum(), None), seed=seed)
    misfit, limit = _misfit(held, there, ratio)
    logits = learner.logits(target.samples)
    old = logits.argmax(axis=1) if in_use is None else in_use
    judged = _Judged.of(held, logits, old, likely)
    accuracy, ends = judged.intervals([likely.draws] if given is not None else [likely.draws, confused.draws])
    gain = float(judged.gained.mean())
    second = float(judged.means(np.array([confused.estimate]))[1][0])
    return ProportionFit(likely, confused, left, misfit, limit, gain, *ends, second, accuracy, judged.gained)


def _misfit(held: HeldOut, there: NDArray[np.float64], ratio: NDArray[np.float64]) -> tuple[float, float]:
    """The largest distance between the distributions of each class's probability, and its limit by chance."""
    here, other = softmax(held.logits, axis=1), softmax(there, axis=1)
    weights = ratio[held.codes]
    k = here.shape[1]
    sizes = 1.0 / effective_size(len(weights), weights) + 1.0 / len(other)
    largest = max(_distance(here[:, code], weights, other[:, code]) for code in range(k))
    return largest, float(kstwobign.isf(_CHANCE / k) * np.sqrt(sizes))


def _distance(here: NDArray[np.float64], weights: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Kolmogorov's distance between a weighted sample and another."""
    order = np.argsort(here)
    reached = np.r_[0.0, np.cumsum(weights[order])] / weights.sum()
    values = np.concatenate([here, other])
    ours = reached[np.searchsorted(here[order], values, side="right")]
    theirs = np.searchsorted(np.sort(other), values, side="right") / len(other)
    return float(np.abs(ours - theirs).max())


def _widened(value: float, low: float, high: float, drawn: float) -> tuple[float, float]:
    """An interval around a value, with the half width of another, independent part."""
    return value - hypot(max(value - low, 0.0), drawn), value + hypot(max(high - value, 0.0), drawn)


@dataclass(frozen=True, eq=False)
class _Judged:
    """The rows of the target under an estimate of its proportions.

    ``plain``: of shape (n, K); calibrated scores, before any correction. ``source``: the source's proportions. ``old``
    and ``new``: what the model in use says, and the corrected one. ``right`` and ``gained``: chance of each row to be
    right by the corrected model, and how much more that is than by the one in use.
    """

    plain: NDArray[np.float64]
    source: NDArray[np.float64]
    old: NDArray[np.int64]
    new: NDArray[np.int64]
    right: NDArray[np.float64]
    gained: NDArray[np.float64]

    @classmethod
    def of(
        cls, held: HeldOut, logits: NDArray[np.float64], old: NDArray[np.int64], estimate: ProportionEstimate
    ) -> _Judged:
        calibration, source = held.calibration(), np.asarray(estimate.source)
        plain = calibration.scale * logits + np.asarray(calibration.offsets)
        new = (plain + estimate.log_ratio).argmax(axis=1)
        empty = np.empty(0)
        found = cls(plain, source, old, new, empty, empty)
        right, gained = found._rows(np.asarray(estimate.estimate))
        return replace(found, right=right, gained=gained)

    def means(self, draws: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Accuracy and gain of the same correction if each draw were the truth."""
        found = np.array([[part.mean() for part in self._rows(drawn)] for drawn in draws])
        return found[:, 0], found[:, 1]

    def intervals(self, draws: list[NDArray[np.float64]]) -> tuple[AccuracyEstimate, tuple[float, float]]:
        """Accuracy and gain by the draws of an estimate; the upper ends are the higher ones of all estimates."""
        means = [self.means(own) for own in draws]
        own, found = self.own_draw(), []
        for number, rows in enumerate((self.right, self.gained)):
            low = float(np.quantile(means[0][number], 0.025))
            high = max(float(np.quantile(part[number], 0.975)) for part in means)
            found.append(_widened(float(rows.mean()), low, high, own[number]))
        (low, high), gain = found
        right = float(self.right.mean())
        return AccuracyEstimate(right, max(low, 0.0), min(high, 1.0), "class proportions"), gain

    def own_draw(self) -> tuple[float, float]:
        """Half widths that come from the labels of the rows, for the accuracy and for the gain."""
        n, differ = len(self.new), self.new != self.old
        other = self.right - self.gained
        spread = np.where(differ, self.right + other - self.gained**2, 0.0)
        return (
            NORMAL_95 * float(np.sqrt((self.right * (1.0 - self.right)).mean() / n)),
            NORMAL_95 * float(np.sqrt(spread.mean() / n)),
        )

    def _rows(self, proportions: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        share = softmax(self.plain + log_ratio(proportions, self.source), axis=1)
        rows = np.arange(len(share))
        return share[rows, self.new], share[rows, self.new] - share[rows, self.old]

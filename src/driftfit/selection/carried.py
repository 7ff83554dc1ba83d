"""Labels carried along the transport plans, to compare with what a model says; no model takes part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from driftfit.domains import some_rows
from driftfit.errors import InputError
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.selection.accuracy import AccuracyEstimate, spread
from driftfit.selection.gain import PairedGain, paired_gain
from driftfit.selection.moves import LabelledPoints, group_change
from driftfit.selection.overlap import overlapping, rows_to_label
from driftfit.selection.view import PathView
from driftfit.selection.weighted import Weights, class_shares, effective_size, mean, total_variation
from driftfit.transport import transport

# Labels that may be off by more than this are not relied on where another estimator is at hand.
_LARGEST_EXPECTED_ERROR = 0.1
# Plans conserve the mass of each class; votes need not. A class that keeps less than this share of its mass
# has been voted away, and a model that lost it as well would seem right everywhere.
_LEAST_KEPT = 0.1
# Draws that show how far the proportions of two samples of one law may differ.
_DRAWS = 400


@dataclass(frozen=True)
class CarriedAgreement:
    """Share of samples on which a model agrees with labels that came along the transport plans.

    The source labels move with the optimal plan from domain to domain; after each step the nearest
    neighbours vote, which removes most of the plan's noise. No model's pseudo-labels take part,
    so the mistakes of self-training show as disagreement. Its own mistakes come from plans
    that couple samples of different classes: large steps, overlapping classes, changing proportions.

    Parameters
    ----------
    neighbour_share : float
        Votes per sample, as a share of the mean class size.
    max_samples : int
        Plans are made between at most this many samples of each domain.
    """

    neighbour_share: float = 0.15
    max_samples: int = 1_000

    def prepare(self, view: PathView) -> _Prepared:
        """Carry the labels along the path, and between two parts of the source for calibration."""
        if not 0.0 < self.neighbour_share <= 1.0 or self.max_samples < 2:
            raise InputError(
                f"neighbour_share must lie in (0, 1] and max_samples be at least 2, got {self.neighbour_share!r} and "
                f"{self.max_samples!r}"
            )
        labels, noise = [view.codes], [0.0]
        for number in range(1, len(view.sequence)):
            moved, plan_noise = self._step(view, number, labels[-1])
            labels.append(moved)
            noise.append(plan_noise)
        return _Prepared(view, labels, noise, *self._calibrate(view))

    def _step(self, view: PathView, number: int, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        rng = view.rng("carry", number)
        rows = some_rows(len(view.sequence[number - 1]), self.max_samples, rng)
        return carry(
            view.features(number - 1, rows),
            labels[rows],
            view.features(number),
            weights=(view.weights(number - 1, rows), view.weights(number)),
            neighbour_share=self.neighbour_share,
            max_samples=self.max_samples,
            rng=rng,
        )

    def _calibrate(self, view: PathView) -> tuple[float, float, float]:
        """Accuracy of carried labels, plan noise, and the model's agreement with them, all within the source."""
        rng = view.rng("carry", "source")
        fit = rng.permutation(view.fit_rows)[: self.max_samples]
        held, weights = view.held_rows, view.held_weights()
        moved, noise = carry(
            view.features(0, fit),
            view.codes[fit],
            view.features(0, held),
            weights=(view.weights(0, fit), weights),
            neighbour_share=self.neighbour_share,
            max_samples=self.max_samples,
            rng=rng,
        )
        return mean(moved == view.codes[held], weights), noise, mean(moved == view.held_predicted(), weights)


def carry(
    before: NDArray[np.float64],
    labels: NDArray[np.int64],
    after: NDArray[np.float64],
    *,
    weights: tuple[Weights, Weights] = (None, None),
    neighbour_share: float = 0.15,
    max_samples: int = 1_000,
    rng: np.random.Generator | None = None,
) -> tuple[NDArray[np.int64], float]:
    """Labels of ``before`` moved to ``after`` by the optimal plan and smoothed by a vote of neighbours.

    Returns the labels and the share of samples whose carried label the vote overruled.

    Parameters
    ----------
    before, after : float arrays with one row per sample
    labels : int array
        Class codes of ``before``.
    weights : (array or None, array or None)
        Of the two domains. A sample without weight gets a label and has no vote.
    neighbour_share, max_samples
        As for `CarriedAgreement`.
    rng : Generator, optional

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> carry(x, np.array([0, 0, 1, 1]), x + 4)[0].tolist()
    [0, 0, 1, 1]
    """
    rng = rng or np.random.default_rng(0)
    cols = some_rows(len(after), max_samples, rng)
    arriving = None if weights[1] is None else weights[1][cols]
    plan = transport(before, after[cols], weights[0], arriving)
    shares = plan.carry(np.eye(int(labels.max()) + 1)[labels])
    voters = np.flatnonzero(shares.any(axis=1))
    arrived = shares[voters].argmax(axis=1)
    # Enough votes to outweigh the plan's noise, few enough to stay within one class.
    n_votes = min(max(1, round(neighbour_share * len(cols) / len(np.unique(labels)))), len(voters))
    near = NearestNeighbors(n_neighbors=n_votes).fit(after[cols[voters]]).kneighbors(after, return_distance=False)
    power = np.ones(len(voters)) if arriving is None else arriving[voters]
    votes = [(power * (arrived == code))[near].sum(axis=1) for code in range(shares.shape[1])]
    voted = np.argmax(votes, axis=0)
    return voted, mean(voted[cols[voters]] != arrived, None if arriving is None else power)


@dataclass(frozen=True, eq=False)
class _Prepared:
    view: PathView
    labels: list[NDArray[np.int64]]
    noise: list[float]
    source_accuracy: float
    source_noise: float
    source_agreement: float
    # Measured when first asked for; the source does not differ from itself.
    share_changes: dict[int, float] = field(default_factory=lambda: {0: 0.0})

    @property
    def bias(self) -> float:
        """What the agreement falls short of the model's known accuracy on the source."""
        return self.view.source_accuracy() - self.source_agreement

    @property
    def expected_error(self) -> float:
        """Mean error of the agreement as an estimate, over models of every accuracy, if mistakes were independent.

        With carried labels of accuracy ``b`` and ``K`` classes a model of accuracy ``a`` agrees on
        ``a b + (1 - a) (1 - b) / (K - 1)``, which misses ``a`` by ``(1 - b) |(1 - a) / (K - 1) - a|``.
        """
        others = self.view.n_classes - 1
        accuracies = np.linspace(0.0, 1.0, 101)
        miss = (1.0 - self.source_accuracy) * np.abs((1.0 - accuracies) / others - accuracies)
        return float(miss.mean())

    @property
    def reliable(self) -> bool:
        """Whether the known accuracy of carried labels on the source keeps that error below ten points."""
        return self.expected_error <= _LARGEST_EXPECTED_ERROR

    def reliable_at(self, number: int) -> bool:
        """The same, and on the way to this domain the votes have not lost a class."""
        return self.reliable and min(self._least_kept(i) for i in range(number + 1)) >= _LEAST_KEPT

    def _least_kept(self, number: int) -> float:
        """The smallest ratio of a class's share after the votes to its share in the source, which plans conserve."""
        size, view = self.view.n_classes, self.view
        source = class_shares(view.codes, size, view.weights(0))
        voted = class_shares(self.labels[number], size, view.weights(number))
        present = source > 0
        return float((voted[present] / source[present]).min())

    def share_change(self, number: int) -> float:
        """By how much the class proportions seem to differ from the source's, which plans conserve.

        By the student's answers, or by the groups that grow around the carried classes, whichever is less: a student
        may be wrong about classes that moved, and groups may miss the shape of a class.
        """
        view, k = self.view, self.view.n_classes

        if number not in self.share_changes:
            source = LabelledPoints(view.features(0), view.codes, view.weights(0))
            here = LabelledPoints(view.features(number), self.labels[number], view.weights(number))
            answers = class_shares(view.predicted(view.students[number], number), k, here.weights)
            self.share_changes[number] = min(total_variation(source.shares(k), answers), group_change(source, here))
        return self.share_changes[number]

    def changed(self, number: int) -> bool:
        """Whether it is more than two samples of one law show in nineteen of twenty cases."""
        view = self.view
        sizes = (
            effective_size(len(view.codes), view.weights(0)),
            effective_size(len(view.sequence[number]), view.weights(number)),
        )
        return self.share_change(number) > _noise(class_shares(view.codes, view.n_classes, view.weights(0)), sizes)

    def gain(self, source: Learner, adapted: Learner, number: int) -> PairedGain:
        """What the adapted model wins by these labels; less sure by what the proportions may have changed."""
        view = self.view
        answers = [view.predicted(learner, number) for learner in (source, adapted)]
        found = paired_gain(answers[0], answers[1], self.labels[number], view.weights(number))
        doubt = self.share_change(number) * mean(answers[0] != answers[1], view.weights(number))
        return PairedGain(found.value, found.low - doubt, found.high + doubt)

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        view = self.view
        weights = view.weights(number)
        rate = mean(view.predicted(learner, number) == self.labels[number], weights)
        n_held = effective_size(len(view.held_rows), view.held_weights())
        width = spread((rate, effective_size(len(self.labels[number]), weights)), (self.source_agreement, n_held))
        # Plans noisier than on the source itself may have carried labels astray; the vote hides how many.
        astray = sum(max(noise - self.source_noise, 0.0) for noise in self.noise[1 : number + 1])
        doubt = abs(self.bias) + astray + self.share_change(number)
        found = AccuracyEstimate.around(rate, width + doubt, "carried labels", self.reliable_at(number))
        if not found.reliable or self.changed(number):
            found = replace(found, reliable=False, remark=self._remark(number))
        return overlapping(found, view, *range(number + 1))

    def _remark(self, number: int) -> str:
        if not self.reliable_at(number):
            return f"carried labels fail on the source itself, or lost a class: label {rows_to_label()} rows"
        return (
            f"the class proportions seem to have changed by {100 * self.share_change(number):.0f} % of the samples, "
            f"which carried labels do not follow: label {rows_to_label()} rows"
        )


def _noise(shares: NDArray[np.float64], sizes: tuple[float, float]) -> float:
    """What 95 % of two samples of these sizes with the same proportions stay below."""
    rng = np.random.default_rng(derive_seed("share noise"))
    drawn = [rng.multinomial(max(int(n), 1), shares, _DRAWS) / max(int(n), 1) for n in sizes]
    return float(np.quantile(0.5 * np.abs(drawn[0] - drawn[1]).sum(axis=1), 0.95))

"""Accuracy where classes stay: that of the held-out source rows, in the proportions of the domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from driftfit.models import Learner
from driftfit.selection.accuracy import NORMAL_95, AccuracyEstimate
from driftfit.selection.overlap import rows_to_label
from driftfit.selection.proportions import proportion_shift
from driftfit.selection.same_law import SameLaw, mixture_likeness, same_laws
from driftfit.selection.view import PathView
from driftfit.selection.weighted import class_shares, mean, total_variation

_RESAMPLES = 40
# A wider interval says less than a hundred labels, whatever they are.
_WIDEST = 0.5


@dataclass(frozen=True)
class ReweightedSource:
    """Accuracy of the source model on the rows held out of its training, each class weighted as in the domain.

    Right where a domain differs from the source in the proportions of its classes alone, or not at all, which
    `SameLaw` tests; not reliable elsewhere.
    """

    def prepare(self, view: PathView) -> _Prepared:
        """Accuracy of each class on the held-out rows."""
        k = view.n_classes
        codes, weights = view.codes[view.held_rows], view.held_weights()
        right = view.held_predicted() == codes
        accuracies, sizes = np.ones(k), np.zeros(k)
        for code in np.unique(codes):
            own = codes == code
            sizes[code] = own.sum()
            accuracies[code] = mean(right[own], None if weights is None else weights[own])
        return _Prepared(view, accuracies, sizes)


@dataclass(frozen=True, eq=False)
class _Prepared:
    view: PathView
    accuracies: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        """The same for every source model; an adapted one was not calibrated here."""
        view = self.view
        source = class_shares(view.codes, view.n_classes, view.weights(0))
        law = None if number == 0 else same_laws(view)[number - 1]
        stays = law is None or law.classes_stay
        shares = source if law is None or law.same else np.array(law.shares)
        value = float(shares @ self.accuracies)
        drawn, doubt = 0.0, 0.0
        if law is not None:
            # A change of proportions that the tests did not see may be one that they cannot see.
            drawn = float(np.mean((self._drawn(number) @ self.accuracies - value) ** 2))
        if law is not None and (not law.same or proportion_shift(view, number).changed):
            # What the tests' distances say of the proportions, and what the model's own answers say.
            doubt = abs(float(np.array(proportion_shift(view, number).estimate) @ self.accuracies) - value)
        # A class with few held-out rows is not certain to be right or wrong: one of each is imagined.
        n = self.sizes + 2.0
        smoothed = (self.accuracies * self.sizes + 1.0) / n
        variance = float((shares**2 * smoothed * (1.0 - smoothed) / n).sum()) + drawn
        width = NORMAL_95 * sqrt(variance + self._own_draw(shares, number))
        found = AccuracyEstimate.around(value, width + doubt, "held-out source rows", reliable=stays and not adapted)
        remark = self._remark(found, law, shares, number)
        return replace(found, reliable=False, remark=remark) if remark else found

    def _remark(
        self, found: AccuracyEstimate, law: SameLaw | None, shares: NDArray[np.float64], number: int
    ) -> str | None:
        """Why an estimate is unreliable, or None."""
        if not found.reliable:
            return f"not only proportions moved, or the model was adapted: label {rows_to_label()} rows"
        apart = 0.0 if law is None or law.same else self._apart(shares, number)
        if apart > 0.0:
            return (
                f"two estimates of the class proportions differ by {100 * apart:.0f} % of the samples, so that more "
                f"than proportions moved: label {rows_to_label()} rows"
            )
        if found.high - found.low <= _WIDEST:
            return None
        return (
            "the model tells the classes apart so badly that a change of their proportions can be neither seen nor "
            f"excluded: label {rows_to_label()} rows"
        )

    def _apart(self, shares: NDArray[np.float64], number: int) -> float:
        """How far two estimates of the proportions differ; 0 where their noise explains it."""
        other = proportion_shift(self.view, number)
        found = total_variation(shares, np.array(other.estimate))
        noise = np.quantile([total_variation(shares, drawn) for drawn in self._drawn(number)], 0.95)
        return found if found > noise + other.noise else 0.0

    def _own_draw(self, shares: NDArray[np.float64], number: int) -> float:
        """Variance of the accuracy on the rows of the domain, which are a draw themselves."""
        value = float(shares @ self.accuracies)
        n = len(self.view.sequence[number])
        value = (value * n + 1.0) / (n + 2.0)
        return value * (1.0 - value) / n

    def _drawn(self, number: int) -> NDArray[np.float64]:
        """Proportions that other samples would give."""
        return self.view.once(("drawn shares", number), lambda: self._resampled(number))

    def _resampled(self, number: int) -> NDArray[np.float64]:
        rng, likeness = self.view.rng("shares", number), mixture_likeness(self.view, number)
        return np.array([likeness.shares(rng) for _ in range(_RESAMPLES)])

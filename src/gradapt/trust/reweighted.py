"""Accuracy where classes stay: that of the held-out source rows, in the proportions of the domain."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gradapt.learners import Learner
from gradapt.trust.accuracy import NORMAL_95, AccuracyEstimate
from gradapt.trust.same_law import mixture_shares, same_laws
from gradapt.trust.view import PathView
from gradapt.trust.weighted import class_shares, mean

__all__ = ["ReweightedSource"]

_RESAMPLES = 20
_MOST_ROWS = 300


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
        shares, drawn = source, 0.0
        if law is not None and not law.same:
            shares = np.array(law.shares)
            drawn = view.once(("shares", number), lambda: self._spread_of_shares(number))
        # A class with few held-out rows is not certain to be right or wrong: one of each is imagined.
        n = self.sizes + 2.0
        smoothed = (self.accuracies * self.sizes + 1.0) / n
        variance = float((shares**2 * smoothed * (1.0 - smoothed) / n).sum()) + drawn
        width = NORMAL_95 * sqrt(variance + self._own_draw(shares, number))
        return AccuracyEstimate.around(
            float(shares @ self.accuracies), width, "held-out source rows", reliable=stays and not adapted
        )

    def _own_draw(self, shares: NDArray[np.float64], number: int) -> float:
        """Variance of the accuracy on the rows of the domain, which are a draw themselves."""
        value = float(shares @ self.accuracies)
        n = len(self.view.sequence[number])
        value = (value * n + 1.0) / (n + 2.0)
        return value * (1.0 - value) / n

    def _spread_of_shares(self, number: int) -> float:
        """Variance of the accuracy that comes from proportions that are themselves estimated, by resampling."""
        view, rng = self.view, self.view.rng("shares", number)
        found = []
        for _ in range(_RESAMPLES):
            held = rng.choice(view.held_rows, min(len(view.held_rows), 2 * _MOST_ROWS))
            n = len(view.sequence[number])
            rows = rng.integers(n, size=min(n, _MOST_ROWS))
            shares = mixture_shares(
                view.features(0, held), view.codes[held], view.features(number, rows), view.n_classes
            )
            found.append(float(shares @ self.accuracies))
        return float(np.var(found))

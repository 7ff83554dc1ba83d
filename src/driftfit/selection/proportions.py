"""Class proportions of an unlabelled domain, from a model's predictions alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.methods.class_proportions import black_box_proportions, confusion_shares, expectation_maximisation
from driftfit.selection.view import PathView
from driftfit.selection.weighted import Weights, class_shares, total_variation

_RESAMPLES = 100


@dataclass(frozen=True)
class ProportionShift:
    """Estimated class proportions of a domain against those of the source.

    ``source`` and ``estimate``: proportions in the source, and in the domain by black-box shift estimation.
    ``by_likelihood``: the same by expectation maximisation, as a second opinion. ``distance``: total variation between
    ``source`` and ``estimate``: the share of samples that would have to change class. ``noise``: what 95 % of equally
    large samples of the source itself stay below.
    """

    source: tuple[float, ...]
    estimate: tuple[float, ...]
    by_likelihood: tuple[float, ...]
    distance: float
    noise: float

    @property
    def changed(self) -> bool:
        """Whether the proportions moved by more than sampling noise."""
        return self.distance > self.noise


def proportion_shift(view: PathView, number: int) -> ProportionShift:
    """How far the class proportions of a domain are from the source's, by the source model; looked at once."""
    return view.once(("proportions", number), lambda: _estimated(view, number))


def _estimated(view: PathView, number: int) -> ProportionShift:
    k = view.n_classes
    logits = view.learner.logits(view.sequence[number].samples)
    weights = view.weights(number)
    predicted = class_shares(logits.argmax(axis=1), k, weights)
    source = class_shares(view.codes, k, view.weights(0))
    held = _Held(view.held_predicted(), view.codes[view.held_rows], view.held_weights())
    estimate = black_box_proportions(held.confusion(k), predicted)
    likely = expectation_maximisation(softmax(logits, axis=1), source, weights=weights)
    return ProportionShift(
        tuple(source.tolist()),
        tuple(estimate.tolist()),
        tuple(likely.tolist()),
        total_variation(source, estimate),
        _noise(view, held, len(logits), number),
    )


@dataclass(frozen=True, eq=False)
class _Held:
    """Predictions and labels of held-out source samples."""

    predicted: NDArray[np.int64]
    codes: NDArray[np.int64]
    weights: Weights

    def drawn(self, size: int, rng: np.random.Generator) -> _Held:
        """So many of them, drawn with replacement by their weights."""
        n = len(self.codes)
        if self.weights is None:
            rows = rng.integers(n, size=size)
        else:
            rows = rng.choice(n, size, p=self.weights / self.weights.sum())
        return _Held(self.predicted[rows], self.codes[rows], None)

    def confusion(self, k: int) -> NDArray[np.float64]:
        return confusion_shares(self.predicted, self.codes, k, self.weights)


def _noise(view: PathView, held: _Held, n_domain: int, number: int) -> float:
    """95 % quantile of the distance that is seen between the source and samples of itself."""
    rng = view.rng("proportions", number)
    k = view.n_classes
    own = class_shares(held.codes, k, held.weights)
    distances = []
    for _ in range(_RESAMPLES):
        again, new = held.drawn(len(held.codes), rng), held.drawn(n_domain, rng)
        estimate = black_box_proportions(again.confusion(k), class_shares(new.predicted, k))
        distances.append(total_variation(own, estimate))
    return float(np.quantile(distances, 0.95))

"""Class proportions of an unlabelled domain, from a model's predictions alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import softmax

from gradapt.trust.view import PathView
from gradapt.trust.weighted import Weights, class_shares, total_variation

__all__ = ["ProportionShift", "black_box_proportions", "expectation_maximisation", "proportion_shift"]

_RESAMPLES = 100


@dataclass(frozen=True)
class ProportionShift:
    """Estimated class proportions of a domain against those of the source.

    Attributes
    ----------
    source, estimate : tuple of float
        Proportions in the source, and in the domain by black-box shift estimation.
    by_likelihood : tuple of float
        The same by expectation maximisation, as a second opinion.
    distance : float
        Total variation between ``source`` and ``estimate``: the share of samples that would have to change class.
    noise : float
        What 95 % of equally large samples of the source itself stay below.
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


def black_box_proportions(confusion: NDArray[np.float64], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Proportions that explain the predictions, if only the proportions changed (Lipton et al. 2018).

    Parameters
    ----------
    confusion : array of shape (K, K)
        Probability of each prediction (row) for each true class (column): columns sum to 1.
    predicted : array of length K
        Shares of the predictions on the new domain.

    Examples
    --------
    >>> black_box_proportions(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([0.34, 0.66])).round(6).tolist()
    [0.2, 0.8]
    """
    weights, _ = nnls(confusion, predicted)
    return np.asarray(weights / weights.sum()) if weights.sum() > 0 else np.asarray(predicted)


def expectation_maximisation(
    probabilities: NDArray[np.float64],
    source: NDArray[np.float64],
    n_rounds: int = 200,
    weights: Weights = None,
) -> NDArray[np.float64]:
    """Proportions of largest likelihood under a model's class probabilities (Saerens et al. 2002).

    >>> shares = np.repeat([[1.0, 0.0], [0.0, 1.0]], [3, 1], axis=0)
    >>> expectation_maximisation(shares, np.array([0.5, 0.5])).tolist()
    [0.75, 0.25]
    """
    current = source.copy()
    for _ in range(n_rounds):
        joint = probabilities * (current / np.maximum(source, 1e-12))
        updated = np.average(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300), axis=0, weights=weights)
        if np.abs(updated - current).max() < 1e-9:
            return np.asarray(updated)
        current = updated
    return current


def proportion_shift(view: PathView, number: int) -> ProportionShift:
    """How far the class proportions of a domain are from the source's, by the source model."""
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
        counts = np.zeros((k, k))
        np.add.at(counts, (self.predicted, self.codes), 1.0 if self.weights is None else self.weights)
        # A class that was not held out counts as always recognised.
        absent = counts.sum(axis=0) == 0
        counts[absent, absent] = 1.0
        return np.asarray(counts / counts.sum(axis=0))


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

"""Average thresholded confidence: the share of samples that the model is sure enough about (Garg et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.models import Learner
from driftfit.selection.accuracy import AccuracyEstimate, spread
from driftfit.selection.overlap import overlapping
from driftfit.selection.view import PathView
from driftfit.selection.weighted import Weights, effective_size, mean, quantile


def negative_entropy(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of ``p log p`` over the classes: 0 for certainty, lower for doubt.

    >>> negative_entropy(np.array([[0.0, 0.0]])).round(4).tolist()
    [-0.6931]
    """
    shares = softmax(logits, axis=1)
    return np.asarray((shares * np.log(np.maximum(shares, 1e-12))).sum(axis=1))


@dataclass(frozen=True)
class ThresholdedConfidence:
    """The confidence level above which as many held-out source samples lie as the model gets right, applied elsewhere.

    Good for small shifts of a model that was not adapted. Self-training makes a model sure of
    itself, right or wrong, so after adaptation the estimate is too high.
    """

    def prepare(self, view: PathView) -> _Prepared:
        """Find the level on the held-out part of the source."""
        scores = negative_entropy(view.learner.logits(view.held_samples()))
        accuracy, weights = view.source_accuracy(), view.held_weights()
        return _Prepared(view, _level(scores, accuracy, weights), accuracy, effective_size(len(scores), weights))


@dataclass(frozen=True, eq=False)
class _Prepared:
    view: PathView
    level: float
    source_accuracy: float
    n_held: float

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        scores = negative_entropy(learner.logits(self.view.sequence[number].samples))
        weights = self.view.weights(number)
        value = mean(scores > self.level, weights)
        width = spread((value, effective_size(len(scores), weights)), (self.source_accuracy, self.n_held))
        found = AccuracyEstimate.around(value, width, "thresholded confidence", reliable=not adapted)
        if adapted:
            found = replace(found, remark="a model that was trained on its own answers is sure of them, right or wrong")
        return overlapping(found, self.view, 0, number)


def _level(scores: NDArray[np.float64], accuracy: float, weights: Weights) -> float:
    """The level exceeded by a share ``accuracy`` of the scores."""
    if accuracy >= 1.0:
        return float(np.nextafter(scores.min(), -np.inf))
    return quantile(scores, 1.0 - accuracy, weights)

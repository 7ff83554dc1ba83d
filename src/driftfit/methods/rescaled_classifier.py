"""Classifiers around a trained one: with other probabilities, or with other answers to the same probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from driftfit.models import as_learner
from driftfit.models.scikit import fit_weighted


class _Around(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier around another one, ``estimator``; what is changed of it stays when that is trained anew."""

    estimator: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the classifier inside anew."""
        return self._wrapped(fit_weighted(clone(self.estimator), X, y, sample_weight))

    def _wrapped(self, model: Any) -> Self:
        self.estimator_ = model
        self.classes_ = np.asarray(model.classes_)
        if hasattr(model, "n_features_in_"):
            self.n_features_in_ = model.n_features_in_
        return self


class RescaledClassifier(_Around):
    """Class probabilities ``softmax(scale * log p + offsets)`` of a trained classifier.

    ``scale``: one over the temperature; below 1 for a classifier that is too sure of itself. ``offsets``: in the order
    of ``classes_``; the logarithm of the ratio of new to old proportions, for instance.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> rare = RescaledClassifier.of(model, 1.0, np.log([0.9, 0.1]) - np.log([0.5, 0.5]))
    >>> model.predict([[1.6]]).tolist(), rare.predict([[1.6]]).tolist()
    ([1], [0])
    """

    def __init__(self, estimator: Any = None, scale: float = 1.0, offsets: Any = None) -> None:
        self.estimator = estimator
        self.scale = scale
        self.offsets = offsets

    @classmethod
    def of(cls, model: Any, scale: float, offsets: NDArray[np.float64]) -> RescaledClassifier:
        """Around a trained classifier."""
        return cls(model, float(scale), np.asarray(offsets, dtype=np.float64))._wrapped(model)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Rescaled probabilities, one column for each of ``classes_``."""
        logits = as_learner(self.estimator_, self.classes_).logits(X)
        offsets = 0.0 if self.offsets is None else np.asarray(self.offsets)
        return np.asarray(softmax(self.scale * logits + offsets, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest rescaled probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class DecidingClassifier(_Around):
    """Answers with the class of largest worth, where that is not always the likeliest one; probabilities stay.

    ``worth``: what it is worth to answer class ``j`` (column) where class ``i`` (row) is true: minus a cost, or a
    weight of each class on the diagonal, which is a threshold.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> wary = DecidingClassifier.of(model, np.diag([1.0, 4.0]))
    >>> model.predict([[1.2]]).tolist(), wary.predict([[1.2]]).tolist()
    ([0], [1])
    """

    def __init__(self, estimator: Any = None, worth: Any = None) -> None:
        self.estimator = estimator
        self.worth = worth

    @classmethod
    def of(cls, model: Any, worth: NDArray[np.float64]) -> DecidingClassifier:
        """Around a trained classifier."""
        return cls(model, np.asarray(worth, dtype=np.float64))._wrapped(model)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classifier inside."""
        return np.asarray(softmax(as_learner(self.estimator_, self.classes_).logits(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest worth."""
        return np.asarray(self.classes_[self.decide(self.predict_proba(X))])

    def decide(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the class of largest worth, for class probabilities."""
        worth = np.eye(shares.shape[1]) if self.worth is None else np.asarray(self.worth)
        return np.asarray((shares @ worth).argmax(axis=1))

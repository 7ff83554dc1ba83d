"""Several trained models as one: the mean of what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from gradapt.learners.learner import Learner
from gradapt.learners.scikit import columns_of_all

__all__ = ["AveragedClassifier", "AveragedLearner"]


@dataclass(frozen=True, eq=False)
class AveragedLearner:
    """Class probabilities of several trained learners, averaged. Training makes one model of it, like the first.

    Attributes
    ----------
    members : tuple of Learner
        All with the same classes.
    shares : tuple of float
        Of the members, with sum 1.
    """

    members: tuple[Learner, ...]
    shares: tuple[float, ...]

    @property
    def classes(self) -> NDArray[Any]:
        return self.members[0].classes

    @property
    def estimator(self) -> Any:
        """The members' own classifiers in an `AveragedClassifier`."""
        return AveragedClassifier.of([member.estimator for member in self.members], self.shares, self.classes)

    @property
    def takes_weights(self) -> bool:
        return self.members[0].takes_weights

    def fit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Learner:
        return self.members[0].fit(samples, labels, weights)

    def refit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Learner:
        return self.members[0].refit(samples, labels, weights)

    def logits(self, samples: Any) -> NDArray[np.float64]:
        """Logarithms of the mean probabilities."""
        said = np.stack([log_softmax(member.logits(samples), axis=1) for member in self.members])
        return np.asarray(logsumexp(said, axis=0, b=np.reshape(self.shares, (-1, 1, 1))))

    def place(self, samples: Any) -> Any:
        return self.members[0].place(samples)

    def encode(self, samples: Any) -> Any:
        """The samples themselves: the members have no encoder in common."""
        return samples

    def head(self) -> AveragedLearner:
        return self

    def with_head(self, head: Any) -> Any:
        return head


class AveragedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The weighted mean of the class probabilities of trained classifiers.

    Parameters
    ----------
    estimators : list of classifiers
    weights : list of float, optional
        With sum 1; by default all count the same.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> sure, unsure = LogisticRegression(C=100.0).fit(X, y), LogisticRegression(C=0.01).fit(X, y)
    >>> both = AveragedClassifier.of([sure, unsure], [0.5, 0.5], np.array([0, 1]))
    >>> [round(float(model.predict_proba([[3.0]])[0, 1]), 2) for model in (sure, unsure, both)]
    [1.0, 0.51, 0.75]
    """

    def __init__(self, estimators: Any = None, weights: Any = None) -> None:
        self.estimators = estimators
        self.weights = weights

    @classmethod
    def of(cls, models: list[Any], weights: Any, classes: NDArray[Any]) -> AveragedClassifier:
        """Around trained classifiers."""
        return cls(models, [float(weight) for weight in weights])._wrapped(models, classes)

    def fit(self, X: Any, y: Any) -> Self:
        """Train every classifier anew; the weights stay."""
        return self._wrapped([clone(model).fit(X, y) for model in self.estimators], np.unique(y))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean probabilities, one column for each of ``classes_``."""
        said = [
            columns_of_all(np.asarray(model.predict_proba(X)), model.classes_, self.classes_)
            for model in self.estimators_
        ]
        return np.asarray(np.average(said, axis=0, weights=self.weights))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest mean probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _wrapped(self, models: list[Any], classes: NDArray[Any]) -> Self:
        self.estimators_ = models
        self.classes_ = np.asarray(classes)
        if hasattr(models[0], "n_features_in_"):
            self.n_features_in_ = models[0].n_features_in_
        return self

"""`Learner`: the one small interface between the algorithms and the models they train."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError


@runtime_checkable
class Learner(Protocol):
    """A classifier as the algorithms see it. Learners are values: training returns a new one.

    Labels are numbers ``0 .. K-1`` that index ``classes``, or a matrix of shape (n, K)
    with the share of each class (soft labels).
    """

    @property
    def classes(self) -> NDArray[Any]:
        """All classes of the problem, sorted."""
        ...

    @property
    def estimator(self) -> Any:
        """The model itself, as its own library knows it."""
        ...

    @property
    def takes_weights(self) -> bool:
        """Whether training can weigh samples."""
        ...

    def fit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Learner:
        """Train from scratch."""
        ...

    def refit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Learner:
        """Train on new samples, starting from this learner where the model can."""
        ...

    def logits(self, samples: Any) -> NDArray[np.float64]:
        """Scores of shape (n, K), one column for each of ``classes``."""
        ...

    def place(self, samples: Any) -> Any:
        """The same samples where this learner reads them fastest, for several calls on them."""
        ...

    def encode(self, samples: Any) -> Any:
        """Features that the head works on; the samples themselves where there is no encoder."""
        ...

    def head(self) -> Learner:
        """The part behind the encoder, a learner on features."""
        ...

    def with_head(self, head: Any) -> Learner:
        """This learner with its head replaced."""
        ...


@runtime_checkable
class MixingLearner(Learner, Protocol):
    """A learner that can also train on mixtures of samples (mixup, Zhang et al. 2018)."""

    def fit_mixed(
        self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, alpha: float
    ) -> MixingLearner:
        """Train from scratch on mixtures of two samples and their labels, by shares from Beta(alpha, alpha)."""
        ...


def as_learner(estimator: Any, classes: NDArray[Any]) -> Learner:
    """The learner of a classifier: its own, if it brings one, or the scikit-learn adapter.

    A classifier brings its own with a method ``make_learner(classes)``.
    """
    if hasattr(estimator, "make_learner"):
        learner = estimator.make_learner(classes)
        if not isinstance(learner, Learner):
            raise InputError(
                f"{type(estimator).__name__}.make_learner must return a Learner, got {type(learner).__name__}"
            )
        return learner
    from driftfit.models.scikit import ScikitLearner, check_classifier

    check_classifier(estimator)
    return ScikitLearner(estimator, classes)

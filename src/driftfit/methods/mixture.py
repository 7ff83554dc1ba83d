"""`Mixture`: the weighted mean of what several ways to learn say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline

from driftfit.domains import DomainSequence
from driftfit.errors import InputError, SolverError
from driftfit.methods.method import Adaptation, Method, OnStep
from driftfit.methods.plans import Workspace
from driftfit.models import Learner, as_learner
from driftfit.models.scikit import ScikitLearner, fit_weighted


@dataclass(frozen=True)
class Mixture(Method):
    """Several ways to learn, and the mean of their class probabilities.

    A way that cannot run is left out.

    ``weights``: what each counts for.
    """

    ways: tuple[Method, ...]
    weights: tuple[float, ...]
    learns_from_history = True

    @property
    def inner(self) -> tuple[Method, ...]:
        return self.ways

    @property
    def needs_order(self) -> bool:
        return any(way.needs_order for way in self.ways)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        if not isinstance(learner, ScikitLearner):
            raise InputError(f"{type(learner.estimator).__name__} is no scikit-learn classifier: it cannot be mixed")
        members, weights, refused = [], [], ""
        for way, weight in zip(self.ways, self.weights, strict=True):
            try:
                members.append(way.adapt(learner, sequence, None, workspace).learner.estimator)
                weights.append(weight)
            except (InputError, SolverError) as error:
                refused = str(error)
        if not members:
            raise InputError(refused or "a mixture needs a way to learn")
        mixed = MixedClassifier.of(members, np.array(weights), learner.classes)
        return Adaptation(as_learner(Pipeline([("model", mixed)]), learner.classes))


class MixedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The weighted mean of the class probabilities of several trained classifiers."""

    def __init__(self, estimators: Any = (), weights: Any = ()) -> None:
        self.estimators = estimators
        self.weights = weights

    @classmethod
    def of(cls, members: Sequence[Any], weights: NDArray[np.float64], classes: NDArray[Any]) -> MixedClassifier:
        """Of classifiers that are trained; ``classes`` are all that there are."""
        own = cls(list(members), weights / weights.sum())
        return own._holding(list(members), classes)

    @property
    def members(self) -> list[Any]:
        """The trained classifiers."""
        return getattr(self, "estimators_", [])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train every classifier anew, all on the same rows; what each counts for stays."""
        members = [fit_weighted(clone(own), X, y, sample_weight) for own in self.estimators]
        return self._holding(members, np.unique(y))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean probabilities, one column for each of ``classes_``."""
        parts = [softmax(as_learner(own, self.classes_).logits(X), axis=1) for own in self.members]
        return np.asarray(np.tensordot(np.asarray(self.weights), parts, 1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest mean probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _holding(self, members: list[Any], classes: NDArray[Any]) -> Self:
        self.estimators_, self.classes_ = members, np.asarray(classes)
        return self

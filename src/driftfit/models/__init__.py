"""One small interface over scikit-learn classifiers and other models."""

from driftfit.models.learner import Learner, MixingLearner, as_learner
from driftfit.models.scikit import ScikitLearner

__all__ = [
    "Learner",
    "as_learner",
]

"""One small interface over scikit-learn classifiers and other models."""

from driftfit.learners.learner import Learner, MixingLearner, as_learner
from driftfit.learners.scikit import ScikitLearner

__all__ = ["Learner", "MixingLearner", "ScikitLearner", "as_learner"]

"""The algorithms as scikit-learn classifiers."""

from gradapt.estimators.goat import GOATClassifier
from gradapt.estimators.self_training import DirectSelfTraining, GradualSelfTrainingClassifier

__all__ = ["DirectSelfTraining", "GOATClassifier", "GradualSelfTrainingClassifier"]

"""The algorithms as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

from gradapt.estimators.goat import GOATClassifier
from gradapt.estimators.self_training import DirectSelfTraining, GradualSelfTrainingClassifier

# These need torch, which may be missing.
_RIVALS = ("CoViClassifier", "DANNClassifier", "DeepCoralClassifier", "DeepJDOTClassifier")

__all__ = ["DirectSelfTraining", "GOATClassifier", "GradualSelfTrainingClassifier", *_RIVALS]


def __getattr__(name: str) -> Any:
    if name not in _RIVALS:
        raise AttributeError(f"module 'gradapt.estimators' has no attribute {name!r}")
    from gradapt.estimators import baselines

    return getattr(baselines, name)

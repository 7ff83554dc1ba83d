"""The algorithms as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

from gradapt.estimators.base import AdaptedClassifier
from gradapt.estimators.goat import GOATClassifier
from gradapt.estimators.self_training import (
    CarriedLabelsClassifier,
    DirectSelfTrainingClassifier,
    GradualSelfTrainingClassifier,
)

# These need torch, which may be missing.
_BASELINES = ("CoViClassifier", "DANNClassifier", "DeepCoralClassifier", "DeepJDOTClassifier")

__all__ = [
    "AdaptedClassifier",
    "CarriedLabelsClassifier",
    "DirectSelfTrainingClassifier",
    "GOATClassifier",
    "GradualSelfTrainingClassifier",
    *_BASELINES,
]


def __getattr__(name: str) -> Any:
    if name not in _BASELINES:
        raise AttributeError(f"module 'gradapt.estimators' has no attribute {name!r}")
    from gradapt.estimators import baselines

    return getattr(baselines, name)

"""The algorithms as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.estimators.path_classifiers import (
    AutoAdaptedClassifier,
    CarriedLabelsClassifier,
    DirectSelfTrainingClassifier,
    GOATClassifier,
    GradualSelfTrainingClassifier,
)
from driftfit.extras import need

# These need torch, which may be missing.
_BASELINES = ("CoViClassifier", "DANNClassifier", "DeepCoralClassifier", "DeepJDOTClassifier")

__all__ = [
    "AdaptedClassifier",
    "AutoAdaptedClassifier",
    "CarriedLabelsClassifier",
    "DirectSelfTrainingClassifier",
    "GOATClassifier",
    "GradualSelfTrainingClassifier",
    *_BASELINES,
]


def __getattr__(name: str) -> Any:
    if name not in _BASELINES:
        raise AttributeError(f"module 'driftfit.estimators' has no attribute {name!r}")
    need("torch", "torch", name)
    from driftfit.estimators import baseline_classifiers

    return getattr(baseline_classifiers, name)

"""Gradual domain adaptation along the Wasserstein geodesic.

The estimators follow scikit-learn; the parts are in `gradapt.transport`,
`gradapt.domains`, `gradapt.methods` and `gradapt.trust`. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AdaptedClassifier": "gradapt.estimators",
    "CarriedLabelsClassifier": "gradapt.estimators",
    "CoViClassifier": "gradapt.estimators.baselines",
    "DANNClassifier": "gradapt.estimators.baselines",
    "DeepCoralClassifier": "gradapt.estimators.baselines",
    "DeepJDOTClassifier": "gradapt.estimators.baselines",
    "DirectSelfTrainingClassifier": "gradapt.estimators",
    "Domain": "gradapt.domains",
    "DomainSequence": "gradapt.domains",
    "GOATClassifier": "gradapt.estimators",
    "GradualSelfTrainingClassifier": "gradapt.estimators",
    "TorchClassifier": "gradapt.learners.torch_classifier",
    "interpolate": "gradapt.transport",
    "transport": "gradapt.transport",
    "wasserstein": "gradapt.transport",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gradapt' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)

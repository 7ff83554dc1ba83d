"""Gradual domain adaptation along the Wasserstein geodesic.

The estimators follow scikit-learn; the parts are in `gradapt.transport`,
`gradapt.domains`, `gradapt.methods` and `gradapt.trust`. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gradapt.extras import has, need

__version__ = "0.1.0"

_HOMES = {
    "AdaptedClassifier": "gradapt.estimators",
    "AutoAdaptedClassifier": "gradapt.estimators",
    "CarriedLabelsClassifier": "gradapt.estimators",
    "DirectSelfTrainingClassifier": "gradapt.estimators",
    "Domain": "gradapt.domains",
    "DomainSequence": "gradapt.domains",
    "GOATClassifier": "gradapt.estimators",
    "GradualSelfTrainingClassifier": "gradapt.estimators",
    "interpolate": "gradapt.transport",
    "wasserstein": "gradapt.transport",
}
_HOMES_WITH_TORCH = {
    "CoViClassifier": "gradapt.estimators.baseline_classifiers",
    "DANNClassifier": "gradapt.estimators.baseline_classifiers",
    "DeepCoralClassifier": "gradapt.estimators.baseline_classifiers",
    "DeepJDOTClassifier": "gradapt.estimators.baseline_classifiers",
    "TorchClassifier": "gradapt.learners.torch_classifier",
}

# Names that cannot be loaded are not listed, so that `help` and `import *` work without torch.
__all__ = ["__version__", *_HOMES, *(_HOMES_WITH_TORCH if has("torch") else ())]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None and name in _HOMES_WITH_TORCH:
        need("torch", "torch", name)
        home = _HOMES_WITH_TORCH[name]
    if home is None:
        raise AttributeError(f"module 'gradapt' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)

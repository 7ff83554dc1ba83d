"""Classifiers that stay right while the world drifts.

`adapt`, `backtest` and `load` work on tables; the estimators follow scikit-learn; the parts are in
`driftfit.transport`, `driftfit.domains`, `driftfit.methods` and `driftfit.selection`. Names are loaded when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from driftfit.extras import has, need

__version__ = "0.1.0"

_HOMES = {
    "AdaptedClassifier": "driftfit.estimators",
    "AutoAdaptedClassifier": "driftfit.estimators",
    "CarriedLabelsClassifier": "driftfit.estimators",
    "DirectSelfTrainingClassifier": "driftfit.estimators",
    "Domain": "driftfit.domains",
    "DomainSequence": "driftfit.domains",
    "GOATClassifier": "driftfit.estimators",
    "GradualSelfTrainingClassifier": "driftfit.estimators",
    "interpolate": "driftfit.transport",
    "wasserstein": "driftfit.transport",
}
_HOMES_WITH_TABLES = {name: "driftfit.app.verbs" for name in ("adapt", "backtest", "load")}
_HOMES_WITH_TORCH = {
    "CoViClassifier": "driftfit.estimators.baseline_classifiers",
    "DANNClassifier": "driftfit.estimators.baseline_classifiers",
    "DeepCoralClassifier": "driftfit.estimators.baseline_classifiers",
    "DeepJDOTClassifier": "driftfit.estimators.baseline_classifiers",
    "TorchClassifier": "driftfit.models.torch.classifier",
}

# Names that cannot be loaded are not listed, so that `help` and `import *` work without extras.
__all__ = [
    "__version__",
    *_HOMES,
    *(_HOMES_WITH_TABLES if has("pandas") else ()),
    *(_HOMES_WITH_TORCH if has("torch") else ()),
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name, _HOMES_WITH_TABLES.get(name))
    if home is None and name in _HOMES_WITH_TORCH:
        need("torch", "torch", name)
        home = _HOMES_WITH_TORCH[name]
    if home is None:
        raise AttributeError(f"module 'driftfit' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)

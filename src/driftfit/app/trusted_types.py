"""Skops files whose types are all on a short list; nothing is ever unpickled."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from driftfit.app.models import is_network
from driftfit.errors import InputError, one_line

__all__ = ["check_storable", "load_skops", "loaded_skops", "unknown_types"]

# What the classifiers and transformers offered here are made of, beyond what skops trusts by itself.
_TRUSTED = frozenset(
    {
        "driftfit.methods.feature_maps.AffineMap",
        "driftfit.methods.feature_maps.RankMap",
        "driftfit.methods.recent_scale.RecentMap",
        "driftfit.methods.rescaled_classifier.RescaledClassifier",
        "driftfit.app.encoder.MLPEncoder",
        "numpy.dtype",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
    }
)


def check_storable(model: Any) -> None:
    """Raise unless a model is made of types that can be stored and loaded safely.

    Asked before a long run rather than after it, of a copy trained on a few made-up rows.
    """
    if is_network(model):
        return
    import skops.io

    try:
        unknown = unknown_types(skops.io.dumps(_tried(model)))
    except Exception as error:
        raise InputError(f"{type(model).__name__} cannot be stored without pickle ({error})") from None
    if unknown:
        raise InputError(
            f"a model with parts of type {unknown[0]} cannot be stored safely; build it from scikit-learn's own "
            "classifiers, or use driftfit's TorchClassifier"
        )


def _tried(model: Any) -> Any:
    from sklearn.base import clone

    samples = np.random.default_rng(0).normal(size=(60, 4))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(model).fit(samples, (samples[:, 0] > 0).astype(int))
    except Exception:  # a classifier that cannot live on so little is looked at as it is
        return model


def load_skops(path: Path) -> Any:
    """Read a skops file whose types are all known."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    return loaded_skops(data, str(path))


def loaded_skops(data: bytes, who: str) -> Any:
    """What the bytes of a skops file hold, if its types are all known; ``who`` names it in messages."""
    import skops.io

    try:
        _check_stored(data)
        unknown = unknown_types(data)
    except Exception as error:
        raise InputError(f"{who!r} is not a skops file ({one_line(error)})") from None
    if unknown:
        raise InputError(
            f"{who!r} asks for the type {one_line(unknown[0])}, which is not on the list of trusted types; "
            "it was not loaded"
        )
    try:
        return skops.io.loads(data, trusted=sorted(_TRUSTED))
    except Exception as error:
        raise InputError(f"{who!r} cannot be loaded ({one_line(error)})") from None


def _check_stored(data: bytes) -> None:
    """Our archives are not packed: one that is may grow beyond all memory."""
    with ZipFile(io.BytesIO(data)) as archive:
        packed = [file.filename for file in archive.infolist() if file.compress_type != ZIP_STORED]
    if packed:
        raise ValueError(f"{packed[0]!r} in it is packed, which driftfit never does")


def unknown_types(data: bytes) -> list[str]:
    """Types in a skops file that are not trusted."""
    import skops.io

    return sorted(set(skops.io.get_untrusted_types(data=data)) - _TRUSTED)

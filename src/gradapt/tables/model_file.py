"""Models on disk: skops, or safetensors and JSON for networks; nothing is ever unpickled.

A manifest holds the SHA-256 of every file: a file that was cut short or changed is refused. Types come from a
short list: a file that asks for any other is refused before anything of it is built.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from gradapt.errors import InputError
from gradapt.files import write_json
from gradapt.tables.columns import ColumnPlan
from gradapt.tables.models import is_network
from gradapt.tables.predictor import Predictor
from gradapt.tables.read import hash_file

__all__ = ["check_storable", "load_predictor", "read_manifest", "save_predictor", "write_manifest"]

MANIFEST = "manifest.json"
_COLUMNS, _PIPELINE, _NETWORK = "columns.json", "model.skops", "network"
_FORMAT = 1

# What the classifiers and transformers offered here are made of, beyond what skops trusts by itself.
_TRUSTED = frozenset(
    {
        "gradapt.tables.encoder.MLPEncoder",
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
        unknown = _unknown(skops.io.dumps(_tried(model)))
    except Exception as error:
        raise InputError(f"{type(model).__name__} cannot be stored without pickle ({error})") from None
    if unknown:
        raise InputError(
            f"a model with parts of type {unknown[0]} cannot be stored safely; build it from scikit-learn's own "
            "classifiers, or use gradapt's TorchClassifier"
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


def save_predictor(predictor: Predictor, folder: Path) -> list[Path]:
    """Write a predictor into a folder; returns the files."""
    import skops.io
    from sklearn.pipeline import Pipeline

    about = {
        "format": _FORMAT,
        "boolean": predictor.boolean,
        "network": is_network(predictor.model),
        "columns": [plan.to_dict() for plan in predictor.plans],
    }
    write_json(folder / _COLUMNS, about)
    files = [folder / _COLUMNS, folder / _PIPELINE]
    steps = [("columns", predictor.preprocessing)]
    if is_network(predictor.model):
        from gradapt.learners.torch_files import save_classifier

        save_classifier(predictor.model, folder / _NETWORK)
        files += [folder / f"{_NETWORK}.json", folder / f"{_NETWORK}.safetensors"]
    else:
        steps += predictor.model.steps
    data = skops.io.dumps(Pipeline(steps))
    unknown = _unknown(data)
    if unknown:
        raise InputError(f"a trained model with parts of type {unknown[0]} cannot be stored safely")
    (folder / _PIPELINE).write_bytes(data)
    return files


def load_predictor(folder: Path) -> Predictor:
    """Read what `save_predictor` wrote, after checking every hash and every type."""
    read_manifest(folder)
    about = json.loads((folder / _COLUMNS).read_text(encoding="utf-8"))
    if about.get("format") != _FORMAT:
        raise InputError(f"{str(folder)!r} was written in format {about.get('format')!r}; this version reads {_FORMAT}")
    pipeline = load_skops(folder / _PIPELINE)
    preprocessing = pipeline.steps[0][1]
    plans = tuple(ColumnPlan.from_dict(column) for column in about["columns"])
    if about["network"]:
        from gradapt.learners.torch_files import load_classifier

        return Predictor(plans, preprocessing, load_classifier(folder / _NETWORK), about["boolean"])
    from sklearn.pipeline import Pipeline

    return Predictor(plans, preprocessing, Pipeline(pipeline.steps[1:]), about["boolean"])


def load_skops(path: Path) -> Any:
    """Read a skops file whose types are all known."""
    import skops.io

    try:
        data = path.read_bytes()
        unknown = _unknown(data)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    except Exception as error:
        raise InputError(f"{str(path)!r} is not a skops file ({type(error).__name__}: {error})") from None
    if unknown:
        raise InputError(
            f"{str(path)!r} asks for the type {unknown[0]}, which is not on the list of trusted types; "
            "it was not loaded"
        )
    try:
        return skops.io.loads(data, trusted=sorted(_TRUSTED))
    except Exception as error:
        raise InputError(f"{str(path)!r} cannot be loaded ({type(error).__name__}: {error})") from None


def write_manifest(folder: Path, files: list[Path]) -> None:
    """Write the hashes of the files that a run rests on."""
    write_json(folder / MANIFEST, {"format": _FORMAT, "sha256": {file.name: hash_file(file) for file in files}})


def read_manifest(folder: Path) -> dict[str, str]:
    """The hashes of a run's files, each checked against the file as it is now."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}; gradapt adapt -o writes one")
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        hashes = {str(name): str(digest) for name, digest in manifest["sha256"].items()}
    except FileNotFoundError:
        raise InputError(f"{str(folder)!r} has no {MANIFEST}; it is not a folder that gradapt adapt wrote") from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(f"the {MANIFEST} of {str(folder)!r} is damaged ({error}); run adapt again") from None
    for needed in (_COLUMNS, _PIPELINE, "result.json"):
        if needed not in hashes:
            raise InputError(f"the {MANIFEST} of {str(folder)!r} does not name {needed}; run adapt again")
    for name, digest in hashes.items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise InputError(f"{str(path)!r} is missing; run adapt again")
        if hash_file(path) != digest:
            raise InputError(f"{str(path)!r} was changed or cut short after it was written; run adapt again")
    return hashes


def _unknown(data: bytes) -> list[str]:
    import skops.io

    return sorted(set(skops.io.get_untrusted_types(data=data)) - _TRUSTED)

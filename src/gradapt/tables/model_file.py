"""Models on disk: skops, or safetensors and JSON for networks; nothing is ever unpickled.

Types come from a short list: a file that asks for any other is refused before anything of it is built. What was
built is checked before anything is asked of it, since compiled code trusts the numbers in it (`native_checks`).
"""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import pandas as pd

from gradapt.errors import InputError, one_line
from gradapt.files import write_bytes, write_json
from gradapt.learners import as_learner
from gradapt.tables.columns import ColumnPlan, Kind, conform
from gradapt.tables.gaps import find_gaps
from gradapt.tables.manifest import FORMAT, open_run
from gradapt.tables.models import is_network
from gradapt.tables.native_checks import check_pipeline
from gradapt.tables.predictor import Predictor
from gradapt.tables.preprocess import as_matrix
from gradapt.tables.skops_bytes import repeatable

__all__ = ["check_storable", "load_predictor", "read_json", "save_predictor"]

_COLUMNS, _PIPELINE, _NETWORK = "columns.json", "model.skops", "network"

_EXAMPLES = {Kind.NUMBER: 0.0, Kind.BOOLEAN: True, Kind.DATE: "2000-01-01", Kind.DROPPED: None} | dict.fromkeys(
    (Kind.CATEGORY, Kind.MANY_CATEGORIES), "missing"
)
# What the classifiers and transformers offered here are made of, beyond what skops trusts by itself.
_TRUSTED = frozenset(
    {
        "gradapt.methods.feature_maps.AffineMap",
        "gradapt.methods.feature_maps.RankMap",
        "gradapt.methods.rescaled_classifier.RescaledClassifier",
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
        "format": FORMAT,
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
    data = repeatable(skops.io.dumps(Pipeline(steps)))
    unknown = _unknown(data)
    if unknown:
        raise InputError(f"a trained model with parts of type {unknown[0]} cannot be stored safely")
    write_bytes(folder / _PIPELINE, data)
    return files


def load_predictor(folder: Path) -> Predictor:
    """Read what `save_predictor` wrote, after checking every hash, every type and every native part."""
    open_run(folder)
    about = read_json(folder / _COLUMNS)
    if about.get("format") != FORMAT:
        found = one_line(about.get("format"), 40)
        raise InputError(f"{str(folder)!r} was written in format {found!r}; this version reads {FORMAT}")
    try:
        plans = tuple(ColumnPlan.from_dict(column) for column in about["columns"])
        network, boolean = bool(about["network"]), bool(about["boolean"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{str(folder / _COLUMNS)!r} is damaged ({one_line(error)}); run adapt again") from None
    preprocessing, model = _loaded(folder, network)
    names = [name for plan in plans for name in plan.outputs]
    if list(getattr(preprocessing, "feature_names_in_", ())) != names:
        raise InputError(f"{str(folder / _COLUMNS)!r} and the model name different columns; run adapt again")
    predictor = Predictor(plans, preprocessing, model, boolean)
    try:
        _try_out(predictor)
    except Exception as error:
        raise InputError(f"the model in {str(folder)!r} does not work ({one_line(error)}); run adapt again") from None
    return predictor


def _try_out(predictor: Predictor) -> None:
    """Predict two made-up rows, one of them empty: parts that do not fit, and numbers that are none, show there."""
    frame = pd.DataFrame({plan.column: [_EXAMPLES[plan.kind], None] for plan in predictor.plans}, dtype=object)
    n_classes = len(predictor.model.classes_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conformed = conform(frame, predictor.plans)
        find_gaps(frame, conformed, predictor.plans, predictor.preprocessing)
        # One by one: shapes that fit two rows by chance do not fit one.
        rows = [as_matrix(predictor.preprocessing, conformed.iloc[[place]]) for place in range(len(conformed))]
        scores = as_learner(predictor.model, np.asarray(predictor.model.classes_)).logits(np.concatenate(rows))
    if scores.shape != (len(frame), n_classes) or np.isnan(scores).any():
        raise InputError(f"it gives {scores.ravel()[:5]} for {n_classes} classes")


def _loaded(folder: Path, network: bool) -> tuple[Any, Any]:
    """Preprocessing and model, fit for each other."""
    from sklearn.pipeline import Pipeline

    pipeline = load_skops(folder / _PIPELINE)
    try:
        check_pipeline(pipeline, with_model=not network)
    except InputError as error:
        raise InputError(
            f"{str(folder / _PIPELINE)!r} holds a damaged model ({one_line(str(error))}); it was not loaded"
        ) from None
    preprocessing = pipeline.steps[0][1]
    if not network:
        return preprocessing, Pipeline(pipeline.steps[1:])
    from gradapt.learners.torch_files import load_classifier

    return preprocessing, load_classifier(folder / _NETWORK)


def read_json(path: Path) -> dict[str, Any]:
    """An object in a JSON file; everything else is one clear line."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is damaged ({one_line(error)}); run adapt again") from None
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} is damaged (a {type(content).__name__}, no object); run adapt again")
    return content


def load_skops(path: Path) -> Any:
    """Read a skops file whose types are all known."""
    import skops.io

    try:
        data = path.read_bytes()
        _check_stored(data)
        unknown = _unknown(data)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    except Exception as error:
        raise InputError(f"{str(path)!r} is not a skops file ({one_line(error)})") from None
    if unknown:
        raise InputError(
            f"{str(path)!r} asks for the type {one_line(unknown[0])}, which is not on the list of trusted types; "
            "it was not loaded"
        )
    try:
        return skops.io.loads(data, trusted=sorted(_TRUSTED))
    except Exception as error:
        raise InputError(f"{str(path)!r} cannot be loaded ({one_line(error)})") from None


def _check_stored(data: bytes) -> None:
    """Our archives are not packed: one that is may grow beyond all memory."""
    with ZipFile(io.BytesIO(data)) as archive:
        packed = [file.filename for file in archive.infolist() if file.compress_type != ZIP_STORED]
    if packed:
        raise ValueError(f"{packed[0]!r} in it is packed, which gradapt never does")


def _unknown(data: bytes) -> list[str]:
    import skops.io

    return sorted(set(skops.io.get_untrusted_types(data=data)) - _TRUSTED)

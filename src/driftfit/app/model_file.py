"""Models on disk: skops, or safetensors and JSON for networks; nothing is ever unpickled.

Types come from a short list: a file that asks for any other is refused before anything of it is built. What was
built is checked before anything is asked of it, since compiled code trusts the numbers in it.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from driftfit.app.columns import ColumnPlan, Kind, conform
from driftfit.app.features import as_matrix
from driftfit.app.models import is_network
from driftfit.app.own_model import COLUMN, OwnModel, own_model, predictions_in
from driftfit.app.predictor import Predictor, find_gaps
from driftfit.app.skops_files import check_parts, load_skops, repeatable, unknown_types
from driftfit.errors import InputError, one_line
from driftfit.files import write_bytes, write_json
from driftfit.models import as_learner
from driftfit.selection import PredictionSets

FORMAT = 1
_COLUMNS, _PIPELINE, _NETWORK, _OWN = "columns.json", "model.skops", "network", "own_model"

_EXAMPLES = {Kind.NUMBER: 0.0, Kind.BOOLEAN: True, Kind.DATE: "2000-01-01", Kind.DROPPED: None} | dict.fromkeys(
    (Kind.CATEGORY, Kind.MANY_CATEGORIES, Kind.TEXT), "missing"
)


def save_predictor(predictor: Predictor, folder: Path) -> list[Path]:
    """Write a predictor into a folder; returns the files."""
    import skops.io
    from sklearn.pipeline import Pipeline

    about: dict[str, Any] = {
        "format": FORMAT,
        "boolean": predictor.boolean,
        "network": is_network(predictor.model),
        "columns": [plan.to_dict() for plan in predictor.plans],
    }
    if predictor.sets is not None:
        about["sets"] = {"coverage": predictor.sets.coverage, "threshold": predictor.sets.threshold}
    files = [folder / _COLUMNS, folder / _PIPELINE]
    if predictor.own is not None:
        about["own"] = {"kind": predictor.own.kind, "word": predictor.own.word}
        if predictor.own.data:
            # The model in use is handed back as it came, byte for byte.
            files.append(folder / f"{_OWN}.{predictor.own.kind}")
            write_bytes(files[-1], predictor.own.data)
    write_json(folder / _COLUMNS, about)
    steps = [("columns", predictor.preprocessing)]
    if is_network(predictor.model):
        from driftfit.models.torch.files import save_classifier

        save_classifier(predictor.model, folder / _NETWORK)
        files += [folder / f"{_NETWORK}.json", folder / f"{_NETWORK}.safetensors"]
    else:
        steps += predictor.model.steps
    data = repeatable(skops.io.dumps(Pipeline(steps)))
    unknown = unknown_types(data)
    if unknown:
        raise InputError(f"a trained model with parts of type {unknown[0]} cannot be stored safely")
    write_bytes(folder / _PIPELINE, data)
    return files


def load_predictor(folder: Path, own: OwnModel | None = None) -> Predictor:
    """Read what `save_predictor` wrote, after checking every type and every native part."""
    about = read_json(folder / _COLUMNS)
    if about.get("format") != FORMAT:
        found = one_line(about.get("format"), 40)
        raise InputError(f"{str(folder)!r} was written in format {found!r}; this version reads {FORMAT}")
    try:
        plans = tuple(ColumnPlan.from_dict(column) for column in about["columns"])
        network, boolean = bool(about["network"]), bool(about["boolean"])
        kept = (str(about["own"]["kind"]), str(about["own"]["word"])) if about.get("own") else None
        asked = about.get("sets")
        sets = PredictionSets(float(asked["coverage"]), float(asked["threshold"])) if asked else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{str(folder / _COLUMNS)!r} is damaged ({one_line(error)}); run adapt again") from None
    preprocessing, model = _loaded(folder, network)
    names = [name for plan in plans for name in plan.outputs]
    if list(getattr(preprocessing, "feature_names_in_", ())) != names:
        raise InputError(f"{str(folder / _COLUMNS)!r} and the model name different columns; run adapt again")
    predictor = Predictor(plans, preprocessing, model, boolean, sets=sets)
    try:
        _try_out(predictor)
    except Exception as error:
        raise InputError(f"the model in {str(folder)!r} does not work ({one_line(error)}); run adapt again") from None
    return predictor if kept is None else replace(predictor, own=_own(folder, *kept, own))


def _own(folder: Path, kind: str, word: str, given: OwnModel | None) -> OwnModel:
    """The model in use that a run kept."""
    if kind == COLUMN:
        return predictions_in(word)
    if kind in ("onnx", "skops"):
        path = folder / f"{_OWN}.{kind}"
        return own_model(str(path))
    if given is None:
        raise InputError(
            f"the run kept the model in use, {word!r}, which is Python code and not stored with the run; ask it "
            f"yourself, or add --old-model {word} (old_model= in Python)"
        )
    return given


def _try_out(predictor: Predictor) -> None:
    """Predict two made-up rows, one of them empty: parts that do not fit, and numbers that are none, show there."""
    frame = pd.DataFrame({plan.column: [_example(plan), None] for plan in predictor.plans}, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conformed = conform(frame, predictor.plans)
        find_gaps(frame, conformed, predictor.plans, predictor.preprocessing)
        # One by one: shapes that fit two rows by chance do not fit one.
        rows = [as_matrix(predictor.preprocessing, conformed.iloc[[place]]) for place in range(len(conformed))]
        scores = as_learner(predictor.model, np.asarray(predictor.model.classes_)).logits(np.concatenate(rows))
    n_classes = len(predictor.model.classes_)
    if scores.shape != (len(frame), n_classes) or np.isnan(scores).any():
        raise InputError(f"it gives {scores.ravel()[:5]} for {n_classes} classes")


def _example(plan: ColumnPlan) -> Any:
    if plan.kind is Kind.NUMBERS:
        return [0.0] * plan.length
    # A form is an example of itself.
    return plan.form if plan.form and plan.kind is Kind.NUMBER else _EXAMPLES[plan.kind]


def _loaded(folder: Path, network: bool) -> tuple[Any, Any]:
    """Preprocessing and model, fit for each other."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    pipeline = load_skops(folder / _PIPELINE)
    try:
        if type(pipeline) is not Pipeline or type(pipeline.steps) is not list:
            raise InputError(f"a pipeline is expected, found {type(pipeline).__name__}")
        if len(pipeline.steps) < 2 - network or not isinstance(pipeline.steps[0][1], ColumnTransformer):
            raise InputError("the pipeline lacks its preprocessing or its model")
        check_parts(pipeline)
    except (InputError, TypeError, IndexError) as error:
        raise InputError(
            f"{str(folder / _PIPELINE)!r} holds a damaged model ({one_line(str(error))}); it was not loaded"
        ) from None
    preprocessing = pipeline.steps[0][1]
    if not network:
        return preprocessing, Pipeline(pipeline.steps[1:])
    from driftfit.models.torch.files import load_classifier

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

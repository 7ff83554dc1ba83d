"""The kept model for other programs: a scikit-learn pipeline in skops, or ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import Kind, conform
from driftfit.app.models import is_network
from driftfit.app.predictor import Predictor
from driftfit.app.skops_bytes import repeatable
from driftfit.errors import InputError
from driftfit.extras import need

__all__ = ["onnx_inputs", "to_onnx", "to_skops"]


def to_skops(predictor: Predictor) -> bytes:
    """Preprocessing and classifier as one scikit-learn pipeline, in skops format.

    The pipeline takes the frame that `driftfit.app.columns.conform` makes: float columns and text columns.
    """
    import skops.io

    return repeatable(skops.io.dumps(_pipeline(predictor)))


def to_onnx(predictor: Predictor) -> bytes:
    """The pipeline as an ONNX model with one input per column and the outputs ``label`` and ``probabilities``.

    Numbers and booleans are float64 inputs of shape (n, 1), categories are text inputs. Raises where a part of the
    pipeline has no ONNX counterpart.
    """
    need("skl2onnx", "export", "ONNX")
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator
    from sklearn.impute import SimpleImputer

    unsupported = {Kind.DATE: "dates", Kind.MANY_CATEGORIES: "categories put together"}
    for plan in predictor.plans:
        if plan.kind in unsupported:
            raise InputError(
                f"column {plan.column!r} is used as {unsupported[plan.kind]}, which ONNX cannot express; "
                "leave it out or encode it in the table, or export to skops"
            )
    pipeline = _pipeline(predictor)
    inputs = [
        (plan.column, StringTensorType([None, 1]) if plan.kind is Kind.CATEGORY else DoubleTensorType([None, 1]))
        for plan in predictor.plans
        if plan.kind is not Kind.DROPPED
    ]
    options = {id(pipeline.steps[-1][1]): {"zipmap": False}}
    try:
        converted = convert_sklearn(
            pipeline,
            "driftfit",
            initial_types=inputs,
            options=options,
            custom_conversion_functions={SimpleImputer: _convert_imputer},
            custom_shape_calculators={SimpleImputer: _shape_of_imputer},
        )
    except (
        MissingConverter,
        MissingShapeCalculator,
        RuntimeError,
        NotImplementedError,
        ValueError,
        TypeError,
    ) as error:
        reason = str(error).strip().splitlines()[0][:100]
        parts = " and ".join(type(step).__name__ for _, step in pipeline.steps[1:])
        raise InputError(f"{parts} has no ONNX form here ({reason}); export to skops instead") from None
    return bytes(converted.SerializeToString())


def onnx_inputs(predictor: Predictor, frame: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """The rows of a raw table as inputs of the ONNX model.

    >>> from driftfit.app.columns import ColumnPlan
    >>> some = Predictor((ColumnPlan("x", Kind.NUMBER), ColumnPlan("city", Kind.CATEGORY)), None, None)
    >>> inputs = onnx_inputs(some, pd.DataFrame({"x": [1, None], "city": ["a", "b"]}))
    >>> inputs["x"].tolist(), inputs["city"].tolist()
    ([[1.0], [nan]], [['a'], ['b']])
    """
    conformed = conform(frame, predictor.plans)
    words = {plan.column for plan in predictor.plans if plan.kind is Kind.CATEGORY}
    return {
        str(name): conformed[name].to_numpy(object if name in words else np.float64).reshape(-1, 1)
        for name in conformed.columns
    }


def _shape_of_imputer(operator: Any) -> None:
    kind = type(operator.inputs[0].type)
    operator.outputs[0].type = kind([None, len(operator.raw_operator.statistics_)])


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    # ONNX Runtime has the imputer for float32 alone; choosing where a value is missing does the same in float64.
    from skl2onnx.algebra.onnx_ops import OnnxIsNaN, OnnxWhere

    version = container.target_opset
    values = operator.inputs[0]
    fill = np.asarray(operator.raw_operator.statistics_, dtype=np.float64)[None, :]
    filled = OnnxWhere(
        OnnxIsNaN(values, op_version=version), fill, values, op_version=version, output_names=operator.outputs
    )
    filled.add_to(scope, container)


def _pipeline(predictor: Predictor) -> Any:
    from sklearn.pipeline import Pipeline

    if predictor.own is not None:
        raise InputError(
            f"the run kept the model in use, {predictor.own.word!r}, untouched: nothing of driftfit's to export"
        )
    if is_network(predictor.model):
        raise InputError(
            "a torch classifier is not a scikit-learn pipeline; its weights are in RUN/network.safetensors and its "
            "architecture in RUN/network.json"
        )
    return Pipeline([("columns", predictor.preprocessing), *predictor.model.steps])

"""The kept model for other programs: a scikit-learn pipeline in skops, ONNX, or MLflow."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import Kind, conform
from driftfit.app.folder import load_run
from driftfit.app.models import is_network
from driftfit.app.predictor import Predictor
from driftfit.app.skops_files import repeatable
from driftfit.errors import InputError
from driftfit.extras import need
from driftfit.files import write_text


def to_skops(predictor: Predictor) -> bytes:
    """Preprocessing and classifier as one scikit-learn pipeline, in skops format.

    The pipeline takes the frame that `driftfit.app.columns.conform` makes: float columns and text columns.
    """
    import skops.io

    return repeatable(skops.io.dumps(_pipeline(predictor)))


def read_by(data: bytes, path: Path) -> str:
    """The line of Python that reads an exported pipeline; it names the types that skops does not trust by itself."""
    import skops.io

    return f"skops.io.load({str(path)!r}, trusted={skops.io.get_untrusted_types(data=data)!r})"


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

    unsupported = {
        Kind.DATE: "dates",
        Kind.MANY_CATEGORIES: "categories put together",
        Kind.TEXT: "free text",
        Kind.NUMBERS: "lists of numbers",
    }
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


# MLflow stores a model as the code that makes it, with the run's folder beside it.
_CODE = """from mlflow.models import set_model

from driftfit.app.export import served_model

set_model(served_model())
"""


def check_mlflow() -> None:
    """Raise with the remedy where MLflow is not installed."""
    need("mlflow", "mlflow", "--mlflow")


def log_run(folder: Path, uri: str, experiment: str = "driftfit") -> str:
    """Log a run that was written to a folder; returns the URI of the model.

    The model is logged as code with the folder's files beside it: no pickle.
    """
    check_mlflow()
    import mlflow

    summary = load_run(folder).summary
    try:
        mlflow.set_tracking_uri(uri)
        mlflow.set_experiment(experiment)
        with mlflow.start_run(run_name=folder.resolve().name):
            mlflow.log_params({**summary["config"], "seed": summary["seed"]})
            mlflow.log_metrics(_metrics(summary))
            mlflow.set_tags({"driftfit.verdict": summary["verdict"]["decision"], "driftfit.kept": summary["kept"]})
            for name in ("report.html", "MODEL_CARD.md", "result.json"):
                if (folder / name).is_file():
                    mlflow.log_artifact(str(folder / name))
            with tempfile.TemporaryDirectory() as place:
                code = Path(place) / "served.py"
                write_text(code, _CODE)
                logged = mlflow.pyfunc.log_model(
                    name="model",
                    python_model=str(code),
                    artifacts={"run": str(folder.resolve())},
                    pip_requirements=[f"driftfit=={summary['driftfit']}"],
                )
    except mlflow.exceptions.MlflowException as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"MLflow at {uri!r} did not take the run ({reason}); the folder is complete") from None
    return str(logged.model_uri)


def served_model() -> Any:
    """The model that MLflow serves: rows of the user's table in, ``prediction`` and ``predicted_probability`` out."""
    import pandas as pd
    from mlflow.pyfunc.model import PythonModel

    class ServedRun(PythonModel):
        def load_context(self, context: Any) -> None:
            self.predictor = load_run(Path(context.artifacts["run"])).predictor

        def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> Any:
            labels, probability = self.predictor.predict(pd.DataFrame(model_input))
            return pd.DataFrame({"prediction": labels, "predicted_probability": probability})

    return ServedRun()


def _metrics(summary: dict[str, Any]) -> dict[str, float]:
    found = {}
    for key, name in (("old", "estimated_accuracy_old"), ("new", "estimated_accuracy_new")):
        for part, suffix in (("estimate", ""), ("low", "_low"), ("high", "_high")):
            if summary["accuracy"][key][part] is not None:
                found[name + suffix] = float(summary["accuracy"][key][part])
    return found

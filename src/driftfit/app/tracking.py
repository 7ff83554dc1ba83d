"""A run in MLflow: parameters, metrics, the report and a model that `mlflow models serve` can serve."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from driftfit.app.folder import load_run
from driftfit.errors import InputError
from driftfit.extras import need
from driftfit.files import write_text

__all__ = ["check_mlflow", "log_run", "served_model"]

# MLflow stores a model as the code that makes it, with the run's folder beside it.
_CODE = """from mlflow.models import set_model

from driftfit.app.tracking import served_model

set_model(served_model())
"""


def check_mlflow() -> None:
    """Raise with the remedy where MLflow is not installed."""
    need("mlflow", "mlflow", "--mlflow")


def log_run(folder: Path, uri: str, experiment: str = "driftfit") -> str:
    """Log a run that was written to a folder; returns the URI of the model.

    The model is logged as code with the folder's files beside it: no pickle.

    Parameters
    ----------
    folder : Path
    uri : str
        Tracking store, such as ``sqlite:///mlflow.db``.
    experiment : str
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

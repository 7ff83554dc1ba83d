"""A run in MLflow: parameters, metrics, the report and a model that `mlflow models serve` can serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradapt.errors import InputError
from gradapt.runs.folder import load_run

__all__ = ["check_mlflow", "log_run"]

_SERVED = Path(__file__).with_name("served.py")


def check_mlflow() -> None:
    """Raise with the remedy where MLflow is not installed."""
    from importlib.util import find_spec

    if find_spec("mlflow") is None:
        raise InputError("--mlflow needs the extra [mlflow]: pip install 'gradapt[mlflow]'")


def log_run(folder: Path, uri: str, experiment: str = "gradapt") -> str:
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
            mlflow.set_tags({"gradapt.verdict": summary["verdict"]["decision"], "gradapt.kept": summary["kept"]})
            for name in ("report.html", "MODEL_CARD.md", "result.json"):
                if (folder / name).is_file():
                    mlflow.log_artifact(str(folder / name))
            logged = mlflow.pyfunc.log_model(
                name="model",
                python_model=str(_SERVED),
                artifacts={"run": str(folder.resolve())},
                pip_requirements=[f"gradapt=={summary['gradapt']}"],
            )
    except mlflow.exceptions.MlflowException as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"MLflow at {uri!r} did not take the run ({reason}); the folder is complete") from None
    return str(logged.model_uri)


def _metrics(summary: dict[str, Any]) -> dict[str, float]:
    found = {}
    for key, name in (("old", "estimated_accuracy_old"), ("new", "estimated_accuracy_new")):
        for part, suffix in (("estimate", ""), ("low", "_low"), ("high", "_high")):
            if summary["accuracy"][key][part] is not None:
                found[name + suffix] = float(summary["accuracy"][key][part])
    return found

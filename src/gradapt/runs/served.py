"""The model that MLflow serves, as code: MLflow runs this file and loads the run's folder beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from gradapt.runs import Predictor, load_run

__all__ = ["ServedRun"]


class ServedRun(PythonModel):
    """Takes rows of the user's table, gives ``prediction`` and ``predicted_probability``."""

    def load_context(self, context: Any) -> None:
        """Load the run, refusing files that were changed."""
        self.predictor: Predictor = load_run(Path(context.artifacts["run"])).predictor

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Predictions, one per row."""
        labels, probability = self.predictor.predict(pd.DataFrame(model_input))
        return pd.DataFrame({"prediction": labels, "predicted_probability": probability})


set_model(ServedRun())

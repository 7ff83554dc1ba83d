"""The model that a run keeps, from a raw table to predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from gradapt.learners import as_learner
from gradapt.tables.columns import ColumnPlan, Kind, conform
from gradapt.tables.preprocess import as_matrix
from gradapt.tables.read import Table

__all__ = ["Predictor"]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Columns, preprocessing and a trained classifier.

    Attributes
    ----------
    plans : tuple of ColumnPlan
    preprocessing : ColumnTransformer
    model : classifier
        Trained on preprocessed features.
    boolean : bool
        Whether classes 1 and 0 stand for true and false.
    """

    plans: tuple[ColumnPlan, ...]
    preprocessing: Any
    model: Any
    boolean: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have."""
        return [plan.column for plan in self.plans if plan.kind is not Kind.DROPPED]

    def predict(self, frame: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels and their probabilities, for a frame with the columns of the training table."""
        features = as_matrix(self.preprocessing, conform(frame, self.plans))
        classes = np.asarray(self.model.classes_)
        if hasattr(self.model, "predict_proba"):
            probabilities = np.asarray(self.model.predict_proba(features), dtype=np.float64)
        else:
            # Scores of a classifier without probabilities, brought to sum 1; they are not calibrated.
            probabilities = softmax(as_learner(self.model, classes).logits(features), axis=1)
        labels = classes[probabilities.argmax(axis=1)]
        return labels.astype(bool) if self.boolean else labels, probabilities.max(axis=1)

    def predict_table(
        self, table: Table, rows: NDArray[np.int64] | None = None, on_rows: Callable[[int], None] | None = None
    ) -> pd.DataFrame:
        """Predictions for some rows of a table, or all, a batch at a time.

        The columns are ``row, prediction, predicted_probability``.
        """
        chosen = np.arange(table.n_rows) if rows is None else rows
        absent = [name for name in self.columns if name not in table.names]
        if absent:
            conform(pd.DataFrame(columns=table.names), self.plans)
        parts = []
        done = 0
        for numbers, frame in table.batches(chosen, self.columns):
            labels, probability = self.predict(frame)
            parts.append(pd.DataFrame({"row": numbers, "prediction": labels, "predicted_probability": probability}))
            done += len(numbers)
            if on_rows is not None:
                on_rows(done)
        if not parts:
            return pd.DataFrame({"row": [], "prediction": [], "predicted_probability": []})
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

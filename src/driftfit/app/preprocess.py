"""The default preprocessing, made of scikit-learn's own transformers and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import MOST_CATEGORIES, ColumnPlan, Kind

__all__ = ["feature_owners", "make_preprocessing"]


def make_preprocessing(plans: tuple[ColumnPlan, ...], *, scale: bool = True) -> Any:
    """The ColumnTransformer of a table: impute and scale numbers, one-hot words.

    Parameters
    ----------
    plans : tuple of ColumnPlan
    scale : bool
        Bring numbers to mean 0 and variance 1; images stay as they are.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def outputs(*kinds: Kind) -> list[str]:
        return [name for plan in plans if plan.kind in kinds for name in plan.outputs]

    median = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = make_pipeline(median, StandardScaler()) if scale else median
    parts = [
        ("numbers", numbers, outputs(Kind.NUMBER)),
        ("booleans", SimpleImputer(strategy="most_frequent", keep_empty_features=True), outputs(Kind.BOOLEAN)),
        ("dates", SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True), outputs(Kind.DATE)),
        ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), outputs(Kind.CATEGORY)),
        (
            "many categories",
            OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False),
            outputs(Kind.MANY_CATEGORIES),
        ),
    ]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def feature_owners(preprocessing: Any, plans: tuple[ColumnPlan, ...]) -> list[str]:
    """For each feature behind a fitted preprocessing, the column of the table it came from."""
    owner = {name: plan.column for plan in plans for name in plan.outputs}
    owners: list[str] = []
    for _, transformer, names in preprocessing.transformers_:
        if not hasattr(transformer, "categories_"):
            owners += [owner[name] for name in names]
            continue
        for place, name in enumerate(names):
            owners += [owner[name]] * _width(transformer, place)
    return owners


def as_matrix(preprocessing: Any, frame: pd.DataFrame) -> NDArray[np.float64]:
    """A conformed frame as features."""
    return np.asarray(preprocessing.transform(frame), dtype=np.float64)


def _width(encoder: Any, place: int) -> int:
    infrequent = getattr(encoder, "infrequent_categories_", None)
    rare = None if infrequent is None else infrequent[place]
    n_values = len(encoder.categories_[place])
    return n_values if rare is None else n_values - len(rare) + 1

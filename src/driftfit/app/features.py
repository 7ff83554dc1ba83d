"""From conformed columns to features: the transformers of a table, and which column each feature comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.columns import MOST_CATEGORIES, TOPICS, ColumnPlan, Kind

_HASHES = 4096


def make_preprocessing(plans: tuple[ColumnPlan, ...], *, scale: bool = True) -> Any:
    """The ColumnTransformer of a table: impute and scale numbers, one-hot words, and pieces of text.

    Images are not scaled.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def outputs(*kinds: Kind) -> list[str]:
        return [name for plan in plans if plan.kind in kinds for name in plan.outputs]

    median = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = make_pipeline(median, StandardScaler()) if scale else median
    parts = [
        ("numbers", numbers, outputs(Kind.NUMBER, Kind.NUMBERS)),
        ("booleans", SimpleImputer(strategy="most_frequent", keep_empty_features=True), outputs(Kind.BOOLEAN)),
        ("dates", SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True), outputs(Kind.DATE)),
        ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), outputs(Kind.CATEGORY)),
        (
            "many categories",
            OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False),
            outputs(Kind.MANY_CATEGORIES),
        ),
    ]
    texts = [
        (
            f"text {name}",
            make_pipeline(
                HashingVectorizer(analyzer="char_wb", ngram_range=(3, 4), n_features=_HASHES),
                TruncatedSVD(TOPICS, random_state=0),
                StandardScaler(),
            ),
            name,  # a single column: words, not rows of words
        )
        for name in outputs(Kind.TEXT)
    ]
    return ColumnTransformer([*(part for part in parts if part[2]), *texts], verbose_feature_names_out=False)


def feature_owners(preprocessing: Any, plans: tuple[ColumnPlan, ...], *, named: bool = False) -> list[str]:
    """For each feature behind a fitted preprocessing, the column of the table it came from.

    With ``named`` the features of one column are told apart, such as ``city = Ulm``.
    """
    owner = {name: plan.column for plan in plans for name in plan.outputs}
    owners: list[str] = []
    for _, transformer, names in preprocessing.transformers_:
        if isinstance(names, str):
            n_pieces = transformer[-1].n_features_in_
            owners += [f"{names}, {place + 1}" if named else names for place in range(n_pieces)]
        elif hasattr(transformer, "categories_"):
            for place, name in enumerate(names):
                words = _words_of(transformer, place)
                owners += [f"{owner[name]} = {word}" if named else owner[name] for word in words]
        else:
            owners += [name if named else owner[name] for name in names]
    return owners


def as_matrix(preprocessing: Any, frame: pd.DataFrame) -> NDArray[np.float64]:
    """A conformed frame as features."""
    return np.asarray(preprocessing.transform(frame), dtype=np.float64)


def _words_of(encoder: Any, place: int) -> list[str]:
    """The words that have a feature of their own, and the others where they share one."""
    infrequent = getattr(encoder, "infrequent_categories_", None)
    rare = None if infrequent is None else infrequent[place]
    words = [str(word) for word in encoder.categories_[place] if rare is None or word not in rare]
    return words if rare is None else [*words, "another"]

"""Each row in units of the rows just before it: for tables whose rows follow each other in time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.learners import Learner
from driftfit.methods.adaptation import Adaptation, OnStep
from driftfit.methods.alignment import behind, dense_matrix, record_of
from driftfit.methods.feature_maps import measured_columns
from driftfit.paths import Workspace

__all__ = ["N_PARTS", "RecentMap", "RecentScale", "best_width"]

# Widths that are tried first, by a quick model; then those between the best and its neighbours.
_WIDTHS = (6, 12, 24, 48, 96)
# A source is judged in so many parts, one after the other, each of which must hold two of the widest comparisons.
N_PARTS = 5

# A value so many deviations from its recent mean is as far away as any.
_FARTHEST = 5.0
# A deviation below this part of the column's largest value is rounding.
_ROUNDING = 1e-6


class RecentMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Each measured column less the mean of the last rows, in units of their deviation; the row itself is among them.

    Rows must be given in their order: what a row becomes depends on those before it. A row without any before it
    becomes 0. Flags and codes stay as they are, and a column that never varied while fitting becomes 0.

    Parameters
    ----------
    width : int
        Number of rows, this one among them.

    Examples
    --------
    >>> levels = np.array([[1.0], [3.0], [101.0], [103.0], [101.0]]) + np.arange(5.0)[:, None] / 100
    >>> RecentMap(2).fit(np.arange(20.0)[:, None]).transform(levels).ravel().round(9).tolist()
    [0.0, 1.0, 1.0, 1.0, -1.0]
    """

    def __init__(self, width: int = 24) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take which columns are measurements."""
        if not isinstance(self.width, int | np.integer) or self.width < 2:
            raise InputError(f"width must be a whole number of rows, at least 2, got {self.width!r}")
        X = validate_data(self, X, reset=True, dtype=np.float64)
        varies = np.ptp(X, axis=0) > 0
        self.columns_ = np.flatnonzero(measured_columns(X) & varies)
        self.constant_ = np.flatnonzero(~varies)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Each row by those before it."""
        check_is_fitted(self, "columns_")
        X = validate_data(self, X, reset=False, dtype=np.float64, copy=True)
        own = X[:, self.columns_]
        centred = own - own.mean(axis=0)
        counts = np.minimum(np.arange(1, len(X) + 1), self.width)[:, None]
        mean = _last_sums(centred, self.width) / counts
        spread = np.sqrt(np.maximum(_last_sums(centred**2, self.width) / counts - mean**2, 0.0))
        known = spread > _ROUNDING * np.abs(centred).max(axis=0, initial=0.0)
        scaled = np.divide(centred - mean, spread, out=np.zeros_like(own), where=known)
        X[:, self.columns_] = np.clip(scaled, -_FARTHEST, _FARTHEST)
        X[:, self.constant_] = 0.0
        return np.asarray(X)


def _last_sums(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Sum of each row and those before it, so many of them in all."""
    sums = np.cumsum(values, axis=0)
    sums[width:] -= sums[:-width].copy()
    return sums


@dataclass(frozen=True)
class RecentScale:
    """A new model on the source, every row in units of the rows just before it; new rows are read the same way.

    Right where a label depends on how a value compares with those before it, and the level drifts: a price, a sensor.
    Whether it does can be measured on the labelled rows of the source (`driftfit.trust.diagnosis.fit_recent`). Rows of
    a domain must stand in their order, none left out.

    Parameters
    ----------
    width : int, optional
        Number of rows that a row is compared with, itself among them; by default `best_width` finds it on the source.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.learners import as_learner
    >>> rng = np.random.default_rng(0)
    >>> move, level = rng.normal(size=600), np.linspace(0.0, 50.0, 600)
    >>> x, y = (move + level)[:, None], (move > 0).astype(int)
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x[:300], y[:300])
    >>> found = RecentScale(20).adapt(learner, DomainSequence([Domain(x[:300], y[:300]), Domain(x[300:])])).learner
    >>> scores = [(own.logits(x[300:]).argmax(axis=1) == y[300:]).mean() for own in (learner, found)]
    >>> bool(scores[0] < 0.6), bool(scores[1] > 0.85)
    (True, True)
    """

    width: int | None = None
    on_matrices = True

    def trained(self, learner: Learner, samples: NDArray[np.float64], codes: NDArray[np.int64]) -> Learner:
        """A new model on rows in their order, with the map in front of it."""
        recent = RecentMap(best_width(samples, codes) if self.width is None else self.width).fit(samples)
        return behind(recent, learner.fit(recent.transform(samples), codes))

    def adapt(
        self,
        learner: Learner,
        sequence: DomainSequence,
        on_step: OnStep | None = None,
        workspace: Workspace | None = None,
    ) -> Adaptation:
        started = time.perf_counter()
        source = sequence.source
        student = self.trained(learner, dense_matrix(source), source.codes(learner.classes))
        record = record_of(learner, student, sequence, started, on_step)
        return Adaptation(student, (record,))


def best_width(samples: NDArray[np.float64], codes: NDArray[np.int64]) -> int:
    """The width under which a quick model, trained on the first two thirds, is right most often on the rest.

    Raises where no width says more about the labels than the rows as they are.

    Parameters
    ----------
    samples : array of shape (n, d)
        In their order.
    codes : int array
        Their labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> move, level = rng.normal(size=600), np.linspace(0.0, 50.0, 600)
    >>> best_width((move + level)[:, None], (move > 0).astype(int)) in (34, 48, 60)
    True
    """
    widest = len(samples) // (2 * N_PARTS)
    widths = [width for width in _WIDTHS if width <= widest]
    cut = 2 * len(samples) // 3
    if not widths or len(np.unique(codes[:cut])) < 2:
        raise InputError(f"{len(samples)} labelled rows are too few to compare each with those before it")

    def right(rows: NDArray[np.float64]) -> float:
        model = LogisticRegression(max_iter=200).fit(rows[:cut], codes[:cut])
        return float((model.predict(rows[cut:]) == codes[cut:]).mean())

    def tried(some: Iterable[int]) -> dict[int, float]:
        return {width: right(RecentMap(width).fit(samples).transform(samples)) for width in some if width <= widest}

    with warnings.catch_warnings():
        # The quick model need not have come to its end to be compared.
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = tried(widths)
        first = max(scores, key=lambda width: scores[width])
        scores |= tried([round(first / sqrt(2.0)), round(first * sqrt(2.0))])
        plain = right(StandardScaler().fit_transform(samples))
    best = max(scores, key=lambda width: scores[width])
    if scores[best] <= plain:
        raise InputError(
            "rows compared with those before them say no more about the labels of the first window: a quick model is "
            f"right on {100 * scores[best]:.1f} % of its last third at best, and on {100 * plain:.1f} % without"
        )
    return best

"""Each row in units of the rows just before it: for tables whose rows follow each other in time."""

from __future__ import annotations

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
from driftfit.methods.alignment import behind, dense_matrix, measured_columns
from driftfit.methods.method import Adaptation, Assumption, Method
from driftfit.methods.plans import Workspace
from driftfit.methods.registry import offer
from driftfit.models import Learner

# Widths that are tried first, by a quick model; then those between the best and its neighbours.
_WIDTHS = (6, 12, 24, 48, 96)
# A source is judged in so many parts, one after the other, each of which must hold two of the widest comparisons.
N_PARTS = 5

# A value so many deviations from its recent mean is as far away as any.
_FARTHEST = 5.0
# A deviation below this part of the largest value in its window, a few units in the last place, is rounding.
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
# Values that are worked on at a time, so that they stay in the processor's cache.
_CHUNK = 65_536


class RecentMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Each measured column less the mean of the last rows, in units of their deviation; the row itself is among them.

    Rows must be given in their order: what a row becomes depends on those before it, and on none after it. A row
    without any before it becomes 0; `transform` takes those of an earlier batch as ``before``. Flags and codes stay as
    they are, and a column that never varied while fitting becomes 0.

    ``width``: number of rows, this one among them.

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

    def transform(self, X: Any, before: Any = None) -> NDArray[np.float64]:
        """Each row by those before it, and by no later one.

        ``X``: of shape (n, d); rows in their order. ``before``: rows that came before the first of ``X``, as they were
        before this map; the last ``width - 1`` are used. With them a stream gives the same in batches as in one go, bit
        for bit.

        >>> rows = np.random.default_rng(0).normal(size=(50, 2))
        >>> scale = RecentMap(8).fit(rows)
        >>> parts = [scale.transform(rows[:30]), scale.transform(rows[30:], before=rows[:30])]
        >>> bool((np.concatenate(parts) == scale.transform(rows)).all())
        True
        """
        check_is_fitted(self, "columns_")
        X = validate_data(self, X, reset=False, dtype=np.float64, copy=True)
        rows = X[:, self.columns_]
        n_before = 0
        if before is not None:
            last = validate_data(self, before, reset=False, dtype=np.float64, ensure_min_samples=0)
            last = last[max(0, len(last) - self.width + 1) :]
            n_before = len(last)
            rows = np.concatenate([last[:, self.columns_], rows])
        X[:, self.columns_] = _by_last_rows(rows, self.width)[n_before:]
        X[:, self.constant_] = 0.0
        return np.asarray(X)


class RowsBefore(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns as they are, and beside them each measured one by the rows just before it, at several widths.

    ``widths``: numbers of rows, as for `RecentMap`.

    >>> rows = np.arange(20.0)[:, None]
    >>> RowsBefore((2, 4)).fit(rows).transform(rows)[3].round(2).tolist()
    [3.0, 1.0, 1.34]
    """

    def __init__(self, widths: tuple[int, ...] = (6, 24, 96)) -> None:
        self.widths = widths

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take which columns are measurements; raises where none is."""
        self.maps_ = [RecentMap(width).fit(X) for width in self.widths]
        self.n_features_in_ = self.maps_[0].n_features_in_
        if not len(self.maps_[0].columns_):
            raise InputError("no column holds measurements that could be compared with those of the rows before")
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Rows in their order, with the comparisons beside them."""
        check_is_fitted(self, "maps_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.column_stack([X, *(own.transform(X)[:, own.columns_] for own in self.maps_)])


def rows_compared(model: Any) -> int:
    """How many rows a model compares each row with, itself among them: 1 unless it reads rows in their order.

    >>> from sklearn.pipeline import make_pipeline
    >>> rows_compared(make_pipeline(RowsBefore((6, 24)), LogisticRegression())), rows_compared(LogisticRegression())
    (24, 1)
    """
    parts = [step for _, step in getattr(model, "steps", ())] + list(getattr(model, "members", ()))
    own = model.width if isinstance(model, RecentMap) else max(model.widths) if isinstance(model, RowsBefore) else 1
    return max([own, *map(rows_compared, parts)])


def _by_last_rows(rows: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Each row less the mean of the last rows, in units of their deviation; 0 where that is rounding."""
    found = np.empty_like(rows)
    step = max(1, _CHUNK // max(rows.shape[1], 1))
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        found[start:stop] = _chunk(rows[max(0, start - width + 1) : stop], stop - start, width)
    return found


def _chunk(rows: NDArray[np.float64], n: int, width: int) -> NDArray[np.float64]:
    """The last ``n`` rows, each by its own window.

    Sums go from the nearest row to the farthest, element by element: their rounding does not depend on where a batch
    begins. Sums over a window's axis would not do, because numpy chooses their order by the shape of the whole.
    """
    own, first = rows[-n:], len(rows) - n
    counts = np.minimum(np.arange(first, len(rows)) + 1, width)[:, None]
    lags = range(1, min(width, len(rows)))
    # Differences from the row itself lose nothing to a large offset, and are exactly 0 where nothing varies.
    mean, largest, sizes = np.zeros_like(own), np.abs(own), np.abs(rows)
    for lag in lags:
        # The first rows have fewer before them.
        skip = max(0, lag - first)
        then = slice(first + skip - lag, len(rows) - lag)
        mean[skip:] += rows[then] - own[skip:]
        np.maximum(largest[skip:], sizes[then], out=largest[skip:])
    mean /= counts
    # In units of the window's largest value no square overflows; by a power of two nothing is rounded.
    unit = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    squares = (mean / unit) ** 2
    for lag in lags:
        skip = max(0, lag - first)
        off = rows[first + skip - lag : len(rows) - lag] - own[skip:]
        off -= mean[skip:]
        off /= unit[skip:]
        off *= off
        squares[skip:] += off
    spread = np.sqrt(squares / counts)
    scaled = np.divide(-mean / unit, spread, out=np.zeros_like(own), where=spread > _ROUNDING)
    return np.asarray(np.clip(scaled, -_FARTHEST, _FARTHEST))


@dataclass(frozen=True)
class RecentScale(Method):
    """A new model on the source, every row in units of the rows just before it; new rows are read the same way.

    Right where a label depends on how a value compares with those before it, and the level drifts: a price, a sensor.
    Whether it does takes labels of more than one window to know. Rows of a domain must stand in their order, none left
    out.

    Parameters
    ----------
    width : int, optional
        Number of rows that a row is compared with, itself among them; by default `best_width` finds it on the source.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.models import as_learner
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
    needs_order = True
    assumes = frozenset({Assumption.SCALE})

    def trained(self, learner: Learner, samples: NDArray[np.float64], codes: NDArray[np.int64]) -> Learner:
        """A new model on rows in their order, with the map in front of it."""
        recent = RecentMap(best_width(samples, codes) if self.width is None else self.width).fit(samples)
        return behind(recent, learner.fit(recent.transform(samples), codes))

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        source = sequence.source
        student = self.trained(learner, dense_matrix(source), source.codes(learner.classes))
        return Adaptation(student)


offer("recent-scale", RecentScale(), labels=True)


def best_width(samples: NDArray[np.float64], codes: NDArray[np.int64]) -> int:
    """The width under which a quick model, trained on the first two thirds, is right most often on the rest.

    Raises where no width says more about the labels than the rows as they are.

    ``samples``: of shape (n, d); in their order. ``codes``: their labels.

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

"""Windows aligned with the source by themselves: the maps of columns, and the methods that use them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from driftfit.domains import Domain, DomainSequence
from driftfit.domains.samples import is_tensor
from driftfit.errors import InputError
from driftfit.methods.method import Adaptation, Assumption, Method
from driftfit.methods.plans import Workspace
from driftfit.methods.registry import SourceOnly, offer
from driftfit.models import Learner
from driftfit.models.scikit import ScikitLearner
from driftfit.transport.structure.maps import middle_ranks


@dataclass(frozen=True)
class Alignment(Method):
    """Every window is mapped onto the source by itself; the target's own map becomes the first step of the model.

    ``then``: what is done with the aligned windows, such as ``ProportionCorrection()``; by default the source model is
    used on them as it is.
    """

    then: Method = field(default_factory=SourceOnly)
    on_matrices = True

    @property
    def inner(self) -> tuple[Method, ...]:
        return (self.then,)

    @property
    def assumes(self) -> frozenset[Assumption]:
        """That columns changed their units, and what the next method relies on."""
        return frozenset({Assumption.SCALE}) | self.then.assumes

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        """A fitted transformer from a window to the source."""
        raise NotImplementedError

    def aligned(self, sequence: DomainSequence) -> tuple[DomainSequence, Any]:
        """The windows as the model will see them, and the target's transformer."""
        masked = sequence.masked()
        source = dense_matrix(masked.source)
        windows: list[Domain] = [masked.source.with_samples(source)]
        transformer = None
        for domain in masked[1:]:
            window = dense_matrix(domain)
            transformer = self.transformer(window, source)
            windows.append(domain.with_samples(transformer.transform(window)))
        return DomainSequence(windows), transformer

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        windows, transformer = self.aligned(sequence)
        inner = self.then.adapt(learner, windows, None, workspace)
        return replace(inner, learner=behind(transformer, inner.learner))


@dataclass(frozen=True)
class OwnScale(Alignment):
    """Each window scaled by itself: every column that moved gets the source's mean and deviation.

    The same as a model of standardised columns whose means and deviations are those of the window that it reads.
    Flags and codes, columns of at most ten distinct values, stay as they are.
    """

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        return scale_map(window, source)


@dataclass(frozen=True)
class OwnRank(Alignment):
    """Each window ranked by itself: every column that moved gets the source's distribution.

    Flags and codes, columns of at most ten distinct values, stay as they are; equal values stay equal.
    """

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        return RankMap().fit(window, source=source)


@dataclass(frozen=True)
class CovarianceAlignment(Alignment):
    """Each window gets the source's means and covariance in its measured columns (CORAL on features).

    ``ridge``: share of the diagonal in both covariances.
    """

    ridge: float = 0.1

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        return AffineMap(self.ridge).fit(window, source=source)


offer("own-scale", OwnScale(), labels=True, answers=Assumption.SCALE)
offer("own-rank", OwnRank(), labels=True)
offer("covariance", CovarianceAlignment(), labels=True)


def dense_matrix(domain: Domain) -> NDArray[np.float64]:
    """The samples as an array of finite numbers; what has no columns of its own is refused."""
    matrix = domain.matrix()
    if is_tensor(matrix):
        matrix = matrix.cpu().numpy()
    if not isinstance(matrix, np.ndarray):
        raise InputError(
            f"domain {domain.name!r} holds {type(matrix).__name__}; this method works on the columns of a table: "
            "give arrays of numbers"
        )
    return np.asarray(matrix, dtype=np.float64)


def behind(transformer: Any, learner: Learner) -> Learner:
    """The learner on rows that the transformer has mapped."""
    if not isinstance(learner, ScikitLearner):
        raise InputError(
            f"{type(learner.estimator).__name__} is no scikit-learn classifier; a window can be aligned in front of "
            "one of these only"
        )
    model = learner.estimator
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    taken = {name for name, _ in steps}
    name = next(name for name in ("window", *(f"window{n}" for n in range(2, 99))) if name not in taken)
    return replace(learner, estimator=Pipeline([(name, transformer), *steps]))


# A column of fewer distinct values is a code or a flag: it has no scale of its own.
FEWEST_VALUES = 10
# Chance of a map where nothing moved, over all columns.
CHANCE = 0.05
# A deviation that makes whatever a column holds nought beside it.
_SO_WIDE = 1e9
# Points of a column's distribution that a map between ranks passes through.
_MOST_KNOTS = 500


def measured_columns(*windows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Columns that hold measurements: more than ten distinct values in all windows together; others are flags or codes.

    >>> measured_columns(np.column_stack([np.arange(20.0), np.arange(20) % 2]))
    array([ True, False])
    """
    return np.array([len(np.unique(column)) > FEWEST_VALUES for column in np.concatenate(windows).T], dtype=bool)


def moving_columns(window: NDArray[np.float64], source: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Measured columns that differ between a window and the source by more than chance: only these need a map.

    By Kolmogorov and Smirnov's test at 5 %, divided by the number of columns. A column that is constant on one side
    has nothing to be mapped by.

    >>> rng = np.random.default_rng(0)
    >>> moving_columns(rng.normal(size=(200, 2)) + [0.0, 1.0], rng.normal(size=(200, 2)))
    array([False,  True])
    """
    usable: NDArray[np.bool_] = (
        measured_columns(window, source) & (np.ptp(source, axis=0) > 0) & (np.ptp(window, axis=0) > 0)
    )
    level = CHANCE / max(window.shape[1], 1)
    for column in np.flatnonzero(usable):
        usable[column] = ks_2samp(window[:, column], source[:, column], method="asymp").pvalue < level
    return usable


def scale_map(window: NDArray[np.float64], source: NDArray[np.float64]) -> StandardScaler:
    """A fitted `StandardScaler` that gives each column that moved the source's mean and deviation.

    A column that never varied in the source taught the model nothing: it becomes the source's constant.

    >>> window, source = np.arange(20.0)[:, None] * 3 + 7, np.arange(20.0)[:, None]
    >>> scale_map(window, source).transform(window[1:4]).round(9).ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    constant, chosen = np.ptp(source, axis=0) == 0, moving_columns(window, source)
    ratio, start = np.ones(window.shape[1]), np.zeros(window.shape[1])
    ratio[chosen] = window[:, chosen].std(axis=0) / source[:, chosen].std(axis=0)
    start[chosen] = window[:, chosen].mean(axis=0) - ratio[chosen] * source[:, chosen].mean(axis=0)
    ratio[constant] = _SO_WIDE * np.maximum(1.0, np.abs(window[:, constant]).max(axis=0))
    start[constant] = -ratio[constant] * source[0, constant]
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_, scaler.var_ = start, ratio, ratio**2
    scaler.n_features_in_, scaler.n_samples_seen_ = window.shape[1], len(window)
    return scaler


class RankMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Gives each column that moved the source's distribution: a value becomes the source's of equal rank.

    Equal values stay equal: they take the middle of their ranks. Beyond the ends of the window the map is constant.

    >>> window, source = np.arange(20.0)[:, None] ** 2, np.arange(20.0)[:, None]
    >>> RankMap().fit(window, source=source).transform(window[1:4]).round(9).ravel().tolist()
    [1.0, 2.0, 3.0]
    """

    def fit(self, X: Any, y: Any = None, *, source: Any = None) -> Self:
        """Take the ranks of a window, and the values that the source's columns have at them."""
        X, source = validate_data(self, X, reset=True, dtype=np.float64), _rows(source)
        constant = np.ptp(source, axis=0) == 0
        self.columns_, self.constant_ = np.flatnonzero(moving_columns(X, source)), np.flatnonzero(constant)
        self.constants_ = source[0, self.constant_]
        self.starts_, self.ends_ = [], []
        for column in self.columns_:
            knots, ranks = _knots(X[:, column])
            values = np.sort(source[:, column])
            self.starts_.append(knots)
            self.ends_.append(np.interp(ranks, (np.arange(len(values)) + 0.5) / len(values), values))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Each value by its rank."""
        check_is_fitted(self, "columns_")
        X = validate_data(self, X, reset=False, dtype=np.float64, copy=True)
        for column, start, end in zip(self.columns_, self.starts_, self.ends_, strict=True):
            X[:, column] = np.interp(X[:, column], start, end)
        X[:, self.constant_] = self.constants_
        return np.asarray(X)


class AffineMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Gives a window the source's mean and covariance, in its measured columns (CORAL; Sun et al. 2016).

    Both covariances are shrunk towards their diagonal (`ridge`), so that columns which nearly depend on each other
    are not blown up.

    ``ridge``: share of the diagonal in both covariances.

    >>> rng = np.random.default_rng(0)
    >>> source, window = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) @ [[1.0, 0.8], [0.0, 0.5]] + 3.0
    >>> moved = AffineMap(ridge=0.0).fit(window, source=source).transform(window)
    >>> bool(np.allclose(np.cov(moved.T), np.cov(source.T)) and np.allclose(moved.mean(axis=0), source.mean(axis=0)))
    True
    """

    def __init__(self, ridge: float = 0.1) -> None:
        self.ridge = ridge

    def fit(self, X: Any, y: Any = None, *, source: Any = None) -> Self:
        """Take mean and covariance of a window and of the source."""
        X, source = validate_data(self, X, reset=True, dtype=np.float64), _rows(source)
        constant = np.ptp(source, axis=0) == 0
        usable = measured_columns(X, source) & ~constant & (np.ptp(X, axis=0) > 0)
        chosen, self.constant_ = np.flatnonzero(usable), np.flatnonzero(constant)
        self.columns_ = chosen
        self.constants_ = source[0, self.constant_]
        whiten = _power(_covariance(X[:, chosen], self.ridge), -0.5)
        self.matrix_ = whiten @ _power(_covariance(source[:, chosen], self.ridge), 0.5)
        self.offset_ = source[:, chosen].mean(axis=0) - X[:, chosen].mean(axis=0) @ self.matrix_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The rows where the source would have them."""
        check_is_fitted(self, "matrix_")
        X = validate_data(self, X, reset=False, dtype=np.float64, copy=True)
        X[:, self.columns_] = X[:, self.columns_] @ self.matrix_ + self.offset_
        X[:, self.constant_] = self.constants_
        return np.asarray(X)


def _rows(source: Any) -> NDArray[np.float64]:
    if source is None:
        raise InputError("a map leads from a window to the source: give its rows, fit(window, source=rows)")
    return np.asarray(source, dtype=np.float64)


def _knots(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct values, thinned where there are many, and the share of the column below each, ties counted half."""
    values, ranks, _ = middle_ranks(column)
    if len(values) > _MOST_KNOTS:
        chosen = np.unique(np.searchsorted(ranks, np.linspace(0.0, 1.0, _MOST_KNOTS)).clip(0, len(values) - 1))
        values, ranks = values[chosen], ranks[chosen]
    return values, ranks


def _covariance(rows: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    found = np.atleast_2d(np.cov(rows.T)) if rows.shape[1] else np.zeros((0, 0))
    return np.asarray((1.0 - ridge) * found + ridge * np.diag(np.diag(found)))


def _power(matrix: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(matrix)
    floor = max(float(values.max(initial=0.0)), 1e-300) * 1e-10
    return np.asarray((vectors * np.maximum(values, floor) ** exponent) @ vectors.T)

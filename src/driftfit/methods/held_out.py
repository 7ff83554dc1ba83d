"""What a model says about source rows that it was not trained on, and how its probabilities must be scaled to hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from driftfit.domains import LabelledDomain, some_rows, take_rows
from driftfit.errors import InputError
from driftfit.models import Learner, as_learner
from driftfit.models.scikit import fit_weighted
from driftfit.seeds import derive_seed

# Rows of the source that are looked at: a model is trained on each part of them.
MOST_ROWS = 5_000
# Offsets are held near 0 by as much as this many rows could say against them.
_PRIOR_ROWS = 1.0


@dataclass(frozen=True)
class Calibration:
    """Probabilities ``softmax(scale * logits + offsets)``: a temperature, and one offset for each class.

    >>> Calibration(0.5, (0.0, 0.0)).probabilities(np.array([[0.0, 2.0]])).round(3).tolist()
    [[0.269, 0.731]]
    """

    scale: float
    offsets: tuple[float, ...]

    def probabilities(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(softmax(self.scale * logits + np.asarray(self.offsets), axis=1))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of source rows by models that were trained on the others.

    ``codes``: their labels. ``models``: those that were trained on a part.
    """

    logits: NDArray[np.float64]
    codes: NDArray[np.int64]
    models: tuple[Learner, ...] = ()

    def elsewhere(self, samples: Any) -> NDArray[np.float64]:
        """Scores of other rows by the same models, each row by one of them in turn.

        They stand beside ``logits`` as like beside like: a model that has seen all of the source is surer of itself.
        """
        n = int(samples.shape[0])
        turn = np.arange(n) % len(self.models)
        logits = np.empty((n, self.logits.shape[1]))
        for number, model in enumerate(self.models):
            rows = np.flatnonzero(turn == number)
            if len(rows):
                logits[rows] = model.logits(take_rows(samples, rows))
        return logits

    def calibration(self) -> Calibration:
        """The scale and the offsets under which the labels are most likely (Alexandari et al. 2020)."""
        k = self.logits.shape[1]
        chosen = (np.arange(len(self.codes)), self.codes)

        def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            scale, offsets = np.exp(parameters[0]), parameters[1:]
            logs = log_softmax(scale * self.logits + offsets, axis=1)
            excess = np.exp(logs)
            excess[chosen] -= 1.0
            slope = np.r_[scale * (excess * self.logits).sum(), excess.sum(axis=0) + _PRIOR_ROWS * offsets]
            value = -logs[chosen].sum() + 0.5 * _PRIOR_ROWS * float(offsets @ offsets)
            return value / len(self.codes), slope / len(self.codes)

        bounds = [(np.log(0.05), np.log(5.0)), *[(-5.0, 5.0)] * k]
        found = minimize(loss, np.zeros(k + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
        return Calibration(float(np.exp(found[0])), tuple((found[1:] - found[1:].mean()).tolist()))


def held_out(
    learner: Learner,
    source: LabelledDomain,
    n_folds: int = 3,
    seed: int = 0,
    *,
    max_rows: int | None = MOST_ROWS,
    units: NDArray[np.int64] | None = None,
) -> HeldOut:
    """Train the learner on all parts of the source but one, in turn, and ask it about that one.

    ``learner``: trained anew on each part; itself it stays as it is. ``max_rows``: of a larger source so many rows are
    looked at; None: all of them, in their order. ``units``: rows of one number are never parted: a model that has seen
    a customer knows more of its other rows than of a stranger's.
    """
    kept = np.arange(len(source))
    if max_rows is not None and len(source) > max_rows:
        kept = some_rows(len(source), max_rows, derive_seed(seed, "held out"), source.labels)
    rows = source if len(kept) == len(source) else source.take(kept)
    codes = rows.codes(learner.classes)
    counts = np.bincount(codes)
    if counts[counts > 0].min() < n_folds:
        rarest = learner.classes[np.flatnonzero(counts == counts[counts > 0].min())[0]]
        raise InputError(
            f"class {str(rarest)!r} has {counts[counts > 0].min()} rows in the source, fewer than {n_folds}: its "
            "proportion cannot be estimated; merge it with another class or leave it out"
        )
    logits = np.empty((len(codes), len(learner.classes)))
    weights = rows.uneven_weights if learner.takes_weights else None
    models = []
    for fit, held in _folds(codes, n_folds, derive_seed(seed, "folds"), None if units is None else units[kept]):
        model = learner.fit(take_rows(rows.samples, fit), codes[fit], None if weights is None else weights[fit])
        logits[held] = model.logits(take_rows(rows.samples, held))
        models.append(model)
    return HeldOut(logits, codes, tuple(models))


def _folds(
    codes: NDArray[np.int64], n_folds: int, seed: int, units: NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to train on and rows to ask about, every class in each part as far as whole units allow."""
    if units is None or len(np.unique(units)) == len(units):
        yield from StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes)
    elif len(np.unique(units)) < n_folds:
        raise InputError(
            f"the labelled rows hang together in {len(np.unique(units))} parts, fewer than {n_folds}: what a model is "
            "worth on other rows cannot be told from them; label a longer stretch"
        )
    else:
        yield from StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes, units)


class _Around(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier around another one, ``estimator``; what is changed of it stays when that is trained anew."""

    estimator: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the classifier inside anew."""
        return self._wrapped(fit_weighted(clone(self.estimator), X, y, sample_weight))

    def _wrapped(self, model: Any) -> Self:
        self.estimator_ = model
        self.classes_ = np.asarray(model.classes_)
        if hasattr(model, "n_features_in_"):
            self.n_features_in_ = model.n_features_in_
        return self


class RescaledClassifier(_Around):
    """Class probabilities ``softmax(scale * log p + offsets)`` of a trained classifier.

    ``scale``: one over the temperature; below 1 for a classifier that is too sure of itself. ``offsets``: in the order
    of ``classes_``; the logarithm of the ratio of new to old proportions, for instance.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> rare = RescaledClassifier.of(model, 1.0, np.log([0.9, 0.1]) - np.log([0.5, 0.5]))
    >>> model.predict([[1.6]]).tolist(), rare.predict([[1.6]]).tolist()
    ([1], [0])
    """

    def __init__(self, estimator: Any = None, scale: float = 1.0, offsets: Any = None) -> None:
        self.estimator = estimator
        self.scale = scale
        self.offsets = offsets

    @classmethod
    def of(cls, model: Any, scale: float, offsets: NDArray[np.float64]) -> RescaledClassifier:
        """Around a trained classifier."""
        return cls(model, float(scale), np.asarray(offsets, dtype=np.float64))._wrapped(model)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Rescaled probabilities, one column for each of ``classes_``."""
        logits = as_learner(self.estimator_, self.classes_).logits(X)
        offsets = 0.0 if self.offsets is None else np.asarray(self.offsets)
        return np.asarray(softmax(self.scale * logits + offsets, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest rescaled probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class DecidingClassifier(_Around):
    """Answers with the class of largest worth, where that is not always the likeliest one; probabilities stay.

    ``worth``: what it is worth to answer class ``j`` (column) where class ``i`` (row) is true: minus a cost, or a
    weight of each class on the diagonal, which is a threshold.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> wary = DecidingClassifier.of(model, np.diag([1.0, 4.0]))
    >>> model.predict([[1.2]]).tolist(), wary.predict([[1.2]]).tolist()
    ([0], [1])
    """

    def __init__(self, estimator: Any = None, worth: Any = None) -> None:
        self.estimator = estimator
        self.worth = worth

    @classmethod
    def of(cls, model: Any, worth: NDArray[np.float64]) -> DecidingClassifier:
        """Around a trained classifier."""
        return cls(model, np.asarray(worth, dtype=np.float64))._wrapped(model)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classifier inside."""
        return np.asarray(softmax(as_learner(self.estimator_, self.classes_).logits(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest worth."""
        return np.asarray(self.classes_[self.decide(self.predict_proba(X))])

    def decide(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the class of largest worth, for class probabilities."""
        worth = np.eye(shares.shape[1]) if self.worth is None else np.asarray(self.worth)
        return np.asarray((shares @ worth).argmax(axis=1))

"""Ways to learn from labels of several windows: all, recent ones more, by units or time of each; and their mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from driftfit.checks import check_weights
from driftfit.domains import DomainSequence, take_rows
from driftfit.errors import InputError, SolverError
from driftfit.methods.alignment import Alignment, CovarianceAlignment, behind, dense_matrix
from driftfit.methods.method import Adaptation, Method, OnStep
from driftfit.methods.plans import Workspace
from driftfit.methods.recent_scale import RowsBefore
from driftfit.methods.registry import SourceOnly, offer
from driftfit.methods.source_weights import importance_weights
from driftfit.models import Learner, as_learner
from driftfit.models.scikit import ScikitLearner, fit_weighted
from driftfit.seeds import derive_seed

# Of an age in windows, beside columns of deviation 1: what a regularised model may change from window to window.
_TIME_UNIT = 0.3


@runtime_checkable
class Weighing(Protocol):
    """How much a labelled row counts, as a frozen value."""

    def weights(self, sequence: DomainSequence) -> NDArray[np.float64]:
        """One number for each row of ``sequence.labelled``; 0 leaves it out."""
        ...


@dataclass(frozen=True)
class HalfLife:
    """A row counts half for every so many windows of age.

    >>> from driftfit.domains import Domain
    >>> path = DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[2.0], [3.0]], [0, 1]), Domain([[4.0]])])
    >>> HalfLife(1.0).weights(path).tolist()
    [0.5, 0.5, 1.0, 1.0]
    """

    windows: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.windows) and self.windows > 0):
            raise InputError(f"a half-life must be a number of windows above 0, got {self.windows!r}")

    def weights(self, sequence: DomainSequence) -> NDArray[np.float64]:
        return np.asarray(0.5 ** ((sequence.last_labelled - sequence.labelled_windows) / self.windows))


@dataclass(frozen=True)
class LastWindows:
    """The newest so many windows with labels; older rows are left out."""

    windows: int = 1

    def __post_init__(self) -> None:
        if self.windows < 1:
            raise InputError(f"at least one window must be learnt from, got {self.windows!r}")

    def weights(self, sequence: DomainSequence) -> NDArray[np.float64]:
        numbers = sequence.labelled_windows
        newest = np.unique(numbers)[-self.windows :]
        return np.isin(numbers, newest).astype(np.float64)


@dataclass(frozen=True)
class LikeToday:
    """Rows that look like the target's count more, by a classifier between the two; no row counts for over ``most``.

    >>> from driftfit.domains import Domain
    >>> path = DomainSequence([Domain([[0.0], [0.5]], [0, 1]), Domain([[4.0], [4.5]], [0, 1]), Domain([[4.0], [4.5]])])
    >>> bool(LikeToday().weights(path)[2:].min() > LikeToday().weights(path)[:2].max())
    True
    """

    most: float = 10.0

    def weights(self, sequence: DomainSequence) -> NDArray[np.float64]:
        return importance_weights(dense_matrix(sequence.labelled), dense_matrix(sequence.target), self.most)


@dataclass(frozen=True)
class FromHistory(Method):
    """A new model of all rows with a label, whichever window they are in, for today's rows without one.

    Labels of the target are learnt from as well, where it has some: it then stands for the time after it.

    Parameters
    ----------
    weighing : HalfLife, LastWindows or LikeToday, optional
        How much a row counts; all the same by default.
    align : Alignment, optional
        Each window is brought to the scale of the newest labelled one first, today's by itself as well.
    with_time : bool
        How many windows ago a row was is one more feature, and beside each column stands its product with that: what a
        linear model makes of a column may change evenly. Today's rows are of today.
    before : tuple of int
        Beside each measured column stand its values by so many rows just before (`RowsBefore`).
    then : Method
        What follows along the unlabelled windows, such as ``ProportionCorrection()`` or ``GOAT()``; nothing by default.
    seed : int
        Classifiers that take no weights learn from rows that are drawn by their weights.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.models import as_learner
    >>> rng = np.random.default_rng(0)
    >>> rows = [rng.normal(size=(200, 1)) for _ in range(4)]
    >>> labels = [(x.ravel() > place).astype(int) for place, x in enumerate(rows)]
    >>> windows = DomainSequence([*map(Domain, rows[:3], labels[:3]), Domain(rows[3])])
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1]))
    >>> ways = (FromHistory(), FromHistory(HalfLife(0.5)), FromHistory(with_time=True))
    >>> answers = [way.adapt(learner, windows).learner.logits(rows[3]).argmax(axis=1) for way in ways]
    >>> [float((answer == labels[3]).mean().round(2)) for answer in answers]
    [0.85, 0.98, 1.0]
    """

    weighing: Weighing | None = None
    align: Alignment | None = None
    with_time: bool = False
    before: tuple[int, ...] = ()
    then: Method = field(default_factory=SourceOnly)
    seed: int = 0
    learns_from_history = True

    @property
    def inner(self) -> tuple[Method, ...]:
        return (self.then,) if self.align is None else (self.align, self.then)

    @property
    def on_matrices(self) -> bool:
        """Whether windows are compared column by column; what is inside says so for itself."""
        return self.weighing is not None or self.with_time or bool(self.before)

    @property
    def needs_order(self) -> bool:
        return bool(self.before)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        if len(np.unique(sequence.labelled_windows)) < 2 and isinstance(self.weighing, HalfLife | LastWindows):
            raise InputError("a single window has labels: none is more recent than another")
        windows, transformers = self._windows(sequence)
        student = self._fitted(learner, windows, self._weights(windows))
        done = Adaptation(student)
        if not isinstance(self.then, SourceOnly):
            done = self.then.adapt(student, windows.from_last_labelled(), on_step if not transformers else None)
        adapted = done.learner
        for transformer in reversed(transformers):
            adapted = behind(transformer, adapted)
        return replace(done, learner=adapted)

    def _windows(self, known: DomainSequence) -> tuple[DomainSequence, list[Any]]:
        """The windows as the model sees them, and what a new row of today must pass to look like them."""
        transformers: list[Any] = []
        windows = known
        if self.align is not None:
            anchor = dense_matrix(known[known.last_labelled])
            maps = [self.align.transformer(dense_matrix(domain), anchor) for domain in known]
            moved = [own.with_samples(made.transform(dense_matrix(own))) for own, made in zip(known, maps, strict=True)]
            windows = DomainSequence(moved)
            transformers.append(maps[-1])
        if self.before:
            beside = RowsBefore(self.before).fit(np.concatenate([dense_matrix(domain) for domain in windows]))
            windows = DomainSequence(domain.with_samples(beside.transform(dense_matrix(domain))) for domain in windows)
            transformers.append(beside)
        if self.with_time:
            aged = [WindowAge(float(len(windows) - 1 - number)) for number in range(len(windows))]
            told = [age.fit(x).transform(x) for age, x in zip(aged, map(dense_matrix, windows), strict=True)]
            windows = DomainSequence(own.with_samples(x) for own, x in zip(windows, told, strict=True))
            transformers.append(aged[-1])
        return windows, transformers

    def _weights(self, windows: DomainSequence) -> NDArray[np.float64] | None:
        """Of the labelled rows; None where all count the same."""
        rows = windows.labelled
        given = rows.uneven_weights
        if self.weighing is None:
            return given
        own = self.weighing.weights(windows)
        return own if given is None else own * check_weights(given, len(rows)) * len(rows)

    def _fitted(self, learner: Learner, windows: DomainSequence, weights: NDArray[np.float64] | None) -> Learner:
        rows = windows.labelled
        codes = rows.codes(learner.classes)
        if weights is None:
            return learner.fit(rows.samples, codes)
        used = np.flatnonzero(weights > 0)
        if len(np.unique(codes[used])) < 2:
            raise InputError("the rows that count hold a single class; let older windows count as well")
        if not learner.takes_weights and np.ptp(weights[used]) > 0:
            rng = np.random.default_rng(derive_seed(self.seed, "history"))
            used = np.sort(rng.choice(used, len(used), p=weights[used] / weights[used].sum()))
        own = weights[used] if learner.takes_weights and np.ptp(weights[used]) > 0 else None
        return learner.fit(take_rows(rows.samples, used), codes[used], own)


offer("all-labels", FromHistory(), history=True)
offer(
    "recent", FromHistory(HalfLife(1.0)), shown="recent labels, half-life 1 window", history=True,
    about="A new model of all labels; a row counts half for every window of age.",
)  # fmt: skip
offer("last-window", FromHistory(LastWindows(1)), about="A new model of the newest labelled window.", history=True)
offer(
    "with-time", FromHistory(HalfLife(2.0), with_time=True), history=True,
    about="A new model of all labels that knows the age of a window, alone and times each column.",
)  # fmt: skip
offer(
    "covariance-recent", FromHistory(HalfLife(1.0), CovarianceAlignment()), shown="own covariance, recent labels",
    about="Each window gets the newest labelled one's covariance, then a new model of recent labels.", history=True,
)  # fmt: skip
offer(
    "rows-before", FromHistory(HalfLife(1.0), before=(6, 24, 96)), shown="rows before, recent labels", history=True,
    about="Each value also by those of the rows just before, then a new model of recent labels.",
)  # fmt: skip
offer("like-today", FromHistory(LikeToday()), about="A new model of all labels; rows like today's count more.")


@dataclass(frozen=True, eq=False)
class OnHistory(Method):
    """A way to learn, on windows with labels that whoever asks for an adaptation does not have.

    ``history``: what it learns from, whatever sequence it is given.
    """

    way: Method
    history: DomainSequence

    def adapt(
        self,
        learner: Learner,
        sequence: DomainSequence,
        on_step: OnStep | None = None,
        workspace: Workspace | None = None,
    ) -> Adaptation:
        return self.way.adapt(learner, self.history, on_step)


class WindowAge(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Adds how many windows ago rows were, alone and times each column.

    >>> WindowAge(2.0).fit(np.zeros((2, 1))).transform(np.array([[1.0], [3.0]])).round(1).tolist()
    [[1.0, 0.6, 0.6], [3.0, 0.6, 1.8]]
    """

    def __init__(self, windows: float = 0.0) -> None:
        self.windows = windows

    def fit(self, X: Any, y: Any = None) -> Self:
        """Only the number of columns is kept."""
        validate_data(self, X, reset=True, dtype=np.float64)
        self.age_ = _TIME_UNIT * float(self.windows)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The rows with their age and its products beside them."""
        check_is_fitted(self, "age_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.column_stack([X, np.full(len(X), self.age_), self.age_ * X])


@dataclass(frozen=True)
class Mixture(Method):
    """Several ways to learn, and the mean of their class probabilities.

    A way that cannot run is left out.

    ``weights``: what each counts for.
    """

    ways: tuple[Method, ...]
    weights: tuple[float, ...]
    learns_from_history = True

    @property
    def inner(self) -> tuple[Method, ...]:
        return self.ways

    @property
    def needs_order(self) -> bool:
        return any(way.needs_order for way in self.ways)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        if not isinstance(learner, ScikitLearner):
            raise InputError(f"{type(learner.estimator).__name__} is no scikit-learn classifier: it cannot be mixed")
        members, weights, refused = [], [], ""
        for way, weight in zip(self.ways, self.weights, strict=True):
            try:
                members.append(way.adapt(learner, sequence, None, workspace).learner.estimator)
                weights.append(weight)
            except (InputError, SolverError) as error:
                refused = str(error)
        if not members:
            raise InputError(refused or "a mixture needs a way to learn")
        mixed = MixedClassifier.of(members, np.array(weights), learner.classes)
        return Adaptation(as_learner(Pipeline([("model", mixed)]), learner.classes))


class MixedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The weighted mean of the class probabilities of several trained classifiers."""

    def __init__(self, estimators: Any = (), weights: Any = ()) -> None:
        self.estimators = estimators
        self.weights = weights

    @classmethod
    def of(cls, members: Sequence[Any], weights: NDArray[np.float64], classes: NDArray[Any]) -> MixedClassifier:
        """Of classifiers that are trained; ``classes`` are all that there are."""
        own = cls(list(members), weights / weights.sum())
        return own._holding(list(members), classes)

    @property
    def members(self) -> list[Any]:
        """The trained classifiers."""
        return getattr(self, "estimators_", [])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train every classifier anew, all on the same rows; what each counts for stays."""
        members = [fit_weighted(clone(own), X, y, sample_weight) for own in self.estimators]
        return self._holding(members, np.unique(y))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean probabilities, one column for each of ``classes_``."""
        parts = [softmax(as_learner(own, self.classes_).logits(X), axis=1) for own in self.members]
        return np.asarray(np.tensordot(np.asarray(self.weights), parts, 1))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest mean probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _holding(self, members: list[Any], classes: NDArray[Any]) -> Self:
        self.estimators_, self.classes_ = members, np.asarray(classes)
        return self

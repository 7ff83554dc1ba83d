"""What the classifiers share: doors, checks, the gate and fitted attributes."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gradapt.checks import check_points
from gradapt.domains import Domain, DomainSequence
from gradapt.errors import AdaptationWarning, InputError
from gradapt.learners import Learner, as_learner
from gradapt.learners.scikit import fit_weighted
from gradapt.methods.records import Adaptation, OnStep, StepRecord
from gradapt.seeds import as_seed
from gradapt.transport import Plan
from gradapt.trust import GateDecision, keep_better

__all__ = ["AdaptedClassifier"]


def _offers(method: str) -> Any:
    """Whether the wrapped classifier has a method; for scikit-learn's `available_if`."""

    def check(self: AdaptedClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._template(), method)
        return True

    return available_if(check)


class AdaptedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a wrapped classifier on the source and leads it along the domains; subclasses say how."""

    estimator: Any
    random_state: Any
    warm_start: bool
    on_step: OnStep | None
    keep_if_worse: bool
    keep_steps: bool
    path_: list[StepRecord]
    plans_: list[Plan]
    gate_: GateDecision | None

    def fit(self, X: Any, y: Any, sample_domain: Any = None, sample_weight: Any = None) -> Self:
        """Fit the classifier on the source and adapt it to the target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The samples of all domains.
        y : array-like of shape (n_samples,)
            Labels. Only those of the source are used; the others may be anything, such as
            None or NaN, and are masked in any case.
        sample_domain : array-like of shape (n_samples,), optional
            Which domain a sample belongs to: anything that can be sorted, such as a year.
            The lowest value is the labelled source, the highest the target. Without it,
            the wrapped classifier is fitted on everything and nothing is adapted.
        sample_weight : array-like of shape (n_samples,), optional
        """
        if sample_domain is None:
            return self._fit_plain(X, y, sample_weight)
        sequence = DomainSequence.from_samples(
            X, y, sample_domain, sample_weight, allow_missing=get_tags(self._template()).input_tags.allow_nan
        )
        return self.fit_path(sequence)

    def fit_path(self, sequence: DomainSequence) -> Self:
        """Fit on the source of a `DomainSequence` and adapt along it; labels but the source's are ignored."""
        classes = _check_adaptable(sequence)
        sequence = sequence.masked()
        frame = sequence.source.samples
        on_matrices = self._needs_matrices()
        if on_matrices:
            sequence = DomainSequence([_as_matrix(domain) for domain in sequence])
        learner = as_learner(self._template(), classes, warm_start=self.warm_start)
        source = sequence.source
        assert source.labels is not None
        codes = np.searchsorted(classes, source.labels)
        # A learner that cannot weigh refuses weights: they are never dropped in silence.
        weights = None if source.weights is None or np.ptp(source.weights) == 0 else source.weights
        learner = learner.fit(source.samples, codes, weights)
        steps: list[Any] = [learner.estimator] if self.keep_steps else []

        def watch(record: StepRecord, student: Learner) -> None:
            if self.keep_steps:
                steps.append(student.estimator)
            if self.on_step is not None:
                self.on_step(record, student)

        adaptation = self._adapt(learner, sequence, watch)
        gate = keep_better(sequence, learner, adaptation.learner) if self.keep_if_worse else None
        # Nothing is set before everything has worked: a failed fit leaves the old model.
        # A classifier with a learner of its own was fitted through that, which knows no names of columns.
        self._on_matrices_ = on_matrices or hasattr(learner.estimator, "make_learner")
        self.source_estimator_ = learner.estimator
        self.step_estimators_ = steps
        self.gate_ = gate
        self.estimator_ = adaptation.learner.estimator
        if gate is not None and gate.keep_source:
            self.estimator_ = learner.estimator
            warnings.warn(gate.sentence, AdaptationWarning, stacklevel=2)
        self.classes_ = classes
        self.path_ = list(adaptation.records)
        self.plans_ = list(adaptation.plans)
        validate_data(self, frame, skip_check_array=True, reset=True)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of new samples, by the adapted classifier."""
        X = self._at_the_door(X)
        return np.asarray(self.estimator_.predict(X))

    @_offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, one column for each of ``classes_``."""
        X = self._at_the_door(X)
        known = self.estimator_.classes_
        probabilities = np.asarray(self.estimator_.predict_proba(X))
        if len(known) == len(self.classes_):
            return probabilities
        # A class that vanished along the path keeps its column.
        full = np.zeros((len(probabilities), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, known)] = probabilities
        return full

    @_offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @_offers("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the adapted classifier."""
        X = self._at_the_door(X)
        return np.asarray(self.estimator_.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        raise NotImplementedError

    def _needs_matrices(self) -> bool:
        """Whether samples of different domains are mixed, so that data frames must become arrays."""
        return False

    def _template(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        if self.random_state is not None:
            _seed(estimator, as_seed(self.random_state))
        return estimator

    def _fit_plain(self, X: Any, y: Any, sample_weight: Any) -> Self:
        estimator = self._template()
        estimator = fit_weighted(estimator, X, y, sample_weight)
        self._on_matrices_ = False
        self.gate_ = None
        self.source_estimator_ = estimator
        self.step_estimators_ = [estimator] if self.keep_steps else []
        self.estimator_, self.classes_ = estimator, estimator.classes_
        self.path_ = []
        self.plans_ = []
        validate_data(self, X, skip_check_array=True, reset=True)
        return self

    def _at_the_door(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=False)
            if self._on_matrices_:
                return np.asarray(X)
        return X


def _check_adaptable(sequence: DomainSequence) -> NDArray[Any]:
    """The classes of the source, once it is clear that there is something to adapt."""
    if not isinstance(sequence, DomainSequence):
        raise InputError(f"fit_path takes a DomainSequence, got {type(sequence).__name__}; fit(X, y, ...) takes arrays")
    source = sequence.source
    assert source.labels is not None
    for domain in sequence:
        if len(domain) < 2:
            raise InputError(
                f"domain {domain.name!r} holds a single sample; self-training needs at least 2: "
                "merge it with a neighbour or leave it out"
            )
    check_classification_targets(source.labels)
    classes = np.unique(source.labels)
    if len(classes) < 2:
        raise InputError(
            f"the source (domain {source.name!r}) has the single class {classes[0]!r}; "
            "a classifier needs at least two classes: is sample_domain or the label column right?"
        )
    if len(classes) == len(source) > 2:
        raise InputError(
            f"the source has {len(source)} samples and as many classes; is the label column an identifier or a "
            "measured quantity? A classifier needs several samples of each class"
        )
    return classes


def _as_matrix(domain: Domain) -> Domain:
    return domain.with_samples(check_points(domain.samples, f"domain {domain.name!r}: samples"))


def _seed(estimator: Any, seed: int) -> None:
    """Set every ``random_state`` parameter that the user left open."""
    names = [name for name, value in estimator.get_params(deep=True).items() if _is_open_seed(name, value)]
    estimator.set_params(**dict.fromkeys(names, seed % 2**31))


def _is_open_seed(name: str, value: Any) -> bool:
    return value is None and (name == "random_state" or name.endswith("__random_state"))

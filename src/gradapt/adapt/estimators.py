"""The algorithms as scikit-learn classifiers."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gradapt.adapt.goat import GOAT
from gradapt.adapt.gradual import GradualMethod, GradualSelfTraining
from gradapt.adapt.path import given_path
from gradapt.adapt.pseudo_labels import Confidence, top_probability
from gradapt.adapt.records import Adaptation, OnStep, StepRecord
from gradapt.adapt.self_training import SelfTraining
from gradapt.checks import check_points
from gradapt.domains import Domain, DomainSequence
from gradapt.errors import InputError
from gradapt.learners import Learner, as_learner
from gradapt.learners.scikit import fit_weighted
from gradapt.seeds import as_seed
from gradapt.transport import Plan

__all__ = ["DirectSelfTraining", "GOATClassifier", "GradualSelfTrainingClassifier"]


def _offers(method: str) -> Any:
    """Whether the wrapped classifier has a method; for scikit-learn's `available_if`."""

    def check(self: _AdaptedClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._template(), method)
        return True

    return available_if(check)


class _AdaptedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What the three classifiers share: doors, checks and fitted attributes."""

    estimator: Any
    random_state: Any
    warm_start: bool
    on_step: OnStep | None
    keep_steps: bool
    path_: list[StepRecord]
    plans_: list[Plan]

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
        learner = learner.fit(source.samples, codes, source.weights if learner.takes_weights else None)
        steps: list[Any] = [learner.estimator] if self.keep_steps else []

        def watch(record: StepRecord, student: Learner) -> None:
            if self.keep_steps:
                steps.append(student.estimator)
            if self.on_step is not None:
                self.on_step(record, student)

        adaptation = self._adapt(learner, sequence, watch)
        gate = self._ask_gate(sequence, learner, adaptation.learner)
        if gate is not None and gate.keep_source:
            adaptation = replace(adaptation, learner=learner)
        # Nothing is set before everything has worked: a failed fit leaves the old model.
        self._on_matrices_ = on_matrices
        self.source_estimator_ = learner.estimator
        self.step_estimators_ = steps
        self.estimator_ = adaptation.learner.estimator
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

    def _ask_gate(self, sequence: DomainSequence, source: Learner, adapted: Learner) -> Any:
        """Whether adaptation is estimated to hurt; None where nobody asked."""
        return None

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


class DirectSelfTraining(_AdaptedClassifier):
    """Self-training straight from the source to the target, whatever lies between.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default.
    n_rounds : int
        Times that self-training is repeated on the target.
    drop_fraction : float
        Share of least confident pseudo-labels left out.
    soft_labels : bool
        Train on class probabilities instead of hard labels.
    freeze_encoder : bool
        In a pipeline, keep all steps but the last as they were fitted on the source.
    warm_start : bool
        Start each student from its teacher where the classifier can.
    confidence : callable
        From logits to confidences; see `gradapt.adapt`.
    keep_steps : bool
        Keep the model of every step in ``step_estimators_``.
    on_step : callable, optional
        Called with each `StepRecord` and the learner, for progress displays.
    random_state : int, generator or None
        Seeds the wrapped classifier.

    Attributes
    ----------
    estimator_ : classifier
        The adapted classifier.
    source_estimator_ : classifier
        The classifier before adaptation.
    classes_ : array
    path_ : list of StepRecord
    plans_ : list of Plan

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [0.6], [1.6], [5.6], [6.6]])
    >>> y = [0, 0, 1, 1, None, None, None, None]
    >>> clf = DirectSelfTraining(drop_fraction=0).fit(X, y, sample_domain=[1] * 4 + [2] * 4)
    >>> clf.predict([[0.8], [6.2]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_rounds: int = 1,
        drop_fraction: float = 0.1,
        soft_labels: bool = False,
        freeze_encoder: bool = False,
        warm_start: bool = True,
        confidence: Confidence = top_probability,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.drop_fraction = drop_fraction
        self.soft_labels = soft_labels
        self.freeze_encoder = freeze_encoder
        self.warm_start = warm_start
        self.confidence = confidence
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        if self.n_rounds < 1:
            raise InputError(f"n_rounds must be at least 1, got {self.n_rounds!r}")
        step = SelfTraining(self.drop_fraction, self.soft_labels, confidence=self.confidence)
        direct = DomainSequence([sequence.source, sequence.target])
        return _along_given(learner, direct, GradualSelfTraining(step, self.n_rounds), self.freeze_encoder, on_step)


class GradualSelfTrainingClassifier(_AdaptedClassifier):
    """Gradual self-training over the given domains (Kumar, Ma and Liang 2020).

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default.
    drop_fraction, soft_labels, freeze_encoder, warm_start, confidence, keep_steps, on_step, random_state
        As for `DirectSelfTraining`.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_
        As for `DirectSelfTraining`.

    Examples
    --------
    >>> import numpy as np
    >>> year = np.repeat([1999, 2004, 2009], 40)
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.2 + (year[:, None] - 1999) / 10
    >>> y = np.where(np.arange(120) % 2, 1, 0)
    >>> X[y == 1] += 2
    >>> clf = GradualSelfTrainingClassifier().fit(X, y, sample_domain=year)
    >>> [record.name for record in clf.path_], clf.score(X[year == 2009], y[year == 2009])
    (['2004', '2009'], 1.0)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        drop_fraction: float = 0.1,
        soft_labels: bool = False,
        freeze_encoder: bool = False,
        warm_start: bool = True,
        confidence: Confidence = top_probability,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.drop_fraction = drop_fraction
        self.soft_labels = soft_labels
        self.freeze_encoder = freeze_encoder
        self.warm_start = warm_start
        self.confidence = confidence
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        step = SelfTraining(self.drop_fraction, self.soft_labels, confidence=self.confidence)
        return _along_given(learner, sequence, GradualSelfTraining(step), self.freeze_encoder, on_step)


class GOATClassifier(_AdaptedClassifier):
    """Gradual adaptation along generated domains on the Wasserstein geodesic (GOAT).

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default. In a
        pipeline, all steps but the last are the encoder in whose space domains are generated.
    n_generated : int
        Domains generated between each two neighbouring domains.
    solver : Solver, optional
        Optimal transport solver, such as ``Sinkhorn(epsilon=0.05)``; exact by default.
    cost : Cost or callable, optional
        Transport cost; squared Euclidean by default.
    cutoffs : sequence of Cutoff
        Applied to each plan, such as ``(SmallValueCutoff(),)`` after Sinkhorn.
    plan_weights : bool or None
        Weigh the loss by the plan's mass. None: where the classifier takes weights.
    feature_space : bool
        False generates in the input space and adapts the whole pipeline.
    method : GradualMethod, optional
        What runs along the generated path instead of gradual self-training; the
        self-training parameters then have no effect.
    keep_if_worse : bool
        Keep the source model where the estimate without labels says that adaptation hurts, and
        warn about it; see `gradapt.trust.keep_better`.
    drop_fraction, soft_labels, warm_start, confidence, keep_steps, on_step, random_state
        As for `DirectSelfTraining`.

    Attributes
    ----------
    estimator_, source_estimator_, classes_
        As for `DirectSelfTraining`.
    gate_ : GateDecision
        Estimated accuracies and the decision; only with ``keep_if_worse``.
    path_ : list of StepRecord
        One record for each generated and given domain on the way.
    plans_ : list of Plan
        The plan between each two neighbours, with its certificate.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 2.0 * y[:, None] + 1.2 * domain[:, None]
    >>> clf = GOATClassifier(n_generated=3).fit(X, y, sample_domain=domain)
    >>> [round(record.position, 2) for record in clf.path_]
    [0.25, 0.5, 0.75, 1.0]
    >>> clf.score(X[domain == 1], y[domain == 1]), clf.plans_[0].certificate.proves_optimal()
    (1.0, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_generated: int = 4,
        solver: Any = None,
        cost: Any = None,
        cutoffs: Any = (),
        plan_weights: bool | None = None,
        feature_space: bool = True,
        method: GradualMethod | None = None,
        keep_if_worse: bool = False,
        drop_fraction: float = 0.1,
        soft_labels: bool = False,
        warm_start: bool = True,
        confidence: Confidence = top_probability,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_generated = n_generated
        self.solver = solver
        self.cost = cost
        self.cutoffs = cutoffs
        self.plan_weights = plan_weights
        self.feature_space = feature_space
        self.method = method
        self.keep_if_worse = keep_if_worse
        self.drop_fraction = drop_fraction
        self.soft_labels = soft_labels
        self.warm_start = warm_start
        self.confidence = confidence
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        method = self.method
        if method is None:
            step = SelfTraining(self.drop_fraction, self.soft_labels, self.plan_weights, self.confidence)
            method = GradualSelfTraining(step)
        goat = GOAT(self.n_generated, method, self.feature_space, self.solver, self.cost, tuple(self.cutoffs))
        return goat.adapt(learner, sequence, on_step)

    def _ask_gate(self, sequence: DomainSequence, source: Learner, adapted: Learner) -> Any:
        if not self.keep_if_worse:
            return None
        # The gate lives above this layer and is looked up only when somebody asks for it.
        keep_better = import_module("gradapt.trust").keep_better
        self.gate_ = keep_better(sequence, source, adapted)
        if self.gate_.keep_source:
            warnings.warn(self.gate_.sentence, UserWarning, stacklevel=4)
        return self.gate_

    def _needs_matrices(self) -> bool:
        has_encoder = isinstance(self.estimator, Pipeline) and len(self.estimator.steps) > 1
        return not (has_encoder and self.feature_space)


def _along_given(
    learner: Learner, sequence: DomainSequence, method: GradualSelfTraining, freeze_encoder: bool, on_step: OnStep
) -> Adaptation:
    """Run a method over the given domains: GOAT's code with nothing generated, or the whole model."""
    if freeze_encoder:
        return GOAT(n_generated=0, method=method).adapt(learner, sequence, on_step)
    return method.adapt(learner, given_path(sequence), on_step)


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

"""`AdaptedClassifier`: any scikit-learn classifier with any method, and perhaps a gate."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from driftfit.checks import without_mask
from driftfit.domains import DomainSequence, with_rows
from driftfit.errors import AdaptationWarning, InputError
from driftfit.methods import Adaptation, Method, OnStep, SourceOnly, StepRecord
from driftfit.methods.registry import as_method
from driftfit.models import Learner, as_learner
from driftfit.models.scikit import check_classifier, columns_of_all, fit_weighted, has_encoder, seed_open
from driftfit.progress import long_call
from driftfit.seeds import as_seed
from driftfit.selection import Decision, Gate, assess, unanswered
from driftfit.transport import Plan


def _offers(method: str) -> Any:
    """Whether the wrapped classifier has a method; for scikit-learn's `available_if`."""

    def check(self: AdaptedClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._template(), method)
        return True

    return available_if(check)


class AdaptedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is fitted on the source and adapted to the target by one method.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default.
    method : Method or str, optional
        How to adapt, such as ``GOAT(n_generated=2)``, or its word on the command line, such as ``"own-scale"``; the
        source model is left alone by default.
    gate : Gate, optional
        Keep the source model, with a warning, where a check without target labels advises
        against the adapted one (`driftfit.selection`).
    keep_steps : bool
        Keep the model of every step in ``step_estimators_``.
    on_step : callable, optional
        Called with each `StepRecord` and the learner, for progress displays.
    random_state : int, generator or None
        Seeds the wrapped classifier.
    history : {"all", "first"}, optional
        Which labels are used: those of all domains that have some, or those of the first one alone, as in the paper.
        Methods that follow a path then start at the last domain with labels. By default ``"all"`` where the method
        learns from history (`driftfit.methods.FromHistory`), else ``"first"``.

    Attributes
    ----------
    estimator_ : classifier
        The adapted classifier.
    source_estimator_ : classifier
        The classifier before adaptation.
    classes_ : array
    path_ : list of StepRecord
        One record for each step.
    plans_ : list of Plan
        The plan between each two neighbours, with its certificate, where the method made some.
    adaptation_ : Adaptation or None
        Everything that the method returned; None where nothing was adapted.
    decision_ : Decision or None
        What the gate found.

    Examples
    --------
    >>> from driftfit.methods import CarriedLabels
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 3.0 * y[:, None] + 2.0 * domain[:, None]
    >>> clf = AdaptedClassifier(method=CarriedLabels()).fit(X, y, sample_domain=domain)
    >>> clf.score(X[domain == 1], y[domain == 1])
    1.0
    """

    path_: list[StepRecord]
    plans_: list[Plan]
    adaptation_: Adaptation | None
    decision_: Decision | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Method | str | None = None,
        gate: Gate | None = None,
        keep_steps: bool = False,
        on_step: OnStep = None,
        random_state: Any = None,
        history: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.gate = gate
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state
        self.history = history

    def fit(self, X: Any, y: Any, sample_domain: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier on the source and adapt it to the target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The samples of all domains.
        y : array-like of shape (n_samples,)
            Labels. They may be missing anywhere: None, NaN, or -1 where the labels are words or the first domain
            does without it. With ``history="first"`` only those of the source are used.
        sample_domain : array-like of shape (n_samples,), optional
            Which domain a sample belongs to: anything that can be sorted, such as a year.
            The lowest value is the labelled source, the highest the target. Without it,
            the wrapped classifier is fitted on everything and nothing is adapted.
        sample_weight : array-like of shape (n_samples,), optional
        groups : array-like of shape (n_samples,), optional
            What a sample belongs to, such as its customer or machine: whole numbers or words. Tests of whether
            anything moved then count groups instead of rows. Only read with ``sample_domain``.
        """
        if sample_domain is None:
            check_classifier(self._template())
            X = _unmasked(X)
            estimator = fit_weighted(self._seeded(), X, y, sample_weight)
            return self._fitted(estimator, estimator, estimator.classes_, X)
        template = self._template()
        # An encoder may impute; what it leaves is checked behind it.
        allow_missing = get_tags(template).input_tags.allow_nan or has_encoder(template)
        sequence = DomainSequence.from_samples(
            X, y, sample_domain, sample_weight, allow_missing=allow_missing, groups=groups
        )
        return self.fit_path(sequence)

    def fit_path(self, sequence: DomainSequence) -> Self:
        """Fit on the labels of a `DomainSequence` and adapt along it."""
        with long_call():
            return self._adapt_along(sequence)

    def _adapt_along(self, sequence: DomainSequence) -> Self:
        method = self._method()
        sequence, past = self._known(sequence, method)
        classes = _check_adaptable(sequence)
        frame = sequence.source.samples
        # A classifier with a learner of its own encodes whatever samples it takes, such as images.
        encodes = has_encoder(self.estimator) or hasattr(self.estimator, "make_learner")
        on_matrices = method.needs_matrices(encodes)
        if on_matrices:
            sequence, past = (own.each(lambda domain: domain.with_samples(domain.matrix())) for own in (sequence, past))
        learner = self.fit_source(sequence)
        # A path that cannot be checked is refused before the work.
        view = None if self.gate is None else self.gate.checked_view(sequence, learner)
        steps: list[Any] = [learner.estimator] if self.keep_steps else []

        def watch(record: StepRecord, student: Learner) -> None:
            if self.keep_steps:
                steps.append(student.estimator)
            if self.on_step is not None:
                self.on_step(record, student)

        # Students are handed out only where somebody wants to see them.
        wanted = self.keep_steps or self.on_step is not None
        adaptation = method.adapt(learner, past, watch if wanted else None)
        decision = None
        if view is not None:
            adapted = None if adaptation.is_none_of(learner) else adaptation.learner
            n_generated = adaptation.n_generated
            decision = assess(view, learner, adapted, gate=self.gate, n_generated=n_generated, assumes=method.assumes)
        kept = adaptation.learner
        if decision is not None:
            kept = learner if decision.keep_source else kept
            if decision.keep_source or unanswered(decision.verdict, decision.n_generated):
                warnings.warn(decision.sentence, AdaptationWarning, stacklevel=3)
        # Nothing is set before everything has worked: a failed fit leaves the old model.
        self._fitted(kept.estimator, learner.estimator, classes, frame, adaptation, decision)
        self.step_estimators_ = steps
        # A classifier with a learner of its own was fitted through that, which knows no names of columns.
        self._on_matrices_ = on_matrices or hasattr(learner.estimator, "make_learner")
        return self

    def _known(self, sequence: DomainSequence, method: Method) -> tuple[DomainSequence, DomainSequence]:
        """The path from the labels to the target, and all domains as the method may see them."""
        if not isinstance(sequence, DomainSequence):
            raise InputError(
                f"fit_path takes a DomainSequence, got {type(sequence).__name__}; fit(X, y, ...) takes arrays"
            )
        learns = method.learns_from_history
        history = ("all" if learns else "first") if self.history is None else self.history
        if history not in ("all", "first"):
            raise InputError(f"history must be 'all' or 'first', got {self.history!r}")
        if history == "first":
            return sequence.masked(), sequence.masked()
        past = sequence.target_apart()
        path = past.from_last_labelled()
        return path, past if learns else path

    def fit_source(self, sequence: DomainSequence) -> Learner:
        """The learner of the wrapped classifier, fitted on the source alone: what a method starts from."""
        source = sequence.source
        # A learner that cannot weigh refuses weights: they are never dropped in silence.
        return self.new_learner(source.classes).fit(source.samples, source.codes(), source.uneven_weights)

    def new_learner(self, classes: NDArray[Any]) -> Learner:
        """The learner of the wrapped classifier, not fitted."""
        return as_learner(self._seeded(), classes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of new samples, by the adapted classifier."""
        X = self._checked(X)
        return np.asarray(self.estimator_.predict(X))

    @_offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, one column for each of ``classes_``."""
        X = self._checked(X)
        # A class that vanished along the path keeps its column.
        return columns_of_all(np.asarray(self.estimator_.predict_proba(X)), self.estimator_.classes_, self.classes_)

    @_offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @_offers("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the adapted classifier."""
        X = self._checked(X)
        return np.asarray(self.estimator_.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags

    def _method(self) -> Method:
        """The method, or the one that a class has by default."""
        return self._default_method() if self.method is None else as_method(self.method)

    def _default_method(self) -> Method:
        return SourceOnly()

    def _default_estimator(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)

    def _template(self) -> Any:
        return self._default_estimator() if self.estimator is None else clone(self.estimator)

    def _seeded(self) -> Any:
        """The wrapped classifier, not fitted, with its seeds set; a generator is advanced by fitting alone."""
        template = self._template()
        return template if self.random_state is None else seed_open(template, as_seed(self.random_state))

    def _fitted(
        self,
        estimator: Any,
        source: Any,
        classes: NDArray[Any],
        samples: Any,
        adaptation: Adaptation | None = None,
        decision: Decision | None = None,
    ) -> Self:
        self.estimator_, self.source_estimator_, self.classes_ = estimator, source, classes
        # The domains of the path are the user's rows: a kept model holds none of them.
        self.adaptation_ = None if adaptation is None else replace(adaptation, path=None)
        self.decision_ = decision
        self.path_ = [] if adaptation is None else list(adaptation.records)
        self.plans_ = [] if adaptation is None else list(adaptation.plans)
        self.step_estimators_ = [source] if self.keep_steps else []
        self._on_matrices_ = False
        validate_data(self, samples, skip_check_array=True, reset=True)
        return self

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        X = _unmasked(X)
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=False)
            if self._on_matrices_:
                return np.asarray(X)
        return X


def _unmasked(X: Any) -> Any:
    """scikit-learn looks at what lies under a mask; here it is missing. It does not know tables of pyarrow either."""
    X = with_rows(X)
    plain = without_mask(X)
    return X if plain is X else np.asarray(plain, dtype=np.float64)


def _check_adaptable(sequence: DomainSequence) -> NDArray[Any]:
    """The classes of the source, once it is clear that there is something to adapt."""
    source = sequence.source
    for domain in sequence:
        if len(domain) < 2:
            raise InputError(
                f"domain {domain.name!r} holds a single sample; self-training needs at least 2: "
                "merge it with a neighbour or leave it out"
            )
    check_classification_targets(source.labels)
    classes = source.classes
    if len(classes) < 2:
        raise InputError(
            f"the source (domain {source.name!r}) has the single class {str(classes[0])!r}; "
            "a classifier needs at least two classes: is sample_domain or the label column right?"
        )
    if source.weights is not None:
        weighed = np.unique(source.labels[source.weights > 0])
        if len(weighed) < 2:
            raise InputError(
                f"in the source (domain {source.name!r}) only the class {str(weighed[0])!r} has weight; a classifier "
                "needs at least two classes: give samples of another one a weight above 0"
            )
    if len(classes) == len(source) > 2:
        raise InputError(
            f"the source has {len(source)} samples and as many classes; is the label column an identifier or a "
            "measured quantity? A classifier needs several samples of each class"
        )
    return classes

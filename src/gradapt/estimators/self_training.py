"""Self-training, direct and gradual, as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.estimators.base import AdaptedClassifier
from gradapt.learners import Learner
from gradapt.methods import GOAT, Adaptation, GradualSelfTraining, SelfTraining, given_path, top_probability
from gradapt.methods.pseudo_labels import Confidence
from gradapt.methods.records import OnStep

__all__ = ["DirectSelfTraining", "GradualSelfTrainingClassifier"]


class DirectSelfTraining(AdaptedClassifier):
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
        From logits to confidences; see `gradapt.methods`.
    keep_if_worse : bool
        Keep the source model, with a warning, where its estimated accuracy on the target is
        higher than the adapted model's (`gradapt.trust.keep_better`, no target labels).
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
    gate_ : GateDecision or None
        What ``keep_if_worse`` found.

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
        keep_if_worse: bool = False,
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
        self.keep_if_worse = keep_if_worse
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        if self.n_rounds < 1:
            raise InputError(f"n_rounds must be at least 1, got {self.n_rounds!r}")
        step = SelfTraining(self.drop_fraction, self.soft_labels, confidence=self.confidence)
        direct = DomainSequence([sequence.source, sequence.target])
        return _along_given(learner, direct, GradualSelfTraining(step, self.n_rounds), self.freeze_encoder, on_step)


class GradualSelfTrainingClassifier(AdaptedClassifier):
    """Gradual self-training over the given domains (Kumar, Ma and Liang 2020).

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default.
    drop_fraction, soft_labels, freeze_encoder, warm_start, confidence, keep_if_worse, keep_steps, on_step,
    random_state
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
        keep_if_worse: bool = False,
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
        self.keep_if_worse = keep_if_worse
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        step = SelfTraining(self.drop_fraction, self.soft_labels, confidence=self.confidence)
        return _along_given(learner, sequence, GradualSelfTraining(step), self.freeze_encoder, on_step)


def _along_given(
    learner: Learner, sequence: DomainSequence, method: GradualSelfTraining, freeze_encoder: bool, on_step: OnStep
) -> Adaptation:
    """Run a method over the given domains: GOAT's code with nothing generated, or the whole model."""
    if freeze_encoder:
        return GOAT(n_generated=0, method=method).adapt(learner, sequence, on_step)
    return method.adapt(learner, given_path(sequence), on_step)

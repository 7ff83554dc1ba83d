"""GOAT as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from gradapt.adapt import GOAT, Adaptation, GradualMethod, GradualSelfTraining, SelfTraining, top_probability
from gradapt.adapt.pseudo_labels import Confidence
from gradapt.adapt.records import OnStep
from gradapt.domains import DomainSequence
from gradapt.estimators.base import AdaptedClassifier
from gradapt.learners import Learner

__all__ = ["GOATClassifier"]


class GOATClassifier(AdaptedClassifier):
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
    drop_fraction, soft_labels, warm_start, confidence, keep_if_worse, keep_steps, on_step, random_state
        As for `DirectSelfTraining`.

    Attributes
    ----------
    estimator_, source_estimator_, classes_
        As for `DirectSelfTraining`.
    path_ : list of StepRecord
        One record for each generated and given domain on the way.
    plans_ : list of Plan
        The plan between each two neighbours, with its certificate.
    gate_ : GateDecision or None
        What ``keep_if_worse`` found.

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
        drop_fraction: float = 0.1,
        soft_labels: bool = False,
        warm_start: bool = True,
        confidence: Confidence = top_probability,
        keep_if_worse: bool = False,
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
        self.drop_fraction = drop_fraction
        self.soft_labels = soft_labels
        self.warm_start = warm_start
        self.confidence = confidence
        self.keep_if_worse = keep_if_worse
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

    def _needs_matrices(self) -> bool:
        has_encoder = isinstance(self.estimator, Pipeline) and len(self.estimator.steps) > 1
        # A classifier with a learner of its own encodes whatever samples it takes, such as images.
        has_encoder = has_encoder or hasattr(self.estimator, "make_learner")
        return not (has_encoder and self.feature_space)

"""GOAT as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Literal, Self

from sklearn.pipeline import Pipeline

from gradapt.choice import CANDIDATES, Choice, choose_n_generated
from gradapt.choice.choose import OnCandidate
from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.estimators.base import AdaptedClassifier
from gradapt.learners import Learner
from gradapt.methods import GOAT, Adaptation, GradualMethod, GradualSelfTraining, SelfTraining, top_probability
from gradapt.methods.pseudo_labels import Confidence
from gradapt.methods.records import OnStep

__all__ = ["GOATClassifier"]


class GOATClassifier(AdaptedClassifier):
    """Gradual adaptation along generated domains on the Wasserstein geodesic (GOAT).

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default. In a
        pipeline, all steps but the last are the encoder in whose space domains are generated.
    n_generated : int or "auto"
        Domains generated between each two neighbouring domains. "auto" runs every number in
        ``candidates`` on the same plans and keeps the one that fits best the labels that the
        plans carry to the target (`gradapt.choice`, no target labels).
    candidates : sequence of int
        What "auto" chooses from.
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
    on_candidate : callable, optional
        With "auto", called with the number and the `Adaptation` of each candidate once it is done.
    drop_fraction, soft_labels, warm_start, confidence, keep_if_worse, keep_steps, on_step, random_state
        As for `DirectSelfTraining`. With "auto", ``on_step`` and ``keep_steps`` see the steps of
        the chosen number alone, once it is chosen.

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
    n_generated_ : int
        The number that was used; 0 where there were no domains to adapt along.
    selection_ : Choice or None
        With "auto", the scores of all candidates and the choice in words.

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
    >>> GOATClassifier(n_generated="auto").fit(X, y, sample_domain=domain).n_generated_ in (0, 1, 2, 3, 4)
    True
    """

    n_generated_: int
    selection_: Choice | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_generated: int | Literal["auto"] = 4,
        candidates: Any = CANDIDATES,
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
        on_candidate: OnCandidate | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_generated = n_generated
        self.candidates = candidates
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
        self.on_candidate = on_candidate
        self.random_state = random_state

    def fit_path(self, sequence: DomainSequence) -> Self:
        """Fit on the source of a `DomainSequence` and adapt along it; labels but the source's are ignored."""
        try:
            super().fit_path(sequence)
            choice: Choice | None = self.__dict__.get("_choice")
        finally:
            self.__dict__.pop("_choice", None)
        self.selection_ = choice
        self.n_generated_ = int(self.n_generated) if choice is None else choice.n_generated
        return self

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        if isinstance(self.n_generated, str) and self.n_generated != "auto":
            raise InputError(f"n_generated must be a whole number >= 0 or 'auto', got {self.n_generated!r}")
        method = self.method
        if method is None:
            step = SelfTraining(self.drop_fraction, self.soft_labels, self.plan_weights, self.confidence)
            method = GradualSelfTraining(step)
        cutoffs = tuple(self.cutoffs)
        if self.n_generated != "auto":
            goat = GOAT(self.n_generated, method, self.feature_space, self.solver, self.cost, cutoffs)
            return goat.adapt(learner, sequence, on_step)
        self._choice = choose_n_generated(
            learner,
            sequence,
            self.candidates,
            method=method,
            feature_space=self.feature_space,
            solver=self.solver,
            cost=self.cost,
            cutoffs=cutoffs,
            # The students of all candidates are held only where somebody wants to see the chosen ones.
            on_step=on_step if self.keep_steps or self.on_step is not None else None,
            on_candidate=self.on_candidate,
        )
        return self._choice.adaptation

    def _fit_plain(self, X: Any, y: Any, sample_weight: Any) -> Self:
        super()._fit_plain(X, y, sample_weight)
        self.selection_, self.n_generated_ = None, 0
        return self

    def _needs_matrices(self) -> bool:
        has_encoder = isinstance(self.estimator, Pipeline) and len(self.estimator.steps) > 1
        # A classifier with a learner of its own encodes whatever samples it takes, such as images.
        has_encoder = has_encoder or hasattr(self.estimator, "make_learner")
        return not (has_encoder and self.feature_space)

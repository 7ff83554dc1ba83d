"""Several ways to adapt and a choice among them without target labels, as one scikit-learn classifier."""

from __future__ import annotations

from typing import Any

from driftfit.choice import GUARDS, Choice, Chosen, Committee, standard_candidates
from driftfit.choice.standard import MIXUP
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.estimators.proportion_guard import ClassesMove
from driftfit.methods import Method, OnStep
from driftfit.trust import Gate

__all__ = ["AutoAdaptedClassifier"]


class AutoAdaptedClassifier(AdaptedClassifier):
    """Tries several ways to adapt a classifier and keeps the best by a score without target labels.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline, or a `TorchClassifier`; logistic regression by default.
    method : Chosen, optional
        The candidates, the score and the guards; by default `driftfit.choice.standard_candidates`, ranked by what
        labels say about those of neighbours in the target. The source model stays where other class proportions
        explain the whole shift.
    max_samples : int or None
        By default plans are made between at most so many samples of each domain; None for all.
    gate, keep_steps, on_step, random_state
        As for `AdaptedClassifier`; steps are those of the chosen candidate, once it is chosen.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, adaptation_, decision_
        As for `AdaptedClassifier`.
    choice_ : Choice or None
        Scores of all candidates, intervals, and the choice in words.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 100)
    >>> y = np.arange(200) % 2
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) + 6.0 * y[:, None] + 4.0 * domain[:, None]
    >>> clf = AutoAdaptedClassifier().fit(X, y, sample_domain=domain)
    >>> clf.score(X[domain == 1], y[domain == 1]) > 0.95, clf.choice_.sentence.startswith(clf.choice_.best)
    (True, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Method | None = None,
        max_samples: int | None = 5_000,
        gate: Gate | None = None,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator, method=method, gate=gate, keep_steps=keep_steps, on_step=on_step, random_state=random_state
        )
        self.max_samples = max_samples

    @property
    def choice_(self) -> Choice | None:
        choice: Choice | None = None if self.adaptation_ is None else self.adaptation_.choice
        return choice

    def _default_method(self) -> Method:
        networks = hasattr(self.estimator, "make_learner")
        candidates = standard_candidates(networks=networks, max_samples=self.max_samples)
        # A network that is trained again comes out otherwise; most other classifiers do not.
        committee = Committee(mixup=MIXUP) if networks else None
        return Chosen(candidates, guards=(ClassesMove(), *GUARDS), committee=committee)

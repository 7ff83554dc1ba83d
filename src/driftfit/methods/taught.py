"""A simpler model learns first, each window in its own scale; the learner takes over what it says of the target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.adaptation import Adaptation
from driftfit.methods.alignment import OwnScale, dense_matrix
from driftfit.methods.assumptions import Assumption
from driftfit.methods.carried_labels import trained_on
from driftfit.methods.method import Method
from driftfit.methods.workspace import Workspace
from driftfit.models import Learner, as_learner


@dataclass(frozen=True)
class Taught(Method):
    """Another classifier is adapted, labels the target, and the learner is trained anew on these labels and the source.

    Where columns move, a flexible model loses first what it had learnt in detail. A linear one keeps more, above all
    when each window is put in its own scale; the flexible one can then learn from it where the target is.

    Parameters
    ----------
    teacher : scikit-learn classifier, optional
        By default logistic regression on standardised columns.
    method : Method
        By which the teacher is adapted; by default each window is put in its own scale.
    mixup : float, optional
        As for `CarriedLabels`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> path = moving_gaussians((0, 3.5))
    >>> learner = as_learner(DecisionTreeClassifier(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> student = Taught().adapt(learner, path).learner
    >>> [float((own.logits(path.target.samples).argmax(axis=1) == path.target.labels).mean().round(1))
    ...  for own in (learner, student)]
    [0.5, 1.0]
    """

    teacher: Any = None
    method: Method = field(default_factory=OwnScale)
    mixup: float | None = None

    @property
    def assumes(self) -> frozenset[Assumption]:
        """What the adaptation of the teacher relies on."""
        return self.method.assumes

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        given = sequence.masked()
        windows = given.each(lambda domain: domain.with_samples(dense_matrix(domain)))
        source, target = windows.source, windows.target
        first = as_learner(_linear() if self.teacher is None else self.teacher, learner.classes)
        weights = source.uneven_weights if first.takes_weights else None
        first = first.fit(source.samples, source.codes(learner.classes), weights)
        codes = self.method.adapt(first, windows).learner.logits(target.samples).argmax(axis=1)
        if len(np.unique(codes)) < 2:
            raise InputError("the teacher sees a single class in the target: there is nothing to learn from it")
        student = trained_on(learner, given.target, codes, source=given.source, mixup=self.mixup)
        return Adaptation(student)


def _linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))

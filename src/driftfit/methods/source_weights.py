"""A new model on the source made to look like the target: its rows weighted, or mapped."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.adaptation import Adaptation
from driftfit.methods.alignment import dense_matrix
from driftfit.methods.method import Assumption, Method
from driftfit.methods.plans import Transport
from driftfit.methods.registry import offer
from driftfit.methods.workspace import Workspace
from driftfit.models import Learner


@dataclass(frozen=True)
class ImportanceWeights(Method):
    """A new model on the source, each row weighted by how much likelier the target makes it.

    Parameters
    ----------
    most : float
        No row counts for more than this many average ones.
    """

    most: float = 10.0
    on_matrices = True
    assumes = frozenset({Assumption.COVARIATES})

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        source = sequence.source
        if not learner.takes_weights:
            raise InputError(
                f"{type(learner.head().estimator).__name__} takes no sample weights; choose a classifier whose fit "
                "has sample_weight, or another method"
            )
        weights = importance_weights(dense_matrix(source), dense_matrix(sequence.target), self.most)
        if source.weights is not None:
            weights = weights * source.weights
        student = learner.fit(source.samples, source.codes(learner.classes), weights)
        return Adaptation(student)


offer("importance-weights", ImportanceWeights(), labels=True, answers=Assumption.COVARIATES)


def importance_weights(
    source: NDArray[np.float64], target: NDArray[np.float64], most: float = 10.0
) -> NDArray[np.float64]:
    """Weights of mean 1 for source rows, from a logistic regression between the rows of source and target.

    >>> source = np.repeat([[0.0], [1.0]], 50, axis=0)
    >>> weights = importance_weights(source, np.ones((100, 1)))
    >>> bool(weights[0] < 0.5 < 1.5 < weights[-1])
    True
    """
    rows = np.concatenate([source, target])
    side = np.repeat([0, 1], [len(source), len(target)])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(rows, side)
    # The odds of the target; how many rows each side has drops out with the mean.
    odds = np.exp(np.clip(model.decision_function(source), -30.0, 30.0))
    capped = np.minimum(odds / odds.mean(), most)
    return np.asarray(capped / capped.mean())


@dataclass(frozen=True)
class MappedSource(Method):
    """A new model on the source's labels at the barycentres of the target rows that one plan sends each row to.

    Courty et al. 2017. Given windows between source and target are passed over: a chain of plans adds their errors.
    """

    transport: Transport = field(default_factory=Transport)
    on_matrices = True
    assumes = frozenset({Assumption.PATH})

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        coupled = workspace.coupled(sequence.masked().ends(), self.transport)
        plan, (source, target) = coupled.plans[0], (coupled.samples.source, coupled.samples.target)
        rows = dense_matrix(target)
        mass = np.asarray(np.bincount(plan.rows, plan.mass, minlength=len(source)), dtype=np.float64)
        images = np.zeros((len(source), rows.shape[1]))
        np.add.at(images, plan.rows, plan.mass[:, None] * rows[plan.cols])
        kept = np.flatnonzero(mass > 0)
        codes = source.codes(learner.classes)[kept]
        weights = mass[kept] if learner.takes_weights and source.uneven_weights is not None else None
        student = learner.fit(images[kept] / mass[kept, None], codes, weights)
        return Adaptation(student, plans=(plan,))

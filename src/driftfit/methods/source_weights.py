"""A new model on the source, its rows weighted as the target has them."""

from __future__ import annotations

from dataclasses import dataclass

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

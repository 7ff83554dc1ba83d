"""A new model: of the source, weighted as the target has its rows, or of the rows of today that have labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.alignment import dense_matrix
from driftfit.methods.method import Adaptation, Assumption, Method
from driftfit.methods.plans import Workspace
from driftfit.methods.registry import offer
from driftfit.models import Learner
from driftfit.seeds import derive_seed


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


@dataclass(frozen=True, eq=False)
class LabelledTraining(Method):
    """A new model on the source and some labelled rows of the target: the one method that is given such labels.

    ``samples``: rows of the target. ``codes``: their labels, as numbers of the learner's classes. ``share``: part of
    the whole weight that the labelled rows get, for classifiers that take weights; by default every row of source and
    target counts the same. ``n_folds``: parts that are held out in turn by `held_out_codes`.
    """

    samples: NDArray[np.float64]
    codes: NDArray[np.int64]
    share: float | None = None
    n_folds: int = 5
    seed: int = 0
    on_matrices = True

    def __post_init__(self) -> None:
        if len(self.samples) != len(self.codes) or len(self.codes) == 0:
            raise InputError(f"{len(self.samples)} rows need as many labels, at least one; got {len(self.codes)}")
        if self.share is not None and not 0.0 < self.share < 1.0:
            raise InputError(f"share must lie between 0 and 1, got {self.share!r}")

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        student = self._trained(learner, sequence, np.arange(len(self.codes)))
        return Adaptation(student)

    def held_out_codes(self, learner: Learner, sequence: DomainSequence) -> NDArray[np.int64]:
        """What models that were not trained on a labelled row say about it: how well the labels teach."""
        n = len(self.codes)
        part = np.random.default_rng(derive_seed(self.seed, "labels")).permutation(n) % min(self.n_folds, n)
        found = np.full(n, -1, dtype=np.int64)
        for number in np.unique(part):
            held = part == number
            fit = np.flatnonzero(~held)
            model = self._trained(learner, sequence, fit) if len(fit) else learner
            found[held] = model.logits(self.samples[held]).argmax(axis=1)
        return found

    def _trained(self, learner: Learner, sequence: DomainSequence, rows: NDArray[np.int64]) -> Learner:
        source = sequence.source
        samples = np.concatenate([dense_matrix(source), self.samples[rows]])
        codes = np.concatenate([source.codes(learner.classes), self.codes[rows]])
        if self.share is None and source.uneven_weights is None:
            return learner.fit(samples, codes)
        share = len(rows) / len(codes) if self.share is None else self.share
        own = np.full(len(source), 1.0 / len(source)) if source.weights is None else source.weights
        weights = np.concatenate([(1.0 - share) * own, np.full(len(rows), share / len(rows))])
        return learner.fit(samples, codes, weights)

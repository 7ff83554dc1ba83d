"""A gate: keep the source model where the estimate says that adaptation hurts."""

from __future__ import annotations

from dataclasses import dataclass

from gradapt.domains import DomainSequence
from gradapt.learners import Learner
from gradapt.trust.accuracy import AccuracyEstimate, AccuracyEstimator
from gradapt.trust.view import PathView
from gradapt.trust.witness import BestWitness

__all__ = ["GateDecision", "keep_better"]


@dataclass(frozen=True)
class GateDecision:
    """Which of two models to keep for the target.

    Attributes
    ----------
    keep_source : bool
        Whether adaptation is estimated to hurt.
    before, after : AccuracyEstimate
        Of the source model and of the adapted model on the target.
    """

    keep_source: bool
    before: AccuracyEstimate
    after: AccuracyEstimate

    @property
    def sentence(self) -> str:
        """The decision in words."""
        kept = "the source model is kept" if self.keep_source else "the adapted model is kept"
        return (
            f"estimated target accuracy by {self.after.method}: {100 * self.before.value:.1f} % before and "
            f"{100 * self.after.value:.1f} % after adaptation; {kept}"
        )


def keep_better(
    sequence: DomainSequence,
    source: Learner,
    adapted: Learner,
    *,
    estimator: AccuracyEstimator | None = None,
    seed: int = 0,
) -> GateDecision:
    """Compare a source model with its adapted version on the target, without target labels.

    Parameters
    ----------
    sequence : DomainSequence
        The domains that the model was adapted along.
    source, adapted : Learner
        Both trained. A copy of ``source`` is trained on two thirds of the source for calibration.
    estimator : AccuracyEstimator, optional
        `BestWitness` by default.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.learners import as_learner
    >>> path = moving_gaussians((0, 0.5, 1.0))
    >>> source = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> spoilt = source.fit(path.target.samples, 1 - path.target.labels)
    >>> keep_better(path, source, spoilt).keep_source
    True
    """
    view = PathView.of(sequence, source, seed)
    prepared = (estimator or BestWitness()).prepare(view)
    number = len(view.sequence) - 1
    before = prepared.estimate(source, number, adapted=False)
    after = prepared.estimate(adapted, number, adapted=True)
    return GateDecision(after.value < before.value, before, after)


@dataclass(frozen=True)
class Gate:
    seed: int = 0

    def decide(self, sequence: DomainSequence, source: Learner, adapted: Learner) -> GateDecision:
        return keep_better(sequence, source, adapted, seed=self.seed)


Decision = GateDecision

"""Accuracy along the path, before and after adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradapt.domains import DomainSequence
from gradapt.trust.accuracy import AccuracyEstimate, AccuracyEstimator
from gradapt.trust.view import PathView, walk
from gradapt.trust.witness import BestWitness

__all__ = ["DomainAccuracy", "estimate_along"]


@dataclass(frozen=True)
class DomainAccuracy:
    """Estimated accuracy on one domain of the source model and of the model led there.

    Attributes
    ----------
    domain : str
    before, after : AccuracyEstimate
        Of the source model, and of gradual self-training up to this domain.
    """

    domain: str
    before: AccuracyEstimate
    after: AccuracyEstimate

    @property
    def gain(self) -> float:
        """What adaptation is estimated to bring."""
        return self.after.value - self.before.value


def estimate_along(
    sequence: DomainSequence, model: Any, *, estimator: AccuracyEstimator | None = None, seed: int = 0
) -> tuple[DomainAccuracy, ...]:
    """Accuracy of the source model and of gradual self-training on every domain after the source, without labels.

    Parameters
    ----------
    sequence : DomainSequence
        Labels of any domain but the source are removed first.
    model : classifier or Learner
        Cloned, trained on two thirds of the source and led along the path by self-training.
    estimator : AccuracyEstimator, optional
        `BestWitness` by default.
    seed : int

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> path = moving_gaussians((0, 1, 2))
    >>> for domain in estimate_along(path, LogisticRegression()):
    ...     print(domain.domain, round(domain.before.value, 1), round(domain.after.value, 1))
    1 0.9 0.9
    2 0.6 0.6
    """
    view = PathView.of(sequence, model, seed)
    prepared = (estimator or BestWitness()).prepare(view)
    learners = walk(view.learner, list(view.sequence[1:]))
    return tuple(
        DomainAccuracy(
            view.sequence[number].name,
            prepared.estimate(view.learner, number, adapted=False),
            prepared.estimate(learners[number], number, adapted=True),
        )
        for number in range(1, len(view.sequence))
    )

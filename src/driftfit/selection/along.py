"""Accuracy along the path, before and after adaptation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftfit.domains import DomainSequence
from driftfit.models import Learner
from driftfit.selection.accuracy import AccuracyEstimate, AccuracyEstimator, prepared_on
from driftfit.selection.carried_or_agreement import CarriedOrAgreement
from driftfit.selection.gain import compared
from driftfit.selection.view import PathView


@dataclass(frozen=True)
class DomainAccuracy:
    """Estimated accuracy on one domain of the source model and of the model adapted to it.

    Attributes
    ----------
    number : int
        Of the domain; the source is 0.
    domain : str
        Its name.
    before, after : AccuracyEstimate
        Of the source model, and of the student on this domain.
    """

    number: int
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
        Cloned, trained on two thirds of the source and adapted along the path by self-training.
    estimator : AccuracyEstimator, optional
        `CarriedOrAgreement` by default.
    seed : int

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> path = moving_gaussians((0, 1, 2))
    >>> for domain in estimate_along(path, LogisticRegression()):
    ...     print(domain.domain, round(domain.before.value, 2), round(domain.after.value, 2))
    1 0.91 0.95
    2 0.56 0.56
    """
    view = PathView.of(sequence, model, seed)
    return accuracy_along(view, estimator or CarriedOrAgreement(), view.learner, dict(enumerate(view.students)))


def accuracy_along(
    view: PathView, estimator: AccuracyEstimator, source: Learner, students: Mapping[int, Learner]
) -> tuple[DomainAccuracy, ...]:
    """Accuracy of a source model and of its students, by the numbers of their domains, on a view."""
    prepared = prepared_on(view, estimator)
    found = {number: compared(prepared, source, students[number], number) for number in sorted(students) if number > 0}
    return tuple(DomainAccuracy(n, view.sequence[n].name, both.before, both.after) for n, both in found.items())

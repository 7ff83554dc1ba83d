"""A bound on the target error from data alone, with its probability and the one thing it has to assume."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence, LabelledDomain
from driftfit.errors import InputError
from driftfit.learners import Learner, as_learner
from driftfit.methods import GradualSelfTraining, Method
from driftfit.seeds import derive_seed
from driftfit.theory import Bound, transported_error
from driftfit.transport import transport
from driftfit.trust.moves import LabelledPoints, Moves
from driftfit.trust.view import encoded_rows

__all__ = ["ErrorCertificate", "error_certificate"]

# A half is trained on, the other is counted on; fewer rows say nothing.
_FEWEST = 20
_SPLITS = 10


@dataclass(frozen=True, eq=False)
class ErrorCertificate:
    """A bound on the target error, the models it is about and the rows it was counted on.

    Attributes
    ----------
    bound : Bound
    source, adapted : Learner
        The models; the bound is about the second.
    rows : tuple of int arrays
        Rows of each domain that were counted on, and not trained on.
    crossing : float
        The share of a plan that is assumed at most to join different classes.
    """

    bound: Bound
    source: Learner
    adapted: Learner
    rows: tuple[NDArray[np.int64], ...]
    crossing: float


def error_certificate(
    sequence: DomainSequence,
    model: Any,
    *,
    method: Method | None = None,
    crossing: float | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> ErrorCertificate:
    """Adapt on one half of every domain, and bound the target error on the other, without a target label.

    Parameters
    ----------
    sequence : DomainSequence
        Labels of any domain but the source are removed first.
    model : classifier or Learner
        Cloned and trained on half of the source.
    method : Method, optional
        Gradual self-training by default.
    crossing : float, optional
        The share of each plan that is assumed at most to join different classes. By default the most that plans
        between halves of the source's counted rows join, whose classes are known: sampling noise without any shift.
    delta : float
        The bound holds with probability at least ``1 - delta`` where the assumption does.
    seed : int

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> found = error_certificate(moving_gaussians((0, 0.5, 1.0)), LogisticRegression())
    >>> found.bound.total < 1.0, found.bound.probability
    (True, 0.95)
    """
    masked = sequence.masked()
    halves = [_halves(domain, seed, number) for number, domain in enumerate(masked)]
    trained, counted = (
        DomainSequence([domain.take(rows[side]) for domain, rows in zip(masked, halves, strict=True)])
        for side in (0, 1)
    )
    template = model if isinstance(model, Learner) else as_learner(model, masked.source.classes)
    source = template.fit(trained.source.samples, trained.source.codes(template.classes))
    adapted = (method or GradualSelfTraining(measure_shift=False)).adapt(source, trained).learner
    if crossing is None:
        # On rows that an encoder trained with labels has not seen.
        crossing = _source_crossing(source, counted.source, seed)
    answers = _answers(source, counted[0].samples)
    shares = np.eye(len(source.classes))[answers]
    features = [encoded_rows(source, domain.samples) for domain in counted]
    for before, after in pairwise(features):
        shares = transport(before, after).carry(shares)
    same = shares[np.arange(len(shares)), _answers(adapted, counted[-1].samples)]
    wrong = int((answers != counted.source.codes(source.classes)).sum())
    bound = transported_error(
        (wrong, len(answers)), 1.0 - float(same.mean()), np.full(len(masked) - 1, crossing), len(same), delta=delta
    )
    return ErrorCertificate(bound, source, adapted, tuple(rows for _, rows in halves), crossing)


def _halves(domain: Domain, seed: int, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if len(domain) < 2 * _FEWEST:
        raise InputError(f"domain {domain.name!r} has {len(domain)} samples; the certificate needs {2 * _FEWEST}")
    if domain.uneven_weights is not None:
        raise InputError(
            f"domain {domain.name!r} has sample weights, which the certificate does not count; leave them out"
        )
    order = np.random.default_rng(derive_seed(seed, "certificate", number)).permutation(len(domain))
    middle = len(order) // 2
    return np.sort(order[:middle]), np.sort(order[middle:])


def _source_crossing(learner: Learner, source: LabelledDomain, seed: int) -> float:
    """The largest share of a plan between two halves of the source that joins different classes, of some splits."""
    points = LabelledPoints(encoded_rows(learner, source.samples), source.codes(learner.classes))
    found = []
    for split in range(_SPLITS):
        order = np.random.default_rng(derive_seed(seed, "crossing", split)).permutation(len(points))
        found.append(Moves.between(points.take(order[::2]), points.take(order[1::2])).crossing)
    return max(found)


def _answers(learner: Learner, samples: Any) -> NDArray[np.int64]:
    return np.asarray(learner.logits(samples).argmax(axis=1))

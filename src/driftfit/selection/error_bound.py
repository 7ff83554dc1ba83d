"""A bound on the target error that holds under one assumption, which the caller states: how far plans mix classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence, LabelledDomain
from driftfit.errors import InputError
from driftfit.methods import GradualSelfTraining, Method
from driftfit.models import Learner, as_learner
from driftfit.seeds import derive_seed
from driftfit.selection.moves import LabelledPoints, Moves
from driftfit.selection.view import encoded_rows
from driftfit.theory import Bound, heuristic, transported_error
from driftfit.transport import transport

# A half is trained on, the other is counted on; fewer rows say nothing.
_FEWEST = 20


@dataclass(frozen=True)
class SourceCrossing:
    """Guess the crossing: the most that plans between halves of the source join, whose classes are known.

    This is sampling noise without any shift. A shift can join far more, up to the whole mass where classes take each
    other's place, so that what is built on it is a heuristic.

    Parameters
    ----------
    n_splits : int
        Draws of the halves.
    """

    n_splits: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.n_splits, int | np.integer) or self.n_splits < 1:
            raise InputError(f"n_splits must be a whole number of at least 1, got {self.n_splits!r}")


@dataclass(frozen=True, eq=False)
class ErrorCertificate:
    """A bound on the target error, the assumption it rests on, the models it is about and the rows it was counted on.

    Attributes
    ----------
    bound : Bound
        Its standing is a guarantee where the crossing was stated, and holds only where what was stated is true. It is
        a heuristic, without a probability, where the crossing was guessed on the source.
    source, adapted : Learner
        The models; the bound is about the second.
    rows : tuple of int arrays
        Rows of each domain that were counted on, and not trained on.
    crossing : float
        The share of a plan that is assumed at most to join different classes.
    guessed : bool
        Whether the crossing is that of the source, and nobody vouches for it on the way to the target.
    """

    bound: Bound
    source: Learner
    adapted: Learner
    rows: tuple[NDArray[np.int64], ...]
    crossing: float
    guessed: bool

    @property
    def assumption(self) -> str:
        """What must be true for the bound to hold, in a sentence."""
        origin = (
            "guessed from halves of the source, and a shift can join more" if self.guessed else "as the caller says"
        )
        return (
            f"no plan along the path joins different classes for more than {100 * self.crossing:.3g} % of its mass: "
            f"{origin}; data without target labels cannot show it"
        )


def error_certificate(
    sequence: DomainSequence,
    model: Any,
    *,
    crossing: float | SourceCrossing,
    method: Method | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> ErrorCertificate:
    """Adapt on one half of every domain, and bound the target error on the other, under an assumption on the plans.

    The bound holds only where no plan along the path joins different classes for more than a share of its mass. No data
    without target labels can show that: two classes that turn until they have changed places look as if they had never
    moved. So the share has to be stated, by somebody who knows the domains. With `SourceCrossing` it is
    guessed, and what comes out is no guarantee: for two groups that turn by 150 degrees in two steps it is too small.

    Parameters
    ----------
    sequence : DomainSequence
        Labels of any domain but the source are removed first.
    model : classifier or Learner
        Cloned and trained on half of the source.
    crossing : float or SourceCrossing
        The share of each plan, 0 to 1, that is assumed at most to join different classes; 1 assumes nothing, and then
        the bound says nothing. `SourceCrossing()` guesses it.
    method : Method, optional
        Gradual self-training by default.
    delta : float
        With a stated crossing the bound holds with probability at least ``1 - delta`` where the statement is true.
    seed : int

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> path = moving_gaussians((0, 0.5, 1.0))
    >>> stated = error_certificate(path, LogisticRegression(), crossing=0.1)
    >>> stated.bound.total < 1.0, stated.bound.probability
    (True, 0.95)
    >>> print(stated.assumption[:74])
    no plan along the path joins different classes for more than 10 % of its m
    >>> error_certificate(path, LogisticRegression(), crossing=SourceCrossing()).bound.standing.kind.value
    'heuristic'
    """
    _check_crossing(crossing)
    halves = [_halves(domain, seed, number) for number, domain in enumerate(sequence)]
    trained, counted = (
        DomainSequence([domain.take(rows[side]) for domain, rows in zip(sequence.masked(), halves, strict=True)])
        for side in (0, 1)
    )
    template = model if isinstance(model, Learner) else as_learner(model, sequence.source.classes)
    source = template.fit(trained.source.samples, trained.source.codes(template.classes))
    adapted = (method or GradualSelfTraining(measure_shift=False)).adapt(source, trained).learner
    # Guessed on rows that an encoder trained with labels has not seen.
    assumed = _assumed(crossing, source, counted.source, seed)
    bound = _bound(source, adapted, counted, assumed, delta)
    if guessed := isinstance(crossing, SourceCrossing):
        bound = replace(bound, standing=heuristic("how far plans mix classes is guessed on the source alone"))
    return ErrorCertificate(bound, source, adapted, tuple(rows for _, rows in halves), assumed, guessed)


def _bound(source: Learner, adapted: Learner, counted: DomainSequence, crossing: float, delta: float) -> Bound:
    """The source model's answers, carried along the path, against those of the adapted model."""
    answers = _answers(source, counted[0].samples)
    shares = np.eye(len(source.classes))[answers]
    for before, after in pairwise(encoded_rows(source, domain.samples) for domain in counted):
        shares = transport(before, after).carry(shares)
    same = shares[np.arange(len(shares)), _answers(adapted, counted[-1].samples)]
    wrong = int((answers != counted.source.codes(source.classes)).sum())
    crossings = np.full(len(counted) - 1, crossing)
    return transported_error((wrong, len(answers)), 1.0 - float(same.mean()), crossings, len(same), delta=delta)


def _check_crossing(crossing: float | SourceCrossing) -> None:
    if not isinstance(crossing, SourceCrossing) and not 0.0 <= crossing <= 1.0:
        raise InputError(
            f"crossing must be a share between 0 and 1, or SourceCrossing(), got {crossing!r}; it is the most that a "
            "plan is assumed to join different classes"
        )


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


def _assumed(crossing: float | SourceCrossing, learner: Learner, source: LabelledDomain, seed: int) -> float:
    """As stated; or the largest share of a plan between halves of the source that joins different classes."""
    if not isinstance(crossing, SourceCrossing):
        return crossing
    points = LabelledPoints(encoded_rows(learner, source.samples), source.codes(learner.classes))
    found = []
    for split in range(crossing.n_splits):
        order = np.random.default_rng(derive_seed(seed, "crossing", split)).permutation(len(points))
        found.append(Moves.between(points.take(order[::2]), points.take(order[1::2])).crossing)
    return max(found)


def _answers(learner: Learner, samples: Any) -> NDArray[np.int64]:
    return np.asarray(learner.logits(samples).argmax(axis=1))

"""The one decision: is the path gradual enough, what do the models get right, and which of them to use?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Transport
from driftfit.models import Learner
from driftfit.selection.accuracy import AccuracyEstimator, prepared_on
from driftfit.selection.along import accuracy_along
from driftfit.selection.carried_or_agreement import CarriedOrAgreement
from driftfit.selection.checking import FEWEST_SAMPLES, diagnose
from driftfit.selection.decision import Decision, Keep, decided, unanswered
from driftfit.selection.gain import compared
from driftfit.selection.lost_class import lost_class
from driftfit.selection.view import PathView


@dataclass(frozen=True)
class Gate:
    """How to decide between a source model and its adapted version, without target labels.

    The source model is kept where the verdict says "do not adapt" or "get labels here", where adaptation
    lost a class, or where the adapted model is estimated to be worse on the same rows. Where the estimates are not
    reliable, it must be better by more than sampling error.

    Parameters
    ----------
    estimator : AccuracyEstimator
        `CarriedOrAgreement` by default.
    keep : Keep
        ``Keep.ADAPTED`` says all the same and keeps the adapted model in any case.
    seed : int
        Of the splits and samples.
    max_samples : int or None
        Rows of a domain that are looked at; None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.models import as_learner
    >>> path = moving_gaussians((0, 0.5, 1.0))
    >>> source = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> spoilt = source.fit(path.target.samples, 1 - path.target.labels)
    >>> decision = Gate().decide(path, source, spoilt)
    >>> decision.kept, decision.after.value < decision.before.value
    ('source', True)
    """

    estimator: AccuracyEstimator = field(default_factory=CarriedOrAgreement)
    keep: Keep = Keep.BETTER
    seed: int = 0
    max_samples: int | None = 2_000

    def __post_init__(self) -> None:
        if self.max_samples is not None and self.max_samples < FEWEST_SAMPLES:
            raise InputError(f"max_samples must be at least {FEWEST_SAMPLES} or None, got {self.max_samples!r}")

    def view(self, sequence: DomainSequence, model: Any) -> PathView:
        """The one view of a path that the verdict and all estimates are computed on.

        Parameters
        ----------
        sequence : DomainSequence
            The domains to adapt along; labels but the source's are removed.
        model : classifier or Learner
            A copy is trained on two thirds of the source, for calibration.
        """
        return PathView.of(sequence.masked().each(self._sampled), model, self.seed)

    def checked_view(self, sequence: DomainSequence, model: Any) -> PathView:
        """`view`, with its verdict; what cannot be checked is refused here, before anything is adapted."""
        view = self.view(sequence, model)
        diagnose(view)
        return view

    def decide(
        self,
        sequence: DomainSequence,
        source: Learner,
        adapted: Learner | None = None,
        *,
        students: Mapping[int, Learner] | None = None,
        n_generated: int = 0,
    ) -> Decision:
        """`assess` on a view of its own; both learners are trained, ``source`` on the source of the sequence."""
        view = self.view(sequence, source)
        return assess(view, source, adapted, gate=self, students=students, n_generated=n_generated)

    def _sampled(self, domain: Domain) -> Domain:
        # The rows that plans are made between, where these are as many.
        return Transport(max_samples=self.max_samples, seed=self.seed).sampled(domain)


def assess(
    view: PathView,
    source: Learner,
    adapted: Learner | None = None,
    *,
    gate: Gate | None = None,
    students: Mapping[int, Learner] | None = None,
    n_generated: int = 0,
) -> Decision:
    """Verdict, estimates and the model to use, all on one view.

    A second call on the same view, once something was adapted, repeats nothing of the first.

    Parameters
    ----------
    view : PathView
    source : Learner
        Trained on the source.
    adapted : Learner, optional
        Its version for the target; without it the decision is about the path and the source model alone.
    gate : Gate, optional
        The estimator and what to keep; seed and samples are those of the view.
    students : mapping of int to Learner, optional
        The model after each given domain, by the number of the domain; by default those of plain
        gradual self-training before adapting, and the adapted model on the target after it.
    n_generated : int
        Domains that were generated between two neighbours.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> view = PathView.of(moving_gaussians((0, 0.5, 1.0)), LogisticRegression())
    >>> decision = assess(view, view.learner)
    >>> decision.verdict.advice.value, decision.kept, len(decision.along)
    ('adapt', 'source', 2)
    """
    gate = gate or Gate()
    if students is None:
        students = dict(enumerate(view.students)) if adapted is None else {view.last: adapted}
    verdict = diagnose(view)
    prepared = prepared_on(view, gate.estimator)
    along = accuracy_along(view, gate.estimator, source, students)
    if adapted is None:
        before = prepared.estimate(source, view.last, adapted=False)
        return Decision(verdict, before, None, along, None, *decided(verdict, None, None, gate.keep), n_generated)
    found = compared(prepared, source, adapted, view.last)
    lost = lost_class(view, source, adapted)
    kept, reasons = decided(verdict, found, lost, gate.keep)
    reasons += unanswered(verdict, n_generated)
    after = found.after if lost is None else replace(found.after, reliable=False)
    return Decision(verdict, found.before, after, along, lost, kept, reasons, n_generated, found.gain)

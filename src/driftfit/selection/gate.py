"""The one decision: does what a method assumes stand, was a class lost on the way, and which model to use?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Assumption, Transport
from driftfit.models import Learner
from driftfit.selection.decision import Decision, Keep, decided
from driftfit.selection.guards import lost_class
from driftfit.selection.refutation import climb
from driftfit.selection.verdict import FEWEST_SAMPLES, diagnose
from driftfit.selection.view import PathView

_PATH = frozenset({Assumption.PATH})


@dataclass(frozen=True)
class Gate:
    """How to decide between a source model and its adapted version, without target labels.

    The source model is kept where the data refute what the method assumes (for methods that follow a path: where the
    verdict is other than "adapt", or asks for generated domains and there are some), and where adaptation lost a class.

    Parameters
    ----------
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
    >>> path = moving_gaussians((0, 3))
    >>> source = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> adapted = source.fit(path.target.samples, path.target.labels)
    >>> Gate().decide(path, source, adapted).sentence
    'the check asks for domains generated between 0 -> 3, and none was generated; the source model is kept'
    """

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
        n_generated: int = 0,
        assumes: Collection[Assumption] = _PATH,
    ) -> Decision:
        """`assess` on a view of its own; both learners are trained, ``source`` on the source of the sequence."""
        view = self.view(sequence, source)
        return assess(view, source, adapted, gate=self, n_generated=n_generated, assumes=assumes)

    def _sampled(self, domain: Domain) -> Domain:
        # The rows that plans are made between, where these are as many.
        return Transport(max_samples=self.max_samples, seed=self.seed).sampled(domain)


def assess(
    view: PathView,
    source: Learner,
    adapted: Learner | None = None,
    *,
    gate: Gate | None = None,
    n_generated: int = 0,
    assumes: Collection[Assumption] = _PATH,
) -> Decision:
    """The verdict and the model to use, on one view.

    A second call on the same view, once something was adapted, repeats nothing of the first.

    Parameters
    ----------
    view : PathView
    source : Learner
        Trained on the source.
    adapted : Learner, optional
        Its version for the target; without it the decision is about the path alone.
    gate : Gate, optional
        What to keep; seed and samples are those of the view.
    n_generated : int
        Domains that were generated between two neighbours.
    assumes : collection of Assumption
        What the method rests on (`driftfit.methods.Method.assumes`), which is tested.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> view = PathView.of(moving_gaussians((0, 0.5, 1.0)), LogisticRegression())
    >>> decision = assess(view, view.learner)
    >>> decision.verdict.advice.value, decision.kept
    ('adapt', 'source')
    """
    keep, verdict = (gate or Gate()).keep, diagnose(view)
    if adapted is None:
        return Decision(verdict, None, "source", ("no adaptation was asked for",), n_generated)
    lost = lost_class(view, source, adapted)
    against = (*_refuted(view, assumes), *([lost] if lost else []))
    kept, reasons = decided(verdict, n_generated, against, keep, along_path=Assumption.PATH in assumes)
    tested = bool(set(assumes) - _PATH) and not against
    return Decision(verdict, lost, kept, reasons, n_generated, compared=tested and kept == "adapted")


def _refuted(view: PathView, assumes: Collection[Assumption]) -> tuple[str, ...]:
    """What the rows say against assumptions that are not about the path."""
    others = tuple(name for name in Assumption if name in assumes and name is not Assumption.PATH)
    if not others or len(view.sequence.target.samples.shape) > 2:
        # Pixels are no columns: nothing is tested on them but the path.
        return ()
    ladder = view.once(("ladder", others), lambda: climb(view.learner, view.sequence, others, seed=view.seed))
    if not ladder.moved.rejected:
        return (ladder.moved.sentence,)
    return tuple(one.sentence for one in ladder.tested.values() if one.rejected)

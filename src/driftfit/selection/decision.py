"""`Decision`: what is known about an adaptation without target labels, and which model to use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from driftfit.selection.accuracy import AccuracyEstimate
from driftfit.selection.along import DomainAccuracy
from driftfit.selection.gain import Compared, PairedGain
from driftfit.selection.verdict import Advice, Verdict

Kept = Literal["source", "adapted"]


class Keep(Enum):
    """Which model to keep: the better one by all that is known, or the adapted one in any case."""

    BETTER = "better"
    ADAPTED = "adapted"


@dataclass(frozen=True)
class Decision:
    """Answer of `driftfit.selection.assess` and of `Gate.decide`.

    Attributes
    ----------
    verdict : Verdict
        What the check of the path says.
    before : AccuracyEstimate
        Of the source model on the target.
    after : AccuracyEstimate or None
        Of the adapted model on the target; None where nothing was adapted. Not reliable where a class was lost.
    along : tuple of DomainAccuracy
        Estimates on the domains after the source, of the source model and of the students.
        Before adapting, the students are those of plain gradual self-training.
    lost : str or None
        The class that adaptation lost, in words.
    kept : str
        ``source`` or ``adapted``.
    reasons : tuple of str
        Why this model is kept, the deciding reason first.
    n_generated : int
        Domains that were generated between two neighbours.
    gain : PairedGain or None
        What the adapted model is estimated to win over the source model on the same rows of the target.
    compared : bool
        Whether the model was kept because a comparison without labels found it better, whatever the verdict.
    """

    verdict: Verdict
    before: AccuracyEstimate
    after: AccuracyEstimate | None
    along: tuple[DomainAccuracy, ...]
    lost: str | None
    kept: Kept
    reasons: tuple[str, ...]
    n_generated: int = 0
    gain: PairedGain | None = None
    compared: bool = False

    @property
    def keep_source(self) -> bool:
        """Whether the source model is the one to use."""
        return self.kept == "source"

    @property
    def estimate(self) -> AccuracyEstimate:
        """Estimated accuracy of the kept model on the target."""
        return self.before if self.keep_source or self.after is None else self.after

    @property
    def trusted(self) -> bool:
        """Whether the path was followed as the verdict advises, and the adapted model is the one to use."""
        filled = self.verdict.advice is Advice.GENERATE and self.n_generated > 0
        return (self.verdict.trusted or filled or self.compared) and not self.keep_source

    @property
    def sentence(self) -> str:
        """The decision and its deciding reason in words, and whether the verdict asked for what was not done."""
        missing = [reason for reason in self.reasons[1:] if reason in unanswered(self.verdict, self.n_generated)]
        return "; ".join([self.reasons[0], *missing, f"the {self.kept} model is kept"])


def unanswered(verdict: Verdict, n_generated: int) -> tuple[str, ...]:
    """A reason to tell where the verdict asks for generated domains and none was generated; else none."""
    if verdict.advice is not Advice.GENERATE or n_generated > 0:
        return ()
    where = " -> ".join(verdict.where or ())
    return (f"the check asks for domains generated between {where}, and none was generated",)


def decided(verdict: Verdict, found: Compared | None, lost: str | None, keep: Keep) -> tuple[Kept, tuple[str, ...]]:
    """Which model to keep and why: the verdict's veto, then a lost class, then the gain on the same rows."""
    if found is None:
        return "source", ("no adaptation was asked for",)
    estimates = (
        f"estimated target accuracy by {found.after.method}: {100 * found.before.value:.1f} % before and "
        f"{100 * found.after.value:.1f} % after adaptation, on the same rows {found.gain}"
    )
    against = []
    if verdict.advice in (Advice.DO_NOT_ADAPT, Advice.GET_LABELS):
        against.append(f"the check advises: {verdict.advice.value}")
    if lost is not None:
        against.append(lost)
    if keep is Keep.ADAPTED:
        return "adapted", ("; ".join(["the adapted model was asked for in any case", *against, estimates]),)
    if not found.gain.settled:
        estimates += ", not settled by more than sampling error"
    # Estimates that may be wrong altogether must at least be sure of the order of the two models.
    better = found.gain.settled or (found.after.reliable and found.gain.value >= 0.0)
    return "source" if against or not better else "adapted", (*against, estimates)

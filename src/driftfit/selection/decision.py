"""`Decision`: what is known about an adaptation without target labels, and which model to use."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from driftfit.selection.accuracy import AccuracyEstimate, rows_to_label
from driftfit.selection.verdict import Advice, Verdict

Kept = Literal["source", "adapted"]


class Keep(Enum):
    """Which model to keep: the better one by all that is known, or the adapted one in any case."""

    BETTER = "better"
    ADAPTED = "adapted"


def _unknown() -> AccuracyEstimate:
    return AccuracyEstimate.unknown(f"label {rows_to_label()} rows to know it")


@dataclass(frozen=True)
class Decision:
    """Answer of `driftfit.selection.assess` and of `Gate.decide`.

    Attributes
    ----------
    verdict : Verdict
        What the check of the path says.
    lost : str or None
        The class that adaptation lost, in words.
    kept : str
        ``source`` or ``adapted``.
    reasons : tuple of str
        Why this model is kept, the deciding reason first.
    n_generated : int
        Domains that were generated between two neighbours.
    compared : bool
        Whether the model was kept by evidence other than the check of the path, such as labels or a declared
        assumption.
    before : AccuracyEstimate
        Of the source model on the target; unknown where no evidence speaks of it.
    after : AccuracyEstimate or None
        Of the adapted model on the target; None where nothing was adapted.
    """

    verdict: Verdict
    lost: str | None
    kept: Kept
    reasons: tuple[str, ...]
    n_generated: int = 0
    compared: bool = False
    before: AccuracyEstimate = field(default_factory=_unknown)
    after: AccuracyEstimate | None = None

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
        """Whether evidence stands behind the adapted model, and it is the one to use."""
        return (self.compared or followed(self.verdict, self.n_generated)) and not self.keep_source

    @property
    def sentence(self) -> str:
        """The decision and its deciding reason in words."""
        return "; ".join([*self.reasons, f"the {self.kept} model is kept"])


def followed(verdict: Verdict, n_generated: int) -> bool:
    """Whether the path was followed as the verdict advises: as it is, or with generated domains."""
    return verdict.trusted or (verdict.advice is Advice.GENERATE and n_generated > 0)


def unanswered(verdict: Verdict, n_generated: int) -> tuple[str, ...]:
    """A reason to tell where the verdict asks for generated domains and none was generated; else none."""
    if verdict.advice is not Advice.GENERATE or n_generated > 0:
        return ()
    where = " -> ".join(verdict.where or ())
    return (f"the check asks for domains generated between {where}, and none was generated",)


def decided(
    verdict: Verdict, n_generated: int, against: tuple[str, ...], keep: Keep, *, along_path: bool
) -> tuple[Kept, tuple[str, ...]]:
    """Which model to keep and why: the source model where anything speaks against the adapted one.

    ``against``: what speaks against the adapted model, whatever the path. ``along_path``: whether the method rests on
    the path, so that the verdict counts.
    """
    if along_path and not followed(verdict, n_generated):
        against = (*(unanswered(verdict, n_generated) or (f"the check advises: {verdict.advice.value}",)), *against)
    if keep is Keep.ADAPTED:
        return "adapted", ("; ".join(["the adapted model was asked for in any case", *against]),)
    if against:
        return "source", against
    return "adapted", ("nothing speaks against what the method assumes",)

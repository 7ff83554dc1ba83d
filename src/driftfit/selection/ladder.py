"""The ladder of evidence: what a choice without labels of today rests on, and what was refuted on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from math import ceil
from typing import Any

from driftfit.methods import Assumption
from driftfit.selection.accuracy import AccuracyEstimate
from driftfit.selection.evidence import Choice
from driftfit.selection.exchange import Moved

# Of the rows that a few labels are asked for, four fifths are rows on which the models differ (`rows_to_ask`).
_DIFFERING = 0.8
# So many rows on which two models differ show with 80 % power, at 5 %, which one is right three times as often.
_ROWS_THAT_DIFFER = 29


class Rung(Enum):
    """What a decision rests on, the strongest evidence first."""

    LABELS = "labels of today"
    HISTORY = "backtests over labelled history"
    ASSUMPTION = "a declared assumption"
    NOTHING = "nothing speaks for a change"


@dataclass(frozen=True)
class Tested:
    """An assumption, and whether what follows from it can be seen in the data.

    ``objection``: what the data say against it. ``support``: what was looked at, where nothing speaks against it.
    ``testable``: whether the data could have refuted it; where not, the objection says why, and nothing rests on it.
    ``generated``: whether it stands only for methods that generate domains: the given ones lie too far apart.
    """

    assumption: Assumption
    objection: str | None = None
    support: str = ""
    testable: bool = True
    generated: bool = False

    @property
    def rejected(self) -> bool:
        """Whether the data refute it, or could not have."""
        return self.objection is not None

    @property
    def sentence(self) -> str:
        """The finding in words.

        >>> Tested(Assumption.SCALE, "the columns still differ (p 0.005)").sentence
        'scale (each column changed its unit or its offset) is refuted: the columns still differ (p 0.005)'
        """
        head = f"{self.assumption} ({self.assumption.meaning})"
        if self.objection is not None:
            return f"{head} {'is refuted' if self.testable else 'cannot be tested'}: {self.objection}"
        return f"{head} is not refuted: {self.support}"


@dataclass(frozen=True, eq=False)
class Alternative:
    """What another model would answer if an assumption held that nobody declared.

    ``method``: name of the method. ``changed``: share of today's rows that it answers otherwise than the reference.
    ``labels``: rows of today whose labels would settle which of the two is right; 0 where they hardly differ.
    """

    assumption: Assumption
    method: str
    changed: float
    labels: int

    @property
    def sentence(self) -> str:
        """The alternative in words."""
        if self.labels == 0:
            return f"if {self.assumption.meaning} ({self.assumption}): the answers stay as they are"
        return (
            f"if {self.assumption.meaning} ({self.assumption}): {self.method} changes {100 * self.changed:.0f} % of "
            f"the answers; labels of {self.labels} rows would settle it"
        )


def labels_to_settle(changed: float, n_rows: int) -> int:
    """Rows to label so that two models are told apart, where one is right three times as often as the other.

    >>> labels_to_settle(0.2, 1000), labels_to_settle(0.01, 1000), labels_to_settle(0.0, 1000)
    (37, 13, 0)
    """
    return ceil(min(_ROWS_THAT_DIFFER, round(changed * n_rows)) / _DIFFERING)


@dataclass(frozen=True, eq=False)
class Ladder:
    """What was declared and tested, and what the answer rests on.

    ``declared``: the one that is believed most first. ``moved``: whether the target differs from the source at all.
    ``tested``: by assumption: the declared ones, or all of them where none was declared. Empty where nothing moved.
    ``used``: the declared assumption that the chosen model rests on. ``before`` and ``estimate``: accuracy on the
    target of the reference and of the chosen model, if the assumption holds. ``others``: what other assumptions would
    change, where none was declared.
    """

    declared: tuple[Assumption, ...]
    moved: Moved
    tested: Mapping[Assumption, Tested] = field(default_factory=dict)
    rung: Rung = Rung.NOTHING
    used: Assumption | None = None
    before: AccuracyEstimate | None = None
    estimate: AccuracyEstimate | None = None
    others: tuple[Alternative, ...] = ()

    @property
    def standing(self) -> tuple[Assumption, ...]:
        """Assumptions that were tested and not refuted."""
        return tuple(name for name, found in self.tested.items() if not found.rejected)

    def why_kept(self, reference: str) -> str:
        """Why the reference stays, in one sentence."""
        if not self.moved.rejected:
            return f"{reference} stays: {self.moved.sentence}"
        if not self.declared:
            return (
                f"{reference} stays: something moved, and nothing says what that did to the labels; without labels of "
                "today only a declared assumption could (--assume)"
            )
        refuted = [self.tested[name].sentence for name in self.declared if name in self.tested]
        return f"{reference} stays: {'; '.join(refuted)}"


@dataclass(frozen=True, eq=False)
class LadderChoice(Choice):
    """A model that was chosen without labels of today, or with a few, and what that rests on.

    ``ladder``: None where labels of the target were at hand. ``in_points``: whether gains are in accuracy.
    ``measured``: accuracy of the old and of the chosen model on labelled rows of the target, where there are some.
    ``backtest``: what was measured on the labelled windows of the past, where there are enough.
    """

    ladder: Ladder | None = None
    in_points: bool = True
    measured: tuple[AccuracyEstimate, ...] = ()
    backtest: Any = None

    @classmethod
    def of(cls, choice: Choice, **more: Any) -> LadderChoice:
        """A comparison with what it rests on."""
        parts = {part.name: getattr(choice, part.name) for part in fields(Choice)}
        return cls(**{**parts, **more})

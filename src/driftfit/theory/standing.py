"""`Standing`: what a bound promises, so that no number is taken for more than it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from driftfit.errors import InputError

__all__ = ["Kind", "Standing", "guarantee", "heuristic", "order"]


class Kind(Enum):
    """Three things a number above an error can be."""

    GUARANTEE = "guarantee"
    ORDER = "order"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Standing:
    """What a bound promises.

    Attributes
    ----------
    kind : Kind
        A guarantee holds with its probability where its assumptions do. An order shows how the terms grow; its
        constants are not known, and the truth may exceed it. A heuristic is a plausible number without a proof.
    probability : float or None
        Least probability of a guarantee, over the draw of the samples; None of the others.
    assumptions : tuple of str
        What a guarantee needs, or why the others are none.

    Examples
    --------
    >>> print(guarantee("the loss is rho-Lipschitz", probability=0.95))
    guarantee with probability at least 0.95
    >>> print(order("all constants are 1"))
    order, not a guarantee: all constants are 1
    """

    kind: Kind
    probability: float | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.kind is Kind.GUARANTEE) != (self.probability is not None):
            raise InputError(
                f"a guarantee, and nothing else, has a probability; got {self.kind} and {self.probability!r}"
            )

    def __str__(self) -> str:
        return self.brief if self.probability is not None else f"{self.brief}: {'; '.join(self.assumptions)}"

    @property
    def brief(self) -> str:
        """What it is, without the reasons.

        >>> order("all constants are 1").brief
        'order, not a guarantee'
        """
        if self.probability is None:
            return f"{self.kind.value}, not a guarantee"
        return "guarantee" if self.probability == 1.0 else f"guarantee with probability at least {self.probability:g}"


def guarantee(*assumptions: str, probability: float = 1.0) -> Standing:
    """Holds with this probability where the assumptions do."""
    return Standing(Kind.GUARANTEE, probability, assumptions)


def order(*reasons: str) -> Standing:
    """Shows orders of growth; the constants are not known."""
    return Standing(Kind.ORDER, None, reasons)


def heuristic(*reasons: str) -> Standing:
    """Has no proof."""
    return Standing(Kind.HEURISTIC, None, reasons)

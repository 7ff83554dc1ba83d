"""`Bound`: what every result of the theory returns: named terms, their sum, where it comes from, what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from types import MappingProxyType
from typing import Any

from driftfit.errors import InputError
from driftfit.extras import need


class Kind(Enum):
    """Three things a number above an error can be."""

    GUARANTEE = "guarantee"
    ORDER = "order"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Standing:
    """What a bound promises, with the assumptions that a guarantee needs, or the reasons why it is none.

    A guarantee holds where its assumptions do, with its probability over the draw of the samples; the others have no
    probability. An order shows how the terms grow; its constants are not known, and the truth may exceed it. A
    heuristic is a plausible number without a proof.

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
        """What it is, without the reasons."""
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


UNVOUCHED = heuristic("nobody has said what it rests on")


@dataclass(frozen=True)
class Bound:
    """An upper bound as a sum of named terms, with every constant that went in, those hidden by O(.) among them.

    ``statement`` is the number and name of the lemma or theorem. A bound that nobody vouched for is a heuristic.

    >>> vouched = guarantee("the samples are drawn independently", probability=0.95)
    >>> bound = Bound("Lemma 0", {"shift": 0.25, "noise": 0.5}, {"rho": 1.0}, vouched)
    >>> bound.total, bound["shift"], bound.vacuous(), bound.probability
    (0.75, 0.25, False, 0.95)
    >>> print(bound)
    Lemma 0 (guarantee with probability at least 0.95)
      shift      0.25
      noise       0.5
      total      0.75
      with rho = 1
      if the samples are drawn independently
    """

    statement: str
    terms: Mapping[str, float]
    constants: Mapping[str, float] = field(default_factory=dict)
    standing: Standing = UNVOUCHED

    def __post_init__(self) -> None:
        # Read-only copies: a bound that was handed out cannot change behind its total.
        object.__setattr__(self, "terms", MappingProxyType({name: float(v) for name, v in self.terms.items()}))
        object.__setattr__(self, "constants", MappingProxyType({name: float(v) for name, v in self.constants.items()}))

    @property
    def probability(self) -> float | None:
        """Least probability with which the bound holds; None where it is no guarantee."""
        return self.standing.probability

    @property
    def total(self) -> float:
        """Sum of the terms."""
        return float(sum(self.terms.values()))

    def __getitem__(self, name: str) -> float:
        return self.terms[name]

    def vacuous(self, largest_loss: float = 1.0) -> bool:
        """Whether the bound says nothing about a loss that never exceeds ``largest_loss``."""
        return not (isfinite(self.total) and self.total < largest_loss)

    def plot(self, axes: Any = None, *, truth: float | None = None) -> Any:
        """Draw the terms as one stacked bar against an error of 1, the true error as a mark; returns the axes."""
        axes = new_axes((7.0, 2.2)) if axes is None else axes
        left = 0.0
        for name, value in self.terms.items():
            axes.barh(0, value, left=left, height=0.5, label=f"{name} {value:.3f}")
            left += value
        axes.axvline(1.0, color="0.4", linewidth=1.0, linestyle=":")
        if truth is not None:
            axes.plot(truth, 0, "kD", markersize=6, label=f"true error {truth:.3f}")
        axes.set(xlim=(0.0, max(1.05, 1.05 * left)), yticks=[], xlabel="target error")
        axes.set_title(f"{self.statement}: {self.total:.3f}, {self.standing.brief}", fontsize=9)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.35), ncols=3, frameon=False, fontsize=8)
        return axes

    def __str__(self) -> str:
        width = max(len("total"), *(len(name) for name in self.terms)) + 2
        rows = [f"  {name:<{width}}{value:>8.4g}" for name, value in {**self.terms, "total": self.total}.items()]
        if self.constants:
            rows.append("  with " + ", ".join(f"{name} = {value:g}" for name, value in self.constants.items()))
        if self.standing.kind is Kind.GUARANTEE:
            rows += [f"  if {assumption}" for assumption in self.standing.assumptions]
        return "\n".join([f"{self.statement} ({self.standing})", *rows])


def new_axes(size: tuple[float, float]) -> Any:
    """The axes of a new matplotlib figure, so many inches wide and high."""
    need("matplotlib", "tables", "drawing bounds")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots()

"""`Bound`: what every result of the theory returns: named terms, their sum, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType
from typing import Any

from driftfit.extras import need
from driftfit.theory.standing import Kind, Standing, heuristic

__all__ = ["Bound"]

UNVOUCHED = heuristic("nobody has said what it rests on")


@dataclass(frozen=True)
class Bound:
    """An upper bound as a sum of named terms.

    Attributes
    ----------
    statement : str
        Number and name of the lemma, proposition or theorem.
    terms : mapping of str to float
        The addends, in the order of the formula.
    constants : mapping of str to float
        Every constant that went in, those hidden by O(.) among them.
    standing : Standing
        What the bound promises; a bound that nobody vouched for is a heuristic.

    Examples
    --------
    >>> from driftfit.theory.standing import guarantee
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
        """Draw the terms as one stacked bar against an error of 1; returns the matplotlib axes.

        Parameters
        ----------
        axes : matplotlib axes, optional
        truth : float, optional
            The true error, where it is known, as a mark.
        """
        if axes is None:
            need("matplotlib", "tables", "drawing a bound")
            from matplotlib.figure import Figure

            axes = Figure(figsize=(7.0, 2.2), layout="constrained").subplots()
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

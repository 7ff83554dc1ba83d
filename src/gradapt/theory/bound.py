"""`Bound`: what every result of the theory returns: named terms, their sum, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType

__all__ = ["Bound"]


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
    probability : float
        Least probability with which the bound holds, over the draw of the samples.

    Examples
    --------
    >>> bound = Bound("Lemma 0", {"shift": 0.25, "noise": 0.5}, {"rho": 1.0}, probability=0.95)
    >>> bound.total, bound["shift"], bound.vacuous()
    (0.75, 0.25, False)
    >>> print(bound)
    Lemma 0 (holds with probability at least 0.95)
      shift      0.25
      noise       0.5
      total      0.75
      with rho = 1
    """

    statement: str
    terms: Mapping[str, float]
    constants: Mapping[str, float] = field(default_factory=dict)
    probability: float = 1.0

    def __post_init__(self) -> None:
        # Read-only copies: a bound that was handed out cannot change behind its total.
        object.__setattr__(self, "terms", MappingProxyType({name: float(v) for name, v in self.terms.items()}))
        object.__setattr__(self, "constants", MappingProxyType({name: float(v) for name, v in self.constants.items()}))

    @property
    def total(self) -> float:
        """Sum of the terms."""
        return float(sum(self.terms.values()))

    def __getitem__(self, name: str) -> float:
        return self.terms[name]

    def vacuous(self, largest_loss: float = 1.0) -> bool:
        """Whether the bound says nothing about a loss that never exceeds ``largest_loss``."""
        return not (isfinite(self.total) and self.total < largest_loss)

    def __str__(self) -> str:
        width = max(len("total"), *(len(name) for name in self.terms)) + 2
        rows = [f"  {name:<{width}}{value:>8.4g}" for name, value in {**self.terms, "total": self.total}.items()]
        head = self.statement
        if self.probability < 1.0:
            head += f" (holds with probability at least {self.probability:g})"
        if self.constants:
            rows.append("  with " + ", ".join(f"{name} = {value:g}" for name, value in self.constants.items()))
        return "\n".join([head, *rows])

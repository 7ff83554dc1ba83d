"""`Bound`, what every result of the theory returns, and the constants that go in, each kind as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite, log, sqrt
from types import MappingProxyType

from driftfit.errors import InputError
from driftfit.theory.checks import check_non_negative, check_positive


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

    def __str__(self) -> str:
        width = max(len("total"), *(len(name) for name in self.terms)) + 2
        rows = [f"  {name:<{width}}{value:>8.4g}" for name, value in {**self.terms, "total": self.total}.items()]
        if self.constants:
            rows.append("  with " + ", ".join(f"{name} = {value:g}" for name, value in self.constants.items()))
        if self.standing.kind is Kind.GUARANTEE:
            rows += [f"  if {assumption}" for assumption in self.standing.assumptions]
        return "\n".join([f"{self.statement} ({self.standing})", *rows])


# What guarantees rest on, in words.
LIPSCHITZ = ("every model is R-Lipschitz", "the loss is rho-Lipschitz in both arguments (the 0-1 error is not)")
JOINT_SHIFT = (*LIPSCHITZ, "the shift is that of samples and labels together")
BOUNDED = "the loss lies in [0, M] and the Rademacher complexity of the class is at most B / sqrt(n)"
FITS = "each student reproduces its teacher's answers on its n independent samples"


@dataclass(frozen=True)
class Assumptions:
    """The constants that the paper assumes of the loss and of the class of models; all 1 by default.

    Parameters
    ----------
    loss_lipschitz, loss_bound : float
        ``rho``, of the loss in each of its two arguments, and ``M``, its largest value.
    model_lipschitz, model_complexity : float
        ``R`` of every classifier, with an encoder the product of the two constants; ``B``: the Rademacher complexity
        of the class is at most ``B / sqrt(n)``.

    Examples
    --------
    >>> Assumptions(loss_lipschitz=2.0, model_lipschitz=0.75).error_lipschitz
    2.5
    """

    loss_lipschitz: float = 1.0
    model_lipschitz: float = 1.0
    model_complexity: float = 1.0
    loss_bound: float = 1.0

    def __post_init__(self) -> None:
        for name in ("loss_lipschitz", "model_lipschitz", "model_complexity"):
            check_non_negative(getattr(self, name), name)
        check_positive(self.loss_bound, "loss_bound")

    @property
    def error_lipschitz(self) -> float:
        """``rho * sqrt(R^2 + 1)``: how fast the error of a fixed classifier moves with the Wasserstein distance."""
        return self.loss_lipschitz * sqrt(self.model_lipschitz**2 + 1.0)

    @property
    def slopes(self) -> dict[str, float]:
        """``rho`` and ``R`` under the names used in a `Bound`."""
        return {"rho": self.loss_lipschitz, "R": self.model_lipschitz}


@dataclass(frozen=True)
class LinearModels:
    """Linear models ``x -> w x`` with ``|w| <= R`` on samples of bounded norm.

    The norm is the largest one of a sample where a bound is over all trees of samples, the root of its mean square
    (``E|x|^2 <= data_norm^2``) elsewhere.

    >>> LinearModels(2.0, 0.5).complexity
    1.0
    """

    model_lipschitz: float = 1.0
    data_norm: float = 1.0

    def __post_init__(self) -> None:
        check_non_negative(self.model_lipschitz, "model_lipschitz")
        check_non_negative(self.data_norm, "data_norm")

    @property
    def complexity(self) -> float:
        """``B`` of the paper's assumption on the Rademacher complexity: ``R * data_norm``."""
        return self.model_lipschitz * self.data_norm


@dataclass(frozen=True)
class Sampling:
    """The factors that O(.) hides when an empirical error is compared with a population error.

    One stands in front of ``rho * B / sqrt(n)``: symmetrisation gives ``2 * Rademacher`` for one comparison, and one
    step of self-training makes two of them, hence 4. The other stands in front of ``M * sqrt(log(2 / delta) / n)``: two
    deviations of ``M * sqrt(log(2 / delta) / (2 n))`` make the square root of 2.

    >>> Sampling().complexity(0.5, 100)
    0.2
    """

    complexity_factor: float = 4.0
    confidence_factor: float = sqrt(2.0)

    def __post_init__(self) -> None:
        check_non_negative(self.complexity_factor, "complexity_factor")
        check_non_negative(self.confidence_factor, "confidence_factor")

    def complexity(self, of_the_losses: float, n_samples: int) -> float:
        """``c * (complexity of the losses) / sqrt(n)``."""
        return self.complexity_factor * of_the_losses / sqrt(n_samples)

    def confidence(self, delta: float, n_samples: int, loss_bound: float = 1.0) -> float:
        """``c * M * sqrt(log(2 / delta) / n)``."""
        return self.confidence_factor * loss_bound * sqrt(log(2.0 / delta) / n_samples)

    def standing(self, proven: Sampling, delta: float, *assumptions: str) -> Standing:
        """A guarantee where no factor is below that of the proof, an order elsewhere."""
        if self.complexity_factor >= proven.complexity_factor and self.confidence_factor >= proven.confidence_factor:
            return guarantee(*assumptions, probability=1.0 - delta)
        return order(
            f"factors {self.complexity_factor:.4g} and {self.confidence_factor:.4g} below the proof's "
            f"{proven.complexity_factor:.4g} and {proven.confidence_factor:.4g}"
        )

    def named(self) -> dict[str, float]:
        """The factors under the names used in a `Bound`."""
        return {"complexity factor": self.complexity_factor, "confidence factor": self.confidence_factor}


# Defaults of the bounds: every constant 1, and the factors of one step of self-training.
ONES = Assumptions()
UNIT_BALL = LinearModels()
ONE_STEP = Sampling()

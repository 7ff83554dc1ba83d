"""What a bound needs to know of the loss, of the models and of the draw of the samples, each as one value."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from driftfit.theory.bound import Standing, guarantee, order
from driftfit.theory.checks import check_non_negative, check_positive

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

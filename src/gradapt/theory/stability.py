"""One step of self-training, and many of them chained: the stability and the naive bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

from gradapt.theory.bound import Bound
from gradapt.theory.numbers import check_count, check_non_negative, check_positive, check_probability, check_shifts
from gradapt.theory.shifted_error import lipschitz_of_error

__all__ = ["Sampling", "linear_complexity", "naive_bound", "self_training_stability"]


@dataclass(frozen=True)
class Sampling:
    """Constants of one comparison of an empirical with a population error, hidden by O(.) in the paper.

    Parameters
    ----------
    complexity_factor : float
        In front of ``rho * B / sqrt(n)``. Symmetrisation gives ``2 * Rademacher`` for one
        comparison; one step of self-training makes two of them, hence 4.
    confidence_factor : float
        In front of ``M * sqrt(log(2 / delta) / n)``. Two deviations of
        ``M * sqrt(log(2 / delta) / (2 n))`` make the square root of 2.
    loss_bound : float
        ``M``, the largest value of the loss.

    Examples
    --------
    >>> Sampling().complexity_factor
    4.0
    """

    complexity_factor: float = 4.0
    confidence_factor: float = sqrt(2.0)
    loss_bound: float = 1.0

    def complexity(self, loss_lipschitz: float, model_complexity: float, n_samples: int) -> float:
        """``c * rho * B / sqrt(n)``."""
        return self.complexity_factor * loss_lipschitz * model_complexity / sqrt(n_samples)

    def confidence(self, delta: float, n_samples: int) -> float:
        """``c * M * sqrt(log(2 / delta) / n)``."""
        return self.confidence_factor * self.loss_bound * sqrt(log(2.0 / delta) / n_samples)

    def named(self) -> dict[str, float]:
        """The constants under the names used in a `Bound`."""
        return {
            "complexity factor": check_non_negative(self.complexity_factor, "complexity_factor"),
            "confidence factor": check_non_negative(self.confidence_factor, "confidence_factor"),
            "M": check_positive(self.loss_bound, "loss_bound"),
        }


def linear_complexity(model_lipschitz: float = 1.0, data_norm: float = 1.0) -> float:
    """``B`` of Assumption 3 for linear models with ``|w| <= R`` on samples with ``E|x|^2 <= data_norm^2``.

    >>> linear_complexity(2.0, 0.5)
    1.0
    """
    return check_non_negative(model_lipschitz, "model_lipschitz") * check_non_negative(data_norm, "data_norm")


def self_training_stability(
    shift: float,
    n_samples: int,
    *,
    delta: float = 0.05,
    loss_lipschitz: float = 1.0,
    model_lipschitz: float = 1.0,
    model_complexity: float = 1.0,
    sampling: Sampling | None = None,
) -> Bound:
    """Bound on ``|error of the student on mu - error of its teacher on nu|`` after one step of self-training.

    Parameters
    ----------
    shift : float
        ``W_p(mu, nu)``.
    n_samples : int
        Unlabelled samples of ``mu`` that the student was fitted on.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    loss_lipschitz, model_lipschitz, model_complexity : float
        ``rho``, ``R`` and ``B`` (Rademacher complexity at most ``B / sqrt(n)``).
    sampling : Sampling, optional
        The constants that O(.) hides.

    Notes
    -----
    The proof uses that the student reproduces its teacher's answers on the samples, which empirical
    risk minimisation gives when the pseudo-labels are the teacher's real-valued outputs. With hard
    pseudo-labels and a student that cannot fit them, the bound may fail; `gradapt.theory.kumar_step` covers that case.

    Examples
    --------
    >>> bound = self_training_stability(0.1, 10_000, model_lipschitz=0.75)
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'shift': 0.125, 'complexity': 0.04, 'confidence': 0.0272}
    """
    sampling = sampling or Sampling()
    constant = lipschitz_of_error(loss_lipschitz, model_lipschitz)
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    model_complexity = check_non_negative(model_complexity, "model_complexity")
    return Bound(
        "Proposition 1 (stability of self-training)",
        {
            "shift": constant * check_non_negative(shift, "shift"),
            "complexity": sampling.complexity(loss_lipschitz, model_complexity, n),
            "confidence": sampling.confidence(delta, n),
        },
        {"rho": loss_lipschitz, "R": model_lipschitz, "B": model_complexity, **sampling.named()},
        1.0 - delta,
    )


def naive_bound(
    source_error: float,
    shifts: Any,
    n_samples: int,
    *,
    delta: float = 0.05,
    loss_lipschitz: float = 1.0,
    model_lipschitz: float = 1.0,
    model_complexity: float = 1.0,
    sampling: Sampling | None = None,
) -> Bound:
    """The stability of self-training applied ``T`` times over.

    ``shifts`` holds one ``W_p`` per step. Each step may fail with probability ``delta / T``, so that
    all of them hold together with probability ``1 - delta``; the paper leaves this union out.

    Examples
    --------
    >>> bound = naive_bound(0.05, [0.01, 0.03], 1_000_000, model_lipschitz=0.75)
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'source error': 0.05, 'shift': 0.05, 'complexity': 0.008, 'confidence': 0.0059}
    """
    steps = check_shifts(shifts)
    n_steps = len(steps)
    delta = check_probability(delta, "delta")
    one = self_training_stability(
        float(steps.sum()),
        n_samples,
        delta=delta / n_steps,
        loss_lipschitz=loss_lipschitz,
        model_lipschitz=model_lipschitz,
        model_complexity=model_complexity,
        sampling=sampling,
    )
    return Bound(
        "Equation 'naive bound' (Proposition 1 applied T times)",
        {
            "source error": check_non_negative(source_error, "source_error"),
            "shift": one["shift"],
            "complexity": n_steps * one["complexity"],
            "confidence": n_steps * one["confidence"],
        },
        {"T": n_steps, **one.constants},
        1.0 - delta,
    )

"""One step of self-training, and many of them chained: the stability and the naive bound."""

from __future__ import annotations

from typing import Any

from driftfit.theory.assumptions import (
    BOUNDED,
    FITS,
    JOINT_SHIFT,
    LIPSCHITZ_LOSS,
    LIPSCHITZ_MODEL,
    ONE_STEP,
    ONES,
    Assumptions,
    Sampling,
)
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_count, check_non_negative, check_probability, check_shifts

__all__ = ["naive_bound", "self_training_stability"]


def self_training_stability(
    shift: float,
    n_samples: int,
    assumptions: Assumptions = ONES,
    *,
    delta: float = 0.05,
    sampling: Sampling = ONE_STEP,
) -> Bound:
    """Bound on ``|error of the student on mu - error of its teacher on nu|`` after one step of self-training.

    Parameters
    ----------
    shift : float
        ``W_p(mu, nu)``.
    n_samples : int
        Unlabelled samples of ``mu`` that the student was fitted on.
    assumptions : Assumptions
        ``rho``, ``R``, ``B`` and ``M``.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    sampling : Sampling
        The factors that O(.) hides.

    Notes
    -----
    The proof uses that the student reproduces its teacher's answers on the samples, which empirical
    risk minimisation gives when the pseudo-labels are the teacher's real-valued outputs. With hard
    pseudo-labels and a student that cannot fit them, the bound may fail; `driftfit.theory.kumar_step` covers that case.

    Examples
    --------
    >>> bound = self_training_stability(0.1, 10_000, Assumptions(model_lipschitz=0.75))
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'shift': 0.125, 'complexity': 0.04, 'confidence': 0.0272}
    """
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    rho, complexity = assumptions.loss_lipschitz, assumptions.model_complexity
    return Bound(
        "Proposition 1 (stability of self-training)",
        {
            "shift": assumptions.error_lipschitz * check_non_negative(shift, "shift"),
            "complexity": sampling.complexity(rho * complexity, n),
            "confidence": sampling.confidence(delta, n, assumptions.loss_bound),
        },
        {
            "rho": rho,
            "R": assumptions.model_lipschitz,
            "B": complexity,
            **sampling.named(),
            "M": assumptions.loss_bound,
        },
        sampling.standing(ONE_STEP, delta, LIPSCHITZ_MODEL, LIPSCHITZ_LOSS, JOINT_SHIFT, BOUNDED, FITS),
    )


def naive_bound(
    source_error: float,
    shifts: Any,
    n_samples: int,
    assumptions: Assumptions = ONES,
    *,
    delta: float = 0.05,
    sampling: Sampling = ONE_STEP,
) -> Bound:
    """The stability of self-training applied ``T`` times over.

    ``shifts`` holds one ``W_p`` per step. Each step may fail with probability ``delta / T``, so that
    all of them hold together with probability ``1 - delta``; the paper leaves this union out.

    Examples
    --------
    >>> bound = naive_bound(0.05, [0.01, 0.03], 1_000_000, Assumptions(model_lipschitz=0.75))
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'source error': 0.05, 'shift': 0.05, 'complexity': 0.008, 'confidence': 0.0059}
    """
    steps = check_shifts(shifts)
    n_steps = len(steps)
    delta = check_probability(delta, "delta")
    one = self_training_stability(float(steps.sum()), n_samples, assumptions, delta=delta / n_steps, sampling=sampling)
    return Bound(
        "Equation 'naive bound' (Proposition 1 applied T times)",
        {
            "source error": check_non_negative(source_error, "source_error"),
            "shift": one["shift"],
            "complexity": n_steps * one["complexity"],
            "confidence": n_steps * one["confidence"],
        },
        {"T": n_steps, **one.constants},
        sampling.standing(ONE_STEP, delta, *one.standing.assumptions),
    )

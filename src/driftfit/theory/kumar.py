"""The earlier, multiplicative bound for gradual self-training with the ramp loss (Kumar, Ma and Liang 2020)."""

from __future__ import annotations

from typing import Any

from driftfit.errors import InputError
from driftfit.theory.assumptions import ONE_STEP, UNIT_BALL, LinearModels, Sampling
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_count, check_non_negative, check_probability, check_shifts

__all__ = ["kumar_exponential", "kumar_factor", "kumar_path", "kumar_step"]


_KUMAR = (
    "linear models with |w| <= R, E|x|^2 <= B^2 and the ramp loss",
    "each student minimises the empirical ramp loss on n independent samples",
    "the class proportions do not change, and the shift bounds W_inf of every class",
)


def kumar_factor(shift: float, model_lipschitz: float) -> float:
    """``2 / (1 - R * Delta)``: by how much one step may multiply the ramp loss.

    A sample that is misclassified after the step lay, before it, within ``R * Delta`` of the decision
    boundary and paid at least ``1 - R * Delta``; wrong pseudo-labels count twice.

    >>> kumar_factor(0.25, 2.0)
    4.0
    """
    product = check_non_negative(shift, "shift") * check_non_negative(model_lipschitz, "model_lipschitz")
    if product >= 1.0:
        raise InputError(
            f"the bound of Kumar et al. needs R * Delta < 1, got {model_lipschitz!r} * {shift!r} = {product:.4g}; "
            "make the steps smaller (more domains between) or regularise the model"
        )
    return 2.0 / (1.0 - product)


def kumar_step(
    error: float,
    shift: float,
    n_samples: int,
    models: LinearModels = UNIT_BALL,
    *,
    delta: float = 0.05,
    best_error: float = 0.0,
    sampling: Sampling = ONE_STEP,
) -> Bound:
    """Ramp loss of the student on the next domain, from the ramp loss of its teacher on the last one.

    Parameters
    ----------
    error : float
        Ramp loss of the teacher on the domain it comes from.
    shift : float
        Largest ``W_inf`` over the classes between the two domains; the class proportions must be equal.
    n_samples : int
        Unlabelled samples of the next domain.
    models : LinearModels
        ``R`` and ``B`` with ``E|x|^2 <= B^2``.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    best_error : float
        Smallest ramp loss of any model of the class on the next domain.
    sampling : Sampling
        The factors in front of ``B * R / sqrt(n)`` and of ``sqrt(log(2 / delta) / n)``.

    Examples
    --------
    >>> bound = kumar_step(0.01, 0.25, 1_000_000, LinearModels(2.0))
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'multiplied error': 0.04, 'best error': 0.0, 'complexity': 0.008, 'confidence': 0.0027}
    """
    factor = kumar_factor(shift, models.model_lipschitz)
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    return Bound(
        "Kumar et al. 2020, Theorem 3.2 (one step of self-training, ramp loss)",
        {
            "multiplied error": factor * check_non_negative(error, "error"),
            "best error": check_non_negative(best_error, "best_error"),
            "complexity": sampling.complexity(models.complexity, n),
            "confidence": sampling.confidence(delta, n),
        },
        {"factor": factor, "R": models.model_lipschitz, "B": models.data_norm, **sampling.named()},
        sampling.standing(ONE_STEP, delta, *_KUMAR),
    )


def kumar_path(
    source_error: float,
    shifts: Any,
    n_samples: int,
    models: LinearModels = UNIT_BALL,
    *,
    delta: float = 0.05,
    best_error: float = 0.0,
    sampling: Sampling = ONE_STEP,
) -> Bound:
    """The step bound chained over all shifts, each step allowed to fail with probability ``delta / T``.

    The parameters are those of `kumar_step`; ``best_error`` is the largest over the domains.

    Examples
    --------
    >>> bound = kumar_path(0.01, [0.25, 0.25], 1_000_000, LinearModels(2.0))
    >>> round(bound["source error"], 10), round(bound.total, 4)
    (0.16, 0.2148)
    """
    steps = check_shifts(shifts)
    delta = check_probability(delta, "delta")
    options = {"delta": delta / len(steps), "best_error": best_error}
    carried = {"source error": check_non_negative(source_error, "source_error")}
    carried |= {"best error": 0.0, "complexity": 0.0, "confidence": 0.0}
    constants: dict[str, float] = {}
    for shift in steps:
        step = kumar_step(0.0, float(shift), n_samples, models, sampling=sampling, **options)
        constants = dict(step.constants)
        carried = {name: value * constants["factor"] for name, value in carried.items()}
        for name in ("best error", "complexity", "confidence"):
            carried[name] += step[name]
    constants["factor"] = kumar_factor(float(steps.max()), models.model_lipschitz)
    return Bound(
        "Kumar et al. 2020, Theorem 3.2 applied T times (multiplicative recursion)",
        carried,
        {"T": len(steps), **constants},
        sampling.standing(ONE_STEP, delta, *_KUMAR),
    )


def kumar_exponential(
    source_error: float,
    shift: float,
    n_steps: int,
    n_samples: int,
    models: LinearModels = UNIT_BALL,
    *,
    delta: float = 0.05,
    best_error: float = 0.0,
    sampling: Sampling = ONE_STEP,
) -> Bound:
    """The exponential corollary: ``beta^(T+1) * (source error + sampling)`` with ``beta = 2 / (1 - R * Delta)``.

    ``shift`` bounds every single step. It needs a source error that is no smaller than the best error
    on every later domain (true of a source model, up to its own estimation error).

    Examples
    --------
    >>> bound = kumar_exponential(0.01, 0.25, 2, 1_000_000, LinearModels(2.0))
    >>> round(bound["source error"], 10), bound.constants["factor"], bound.vacuous()
    (0.64, 4.0, True)
    """
    n_steps = check_count(n_steps, "n_steps")
    delta = check_probability(delta, "delta")
    if best_error > source_error:
        raise InputError(
            f"the corollary needs best_error <= source_error, got {best_error!r} > {source_error!r}; "
            "use kumar_path, which does not"
        )
    step = kumar_step(0.0, shift, n_samples, models, delta=delta / n_steps, sampling=sampling)
    grown = step.constants["factor"] ** (n_steps + 1)
    return Bound(
        "Kumar et al. 2020, Corollary 3.3 (exponential in T)",
        {
            "source error": grown * check_non_negative(source_error, "source_error"),
            "complexity": grown * step["complexity"],
            "confidence": grown * step["confidence"],
        },
        {"T": n_steps, **step.constants},
        sampling.standing(ONE_STEP, delta, *_KUMAR),
    )

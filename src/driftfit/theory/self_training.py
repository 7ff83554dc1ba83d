"""Errors that a shift makes: of one classifier, of one step of self-training, of many; and the bound of Kumar et al."""

from __future__ import annotations

from typing import Any

from driftfit.errors import InputError
from driftfit.theory.bound import (
    BOUNDED,
    FITS,
    JOINT_SHIFT,
    LIPSCHITZ,
    ONE_STEP,
    ONES,
    UNIT_BALL,
    Assumptions,
    Bound,
    LinearModels,
    Sampling,
    guarantee,
)
from driftfit.theory.checks import check_count, check_non_negative, check_probability, check_shifts

_KUMAR = (
    "linear models with |w| <= R, E|x|^2 <= B^2 and the ramp loss",
    "each student minimises the empirical ramp loss on n independent samples",
    "the class proportions do not change, and the shift bounds W_inf of every class",
)


def error_difference(shift: float, assumptions: Assumptions = ONES) -> Bound:
    """Bound on ``|error on mu - error on nu|`` of one classifier: ``rho * sqrt(R^2 + 1) * W_p(mu, nu)``.

    The shift is ``W_p`` of the two *joint* distributions of samples and labels, for any ``p >= 1``.

    The distance of the samples alone does not serve, not even where the labels given the samples do not
    change (the paper's covariate shift): move a class of ``x = -0.01, y = -1`` by 0.02 across a boundary at 0 and its
    labels change by 2 while its samples change by 0.02. It serves with the constant ``rho (R + S)`` where the label
    is an ``S``-Lipschitz function of the sample.

    The 0-1 error is not a Lipschitz loss: an arbitrarily small move can turn an error of 0 into 1. Use a ramp
    or a margin.

    The distance on pairs may be ``|x - x'| + |y - y'|``, as in the paper's proof, or the smaller
    Euclidean ``sqrt(|x - x'|^2 + |y - y'|^2)``: the constant ``sqrt(R^2 + 1)`` is the one that
    Cauchy-Schwarz gives for the latter.

    >>> error_difference(0.1, Assumptions(loss_lipschitz=2.0, model_lipschitz=0.75)).total
    0.25
    """
    return Bound(
        "Lemma 1 (error difference over shifted domains)",
        {"shift": assumptions.error_lipschitz * check_non_negative(shift, "shift")},
        assumptions.slopes,
        guarantee(*JOINT_SHIFT),
    )


def largest_loss(
    label_bound: float, data_norm: float = 1.0, assumptions: Assumptions = ONES, *, at_zero: float = 0.0
) -> Bound:
    """``M``: ``rho * (|h(0)| + R X + Y)`` above the loss of the answer 0 to the label 0, which counts as none.

    ``Y`` is the largest absolute label, ``X`` the largest norm of a sample, ``at_zero`` the largest ``|h(0)|`` of a
    model. The lemma leaves the last out and does not hold without: a constant is 0-Lipschitz, however large.

    >>> largest_loss(1.0, assumptions=Assumptions(model_lipschitz=2.0)).total
    3.0
    """
    rho, radius = assumptions.loss_lipschitz, assumptions.model_lipschitz
    return Bound(
        "Lemma 3 (bounded loss)",
        {
            "answer at zero": rho * check_non_negative(at_zero, "at_zero"),
            "samples": rho * radius * check_non_negative(data_norm, "data_norm"),
            "labels": rho * check_non_negative(label_bound, "label_bound"),
        },
        assumptions.slopes,
        guarantee(*LIPSCHITZ, "the loss of the answer 0 to the label 0 is 0"),
    )


def self_training_stability(
    shift: float, n_samples: int, assumptions: Assumptions = ONES, *, delta: float = 0.05, sampling: Sampling = ONE_STEP
) -> Bound:
    """Bound on ``|error of the student on mu - error of its teacher on nu|`` after one step of self-training.

    ``shift`` is ``W_p(mu, nu)``. The proof uses that the student reproduces its teacher's answers on the samples, which
    empirical risk minimisation gives when the pseudo-labels are the teacher's real-valued outputs. With hard
    pseudo-labels and a student that cannot fit them, the bound may fail; `kumar_step` covers that case.

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
        {**assumptions.slopes, "B": complexity, **sampling.named(), "M": assumptions.loss_bound},
        sampling.standing(ONE_STEP, delta, *JOINT_SHIFT, BOUNDED, FITS),
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

    ``shift`` is the largest ``W_inf`` over the classes between the two domains, whose class proportions must be equal;
    ``best_error`` is the smallest ramp loss of any model of the class on the next domain.

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

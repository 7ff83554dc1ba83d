"""Bounds on the 0-1 error from what can be measured without target labels: held-out errors and disagreements."""

from __future__ import annotations

from math import floor, log, sqrt
from typing import Any

from scipy.stats import beta

from driftfit.errors import InputError
from driftfit.theory.assumptions import JOINT_SHIFT, LIPSCHITZ_LOSS, LIPSCHITZ_MODEL, ONES, Assumptions
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_count, check_non_negative, check_positive, check_probability, check_shifts
from driftfit.theory.standing import guarantee

__all__ = ["clopper_pearson", "margin_transfer", "measured_stability", "transported_error", "wasserstein_upper"]


def clopper_pearson(n_events: int, n_samples: int, delta: float = 0.05) -> float:
    """Upper bound on a probability from ``n_events`` in ``n_samples`` draws; fails with probability ``delta``.

    >>> round(clopper_pearson(0, 100), 4), round(clopper_pearson(5, 100), 4), clopper_pearson(3, 3)
    (0.0295, 0.1023, 1.0)
    """
    n, k = check_count(n_samples, "n_samples"), check_count(n_events, "n_events", 0)
    if k > n:
        raise InputError(f"n_events must not exceed n_samples, got {k} of {n}")
    return 1.0 if k == n else float(beta.ppf(1.0 - check_probability(delta, "delta"), k + 1, n - k))


def wasserstein_upper(plug_in: float, n_samples: tuple[int, int], diameter: float, delta: float = 0.05) -> Bound:
    """Upper bound on ``W_1`` of two laws from ``W_1`` of a sample of each.

    The distance of samples is on average no smaller than that of their laws, and one sample changes it by at most
    ``diameter / n`` (McDiarmid): the bound is proven, and loose by the bias of the plug-in in many dimensions.

    Parameters
    ----------
    plug_in : float
        ``W_1`` of the samples.
    n_samples : (int, int)
    diameter : float
        Largest distance of two samples that can occur.
    delta : float

    Examples
    --------
    >>> round(wasserstein_upper(0.5, (400, 400), 2.0).total, 3)
    0.673
    """
    n, m = (check_count(size, "n_samples") for size in n_samples)
    reach = check_positive(diameter, "diameter")
    confidence = reach * sqrt(0.5 * log(1.0 / check_probability(delta, "delta")) * (1.0 / n + 1.0 / m))
    return Bound(
        "W_1 of two laws from samples (Jensen, McDiarmid)",
        {"plug-in": check_non_negative(plug_in, "plug_in"), "confidence": confidence},
        {"diameter": reach},
        guarantee("independent samples, none further apart than the diameter", probability=1.0 - delta),
    )


def measured_stability(
    shift: float, disagreement: float, n_samples: int, assumptions: Assumptions = ONES, *, delta: float = 0.05
) -> Bound:
    """One step of self-training with the student's measured disagreement in place of ``4 rho B / sqrt(n)``.

    Bounds ``|error of the student on mu - error of its teacher on nu|`` for any student, whether or not it
    reproduces its teacher.

    Parameters
    ----------
    shift : float
        ``W_p(mu, nu)``.
    disagreement : float
        Mean ``|student - teacher|`` on samples of ``mu`` that neither was trained on.
    n_samples : int
        How many these are.
    assumptions : Assumptions
        ``rho``, ``R`` and ``M``: ``rho`` times a single disagreement is at most ``M``.
    delta : float

    Examples
    --------
    >>> measured_stability(0.1, 0.02, 10_000, Assumptions(model_lipschitz=0.75)).terms["disagreement"]
    0.02
    """
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    rho = assumptions.loss_lipschitz
    return Bound(
        "Proposition 1 with measured disagreement",
        {
            "shift": assumptions.error_lipschitz * check_non_negative(shift, "shift"),
            "disagreement": rho * check_non_negative(disagreement, "disagreement"),
            "confidence": assumptions.loss_bound * sqrt(0.5 * log(1.0 / delta) / n),
        },
        {"rho": rho, "R": assumptions.model_lipschitz, "M": assumptions.loss_bound},
        guarantee(
            LIPSCHITZ_MODEL,
            LIPSCHITZ_LOSS,
            JOINT_SHIFT,
            "the samples were not used in training, and rho times a disagreement is at most M",
            probability=1.0 - delta,
        ),
    )


def margin_transfer(source_error: float, near: float, moved: float, n_samples: int, *, delta: float = 0.05) -> Bound:
    """0-1 error on the next domain from that on this one, in margin form: no label of either is needed for the terms.

    A sample that is right here and wrong there has either moved by more than ``radius`` or lies within ``radius`` of
    the decision boundary.

    Parameters
    ----------
    source_error : float
        0-1 error on this domain.
    near : float
        Share of ``n_samples`` samples of this domain within ``radius`` of the boundary: ``|margin| < R * radius``.
    moved : float
        Mass that moves further than ``radius``: at most ``W_1 / radius``, 0 where ``W_inf`` is below it.
    n_samples : int
    delta : float

    Examples
    --------
    >>> round(margin_transfer(0.02, 0.05, 0.0, 1_000).total, 3)
    0.083
    """
    n = check_count(n_samples, "n_samples")
    share = check_non_negative(near, "near")
    upper = clopper_pearson(round(share * n), n, delta)
    return Bound(
        "Kumar et al. 2020, margin argument for the 0-1 error",
        {
            "error before": check_non_negative(source_error, "source_error"),
            "near the boundary": share,
            "confidence": upper - share,
            "moved too far": check_non_negative(moved, "moved"),
        },
        {"n": n},
        guarantee("labels stay with their samples along the moves", probability=1.0 - delta),
    )


def transported_error(
    source: tuple[int, int], disagreement: float, crossings: Any, n_target: int, *, delta: float = 0.05
) -> Bound:
    """Target error (0-1) of an adapted model, from errors and disagreements that can be counted.

    Plans join samples of the source to samples of the target. Where the two have one label, the adapted model is
    wrong on the second only if the source model was wrong on the first, or they answer differently. So the error on the
    target's samples is at most the source error, plus the share of the mass on which the two models differ,
    plus the share that changes class on the way; what is left is the draw of the target's samples.

    The mass that changes class cannot be seen without target labels, and nothing in the data bounds it: where classes
    turn far enough to take each other's place, all of it does. So the bound is worth what its assumption is worth.

    Parameters
    ----------
    source : (int, int)
        Errors of the source model on labelled samples that it was not trained on, and how many these are.
    disagreement : float
        Share of the mass on which the source model's answer, carried along the plans, is not the adapted model's.
    crossings : array
        For each step, the share of the plan's mass that is *assumed* at most to join different classes.
    n_target : int
        Samples of the target that the adapted model was not trained on.
    delta : float

    Examples
    --------
    >>> bound = transported_error((2, 130), 0.01, [0.02, 0.02], 200)
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'source error': 0.0154, 'disagreement': 0.01, 'mixed classes': 0.04, 'target draw': 0.036}
    """
    wrong, n_source = check_count(source[0], "errors", 0), check_count(source[1], "source samples")
    mixed = check_shifts(crossings, "crossings")
    n = check_count(n_target, "n_target")
    counted = wrong / n_source + check_non_negative(disagreement, "disagreement") + float(mixed.sum())
    # No more of the target's samples are wrong than this share; what more may be wrong of its law is an upper bound of
    # Clopper and Pearson, which grows with the number of errors.
    upper = clopper_pearson(min(floor(counted * n + 1e-9), n), n, delta)
    return Bound(
        "Target error along transport plans, if they mix classes no more than assumed",
        {
            "source error": wrong / n_source,
            "disagreement": float(disagreement),
            "mixed classes": float(mixed.sum()),
            "target draw": max(upper - counted, 0.0),
        },
        {"T": len(mixed), "n": n},
        guarantee(
            "no plan joins different classes for more than the mass assumed, which no data without target labels show",
            "the plans are between the very samples that the errors are counted on",
            "the target's samples are independent, and no model was trained on them",
            probability=1.0 - delta,
        ),
    )

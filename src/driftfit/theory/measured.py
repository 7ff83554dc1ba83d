"""Bounds on the 0-1 error from what can be counted without target labels: held-out errors, disagreements, margins."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import beta, norm

from driftfit.errors import InputError
from driftfit.theory.bound import JOINT_SHIFT, ONES, Assumptions, Bound, guarantee
from driftfit.theory.checks import check_count, check_non_negative, check_positive, check_probability

_HALVINGS = 60


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
    """Upper bound on ``W_1`` of two laws from ``W_1`` of a sample of each, the ``plug_in``.

    The distance of samples is on average no smaller than that of their laws, and one sample changes it by at most
    ``diameter / n`` (McDiarmid): the bound is proven, and loose by the bias of the plug-in in many dimensions.

    ``diameter`` is the largest distance of two samples that can occur.

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
    reproduces its teacher. The disagreement is the mean ``|student - teacher|`` on ``n_samples`` samples of ``mu`` that
    neither was trained on; ``rho`` times a single one is at most ``M``.

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
            *JOINT_SHIFT,
            "the samples were not used in training, and rho times a disagreement is at most M",
            probability=1.0 - delta,
        ),
    )


def margin_transfer(source_error: float, near: float, moved: float, n_samples: int, *, delta: float = 0.05) -> Bound:
    """0-1 error on the next domain from that on this one, in margin form: no label of either is needed for the terms.

    A sample that is right here and wrong there has either moved by more than ``radius`` or lies within ``radius`` of
    the boundary. ``near`` is the share of ``n_samples`` samples of this domain within ``radius`` of the boundary
    (``|margin| < R * radius``), ``moved`` the mass that moves further: at most ``W_1 / radius``, 0 where ``W_inf`` is
    below it.

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


def pac_bayes_margin(
    margins: Any, distance: float, *, noises: Sequence[float] = (0.3, 1.0, 3.0), delta: float = 0.05
) -> Bound:
    """0-1 error of a linear classifier ``sign(w x)`` from its training margins; no sample is held out.

    The weights are blurred by normal noise. Where the mean errs at least half of the blurred ones do, so that the
    error is at most twice the mean error of the blurred classifiers, which PAC-Bayes bounds (Langford and
    Shawe-Taylor 2003, Maurer 2004). Nothing is assumed of the loss: samples far from the boundary count little.

    The margins are ``y_i (w x_i) / |x_i|`` of the training samples, with ``y_i`` in {-1, 1}; an intercept is a constant
    column. The distance is ``|w - w0|`` from weights that were fixed without these samples: 0, or those of a teacher.
    All deviations ``noises`` of the blur are tried and share ``delta``.

    >>> bound = pac_bayes_margin(np.full(1_000, 2.0), 2.0)
    >>> round(bound.total, 3), round(bound["complexity"], 3), bound.probability
    (0.06, 0.03, 0.95)
    """
    own = np.atleast_1d(np.asarray(margins, dtype=np.float64))
    if own.ndim != 1 or not np.isfinite(own).all():
        raise InputError(f"margins must be one finite number per sample, got shape {own.shape}")
    away = check_non_negative(distance, "distance")
    share = check_probability(delta, "delta") / max(len(noises), 1)
    n = len(own)
    found = []
    for noise in noises:
        blurred = float(norm.sf(own / check_positive(noise, "noise")).mean())
        budget = (0.5 * (away / noise) ** 2 + log(2.0 * sqrt(n) / share)) / n
        found.append((kl_upper(blurred, budget), blurred, float(noise)))
    if not found:
        raise InputError("noises is empty; give at least one deviation")
    upper, blurred, noise = min(found)
    return Bound(
        "0-1 error of a linear classifier by its margins (PAC-Bayes)",
        {"blurred error": blurred, "complexity": upper - blurred, "mean for blurred": upper},
        {"n": n, "noise": noise, "distance": away},
        guarantee(
            "the samples are independent draws of the law that the error is about",
            "the weights w0 and the noises were fixed without them",
            probability=1.0 - delta,
        ),
    )


def kl_upper(rate: float, budget: float) -> float:
    """The largest probability whose relative entropy from a measured rate is within the budget.

    For a rate of 0 it is ``1 - exp(-budget)``; it exceeds the rate by at most ``sqrt(budget / 2)`` (Pinsker).

    >>> round(kl_upper(0.0, 0.1), 4), round(kl_upper(0.1, 0.01), 4), round(kl_upper(0.3, 0.0), 4)
    (0.0952, 0.1477, 0.3)
    """
    share = check_non_negative(rate, "rate")
    if share > 1.0:
        raise InputError(f"rate must lie in [0, 1], got {rate!r}")
    most = check_non_negative(budget, "budget")
    low, high = share, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        spent = rel_entr(share, middle) + rel_entr(1.0 - share, 1.0 - middle)
        low, high = (middle, high) if spent <= most else (low, middle)
    return high

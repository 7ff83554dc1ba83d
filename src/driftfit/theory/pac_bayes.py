"""The 0-1 error of a linear classifier from its margins on the samples it was trained on (PAC-Bayes)."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.stats import norm

from driftfit.errors import InputError
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_non_negative, check_positive, check_probability
from driftfit.theory.standing import guarantee

__all__ = ["kl_upper", "pac_bayes_margin"]

_HALVINGS = 60


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
        low, high = (middle, high) if _relative_entropy(share, middle) <= most else (low, middle)
    return high


def _relative_entropy(q: float, p: float) -> float:
    """``kl(q || p)`` of two biased coins."""
    if p >= 1.0:
        return 0.0 if q == 1.0 else np.inf
    first = 0.0 if q == 0.0 else q * log(q / p) if p > 0.0 else np.inf
    return first + (0.0 if q == 1.0 else (1.0 - q) * log((1.0 - q) / (1.0 - p)))


def pac_bayes_margin(
    margins: Any, distance: float, *, noises: Sequence[float] = (0.3, 1.0, 3.0), delta: float = 0.05
) -> Bound:
    """0-1 error of a linear classifier ``sign(w x)`` from its training margins; no sample is held out.

    The weights are blurred by normal noise. Where the mean errs at least half of the blurred ones do, so that the
    error is at most twice the mean error of the blurred classifiers, which PAC-Bayes bounds (Langford and
    Shawe-Taylor 2003, Maurer 2004). Nothing is assumed of the loss: samples far from the boundary count little.

    Parameters
    ----------
    margins : array
        ``y_i (w x_i) / |x_i|`` of the training samples, with ``y_i`` in {-1, 1}; an intercept is a constant column.
    distance : float
        ``|w - w0|`` from weights that were fixed without these samples: 0, or those of a teacher.
    noises : sequence of float
        Deviations of the blur that are tried; ``delta`` is shared by them.
    delta : float

    Examples
    --------
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

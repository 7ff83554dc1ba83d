"""Discrepancy of a sequence of domains for any weights: its bound, and the weights that make it small."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.theory.assumptions import JOINT_SHIFT, LIPSCHITZ_LOSS, LIPSCHITZ_MODEL, ONES, Assumptions
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_non_negative, check_shifts, check_simplex
from driftfit.theory.standing import guarantee

__all__ = ["discrepancy", "discrepancy_bound", "distance_to_last", "minimising_weights"]


def distance_to_last(shifts: Any) -> NDArray[np.float64]:
    """Length of the path from each domain to the last one; ``len(shifts) + 1`` entries, the last of them 0.

    >>> distance_to_last([1.0, 2.0]).tolist()
    [3.0, 2.0, 0.0]
    """
    steps = check_shifts(shifts)
    return np.append(np.cumsum(steps[::-1])[::-1], 0.0)


def discrepancy(errors: Any, weights: Any = None) -> float:
    """The discrepancy itself, where the errors are known.

    Parameters
    ----------
    errors : array of shape (hypotheses, domains)
        Error of each hypothesis of the class on each domain.
    weights : array of length ``domains``, optional
        A probability vector; uniform by default.

    Examples
    --------
    >>> discrepancy([[0.0, 0.4], [0.3, 0.1]])
    0.2
    """
    table = np.atleast_2d(np.asarray(errors, dtype=np.float64))
    q = check_simplex(weights, table.shape[1])
    return float((table[:, -1] - table @ q).max())


def discrepancy_bound(
    shifts: Any, weights: Any = None, assumptions: Assumptions = ONES, *, to_last: Any = None
) -> Bound:
    """``rho * sqrt(R^2 + 1) * sum of q_tau * (path length from domain tau to the last)``.

    Parameters
    ----------
    shifts : array
        ``W_p`` of each step: one less than there are domains.
    weights : array, optional
        ``q``, one entry per domain; uniform by default.
    assumptions : Assumptions
        ``rho`` and ``R`` are used.
    to_last : array, optional
        ``W_p`` of each domain to the last, measured directly: never more than the path, and what the lemma needs.

    Notes
    -----
    The paper writes ``(t - tau - 1) * Delta`` with the *average* shift for that path length. This is
    the same where all steps are equal, and an upper bound where ``Delta`` is the largest; with
    unequal steps and the plain average it can fall below the discrepancy, so each step is asked for.

    Examples
    --------
    >>> discrepancy_bound([0.1, 0.1], assumptions=Assumptions(model_lipschitz=0.75)).total
    0.125
    """
    path = distance_to_last(shifts)
    if to_last is not None:
        direct = check_shifts(to_last, "to_last")
        if len(direct) != len(path):
            raise InputError(f"to_last must hold one distance per domain, {len(path)}, got {len(direct)}")
        # Distances measured on samples may break the triangle inequality: the smaller of the two counts.
        path = np.minimum(path, direct)
    q = check_simplex(weights, len(path))
    return Bound(
        "Lemma 2 (discrepancy bound)",
        {"discrepancy": assumptions.error_lipschitz * float(q @ path)},
        {"rho": assumptions.loss_lipschitz, "R": assumptions.model_lipschitz},
        guarantee(LIPSCHITZ_MODEL, LIPSCHITZ_LOSS, JOINT_SHIFT),
    )


def minimising_weights(shifts: Any, norm_factor: float = 0.0, *, constant: float = 1.0) -> NDArray[np.float64]:
    """The weights ``q`` that minimise ``discrepancy bound + norm_factor * |q|``.

    The bound alone (``norm_factor=0``) is linear in ``q`` and smallest, namely 0, with all weight on the
    last domain; the paper names the uniform weights instead, which minimise the norm of ``q`` (the limit
    of a large ``norm_factor``), the other term of the generalisation bound that depends on ``q``.
    Between the two, weights fall linearly with the distance from the last domain, down to zero.

    Parameters
    ----------
    shifts : array
        ``W_p`` of each step.
    norm_factor : float
        What multiplies ``|q|`` in the bound at hand, such as ``(1 + M * sqrt(8 log(1/delta))) / sqrt(n)``.
    constant : float
        ``rho * sqrt(R^2 + 1)``, see `Assumptions.error_lipschitz`.

    Examples
    --------
    >>> minimising_weights([1.0, 1.0]).tolist()
    [0.0, 0.0, 1.0]
    >>> minimising_weights([1.0, 1.0], 1e9).round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    >>> minimising_weights([1.0, 1.0], 5.0**0.5).round(6).tolist()
    [0.0, 0.333333, 0.666667]
    """
    prices = check_non_negative(constant, "constant") * distance_to_last(shifts)
    scale = check_non_negative(norm_factor, "norm_factor")
    if scale == 0.0:
        cheapest = (prices == prices.min()).astype(np.float64)
        return np.asarray(cheapest / cheapest.sum())
    # Stationarity: q is proportional to (level - price)+, with |(level - price)+| = norm_factor.
    ordered = np.sort(prices)
    for used in range(len(ordered), 0, -1):
        mean, spread = ordered[:used].mean(), ordered[:used].var() * used
        if spread > scale**2:
            continue
        level = mean + np.sqrt((scale**2 - spread) / used)
        if level >= ordered[used - 1]:
            break
    slack = np.maximum(level - prices, 0.0)
    return np.asarray(slack / slack.sum())

"""How far the error of one classifier can move between two shifted domains."""

from __future__ import annotations

from driftfit.theory.assumptions import JOINT_SHIFT, LIPSCHITZ_LOSS, LIPSCHITZ_MODEL, ONES, Assumptions
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_non_negative
from driftfit.theory.standing import guarantee

__all__ = ["error_difference"]


def error_difference(shift: float, assumptions: Assumptions = ONES) -> Bound:
    """Bound on ``|error on mu - error on nu|`` of one classifier: ``rho * sqrt(R^2 + 1) * W_p(mu, nu)``.

    Parameters
    ----------
    shift : float
        ``W_p`` of the two *joint* distributions of samples and labels, for any ``p >= 1``.
    assumptions : Assumptions
        ``rho`` and ``R`` are used.

    Notes
    -----
    The distance of the samples alone does not serve, not even where the labels given the samples do not
    change (the paper's covariate shift): move a class of ``x = -0.01, y = -1`` by 0.02 across a boundary at 0 and its
    labels change by 2 while its samples change by 0.02. It serves with the constant ``rho (R + S)`` where the label
    is an ``S``-Lipschitz function of the sample.

    The 0-1 error is not a Lipschitz loss: an arbitrarily small move can turn an error of 0 into 1. Use a ramp
    or a margin, or count disagreements as `driftfit.theory.transported_error` does.

    The distance on pairs may be ``|x - x'| + |y - y'|``, as in the paper's proof, or the smaller
    Euclidean ``sqrt(|x - x'|^2 + |y - y'|^2)``: the constant ``sqrt(R^2 + 1)`` is the one that
    Cauchy-Schwarz gives for the latter.

    Examples
    --------
    >>> error_difference(0.1, Assumptions(loss_lipschitz=2.0, model_lipschitz=0.75)).total
    0.25
    """
    return Bound(
        "Lemma 1 (error difference over shifted domains)",
        {"shift": assumptions.error_lipschitz * check_non_negative(shift, "shift")},
        {"rho": assumptions.loss_lipschitz, "R": assumptions.model_lipschitz},
        guarantee(LIPSCHITZ_MODEL, LIPSCHITZ_LOSS, JOINT_SHIFT),
    )

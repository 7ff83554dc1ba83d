"""How far the error of one classifier can move between two shifted domains."""

from __future__ import annotations

from math import sqrt

from gradapt.theory.bound import Bound
from gradapt.theory.numbers import check_non_negative

__all__ = ["error_difference", "lipschitz_of_error"]


def lipschitz_of_error(loss_lipschitz: float = 1.0, model_lipschitz: float = 1.0) -> float:
    """``rho * sqrt(R^2 + 1)``: how fast the error of a fixed classifier moves with the Wasserstein distance.

    Parameters
    ----------
    loss_lipschitz : float
        ``rho``, of the loss in each of its two arguments.
    model_lipschitz : float
        ``R``, of the classifier; with an encoder, the product of the two constants.

    Examples
    --------
    >>> lipschitz_of_error(2.0, 0.75)
    2.5
    """
    rho = check_non_negative(loss_lipschitz, "loss_lipschitz")
    return rho * sqrt(check_non_negative(model_lipschitz, "model_lipschitz") ** 2 + 1.0)


def error_difference(shift: float, *, loss_lipschitz: float = 1.0, model_lipschitz: float = 1.0) -> Bound:
    """Bound on ``|error on mu - error on nu|`` of one classifier: ``rho * sqrt(R^2 + 1) * W_p(mu, nu)``.

    Parameters
    ----------
    shift : float
        ``W_p`` of the two *joint* distributions of samples and labels, for any ``p >= 1``.
        Where the labels given the features do not change (the paper's covariate-shift
        assumption) the distance of the samples alone serves.
    loss_lipschitz, model_lipschitz : float
        ``rho`` and ``R``.

    Notes
    -----
    The distance on pairs may be ``|x - x'| + |y - y'|``, as in the paper's proof, or the smaller
    Euclidean ``sqrt(|x - x'|^2 + |y - y'|^2)``: the constant ``sqrt(R^2 + 1)`` is the one that
    Cauchy-Schwarz gives for the latter.

    Examples
    --------
    >>> error_difference(0.1, loss_lipschitz=2.0, model_lipschitz=0.75).total
    0.25
    """
    constant = lipschitz_of_error(loss_lipschitz, model_lipschitz)
    return Bound(
        "Lemma 1 (error difference over shifted domains)",
        {"shift": constant * check_non_negative(shift, "shift")},
        {"rho": loss_lipschitz, "R": model_lipschitz},
    )

"""Sequential Rademacher complexity of linear models, of layered networks, and of their losses."""

from __future__ import annotations

from math import e, log, sqrt

from gradapt.theory.assumptions import UNIT_BALL, LinearModels
from gradapt.theory.bound import Bound
from gradapt.theory.numbers import check_count, check_non_negative

__all__ = ["linear_sequential_rademacher", "loss_sequential_rademacher", "network_sequential_rademacher"]


def linear_sequential_rademacher(length: int, models: LinearModels = UNIT_BALL) -> Bound:
    """``R * X / sqrt(t)`` for linear models with ``|w| <= R`` on samples with ``|x| <= X``.

    Attained by a tree whose next sample is orthogonal to the signed sum so far.

    Examples
    --------
    >>> linear_sequential_rademacher(100, LinearModels(2.0)).total
    0.2
    """
    t = check_count(length, "length")
    return Bound(
        "Example 1 (sequential Rademacher complexity of linear models)",
        {"complexity": models.complexity / sqrt(t)},
        {"t": t, "R": models.model_lipschitz, "X": models.data_norm},
    )


def network_sequential_rademacher(
    length: int, n_layers: int, *, model_lipschitz: float = 1.0, constant: float = 1.0
) -> Bound:
    """``c * R * sqrt(log(t)^(3 (L - 1)) / t)`` for ``R``-Lipschitz networks of ``L`` layers on the unit ball.

    ``constant`` is the ``c`` that O(.) hides. The logarithm counts as at least 1, so that short
    sequences do not get a bound of zero.

    Examples
    --------
    >>> network_sequential_rademacher(100, 1, model_lipschitz=2.0).total
    0.2
    >>> round(network_sequential_rademacher(100, 2).total, 4)
    0.9883
    """
    t = check_count(length, "length")
    layers = check_count(n_layers, "n_layers")
    radius = check_non_negative(model_lipschitz, "model_lipschitz")
    c = check_non_negative(constant, "constant")
    return Bound(
        "Example 2 (sequential Rademacher complexity of networks)",
        {"complexity": c * radius * sqrt(_log(t) ** (3 * (layers - 1)) / t)},
        {"t": t, "L": layers, "R": radius, "c": c},
    )


def loss_sequential_rademacher(
    complexity: float, length: int, *, loss_lipschitz: float = 1.0, constant: float = 1.0
) -> Bound:
    """Complexity of the losses of a class: ``c * rho * sqrt(log(t)^3)`` times that of the class itself.

    Examples
    --------
    >>> loss_sequential_rademacher(0.1, 1, loss_lipschitz=0.5).total
    0.05
    """
    t = check_count(length, "length")
    rho = check_non_negative(loss_lipschitz, "loss_lipschitz")
    c = check_non_negative(constant, "constant")
    own = check_non_negative(complexity, "complexity")
    return Bound(
        "Lemma 4 (sequential Rademacher complexity of a Lipschitz loss)",
        {"complexity": c * rho * sqrt(_log(t) ** 3) * own},
        {"t": t, "rho": rho, "c": c},
    )


def _log(t: int) -> float:
    return log(max(float(t), e))

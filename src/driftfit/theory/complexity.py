"""Sequential Rademacher complexity of linear models, of layered networks, and of their losses."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, prod, sqrt

from driftfit.errors import InputError
from driftfit.theory.bound import Bound, guarantee, order
from driftfit.theory.checks import check_count, check_non_negative, check_positive
from driftfit.theory.constants import UNIT_BALL, LinearModels


def linear_sequential_rademacher(length: int, models: LinearModels = UNIT_BALL) -> Bound:
    """``R * X / sqrt(t)`` for linear models with ``|w| <= R`` on samples with ``|x| <= X``.

    Attained by a tree whose next sample is orthogonal to the signed sum so far.

    >>> linear_sequential_rademacher(100, LinearModels(2.0)).total
    0.2
    """
    t = check_count(length, "length")
    return Bound(
        "Example 1 (sequential Rademacher complexity of linear models)",
        {"complexity": models.complexity / sqrt(t)},
        {"t": t, "R": models.model_lipschitz, "X": models.data_norm},
        guarantee("linear models with |w| <= R on samples with |x| <= X, everyone of them"),
    )


@dataclass(frozen=True)
class NormBoundedNetworks:
    """Fully connected networks whose weight matrices have bounded norms, on samples of bounded norm.

    The activations are 1-Lipschitz and 0 at 0 (ReLU, tanh). This takes the place of the paper's class of all
    ``R``-Lipschitz networks, for which Example 2 does not hold: ``R * sum of sigma_i relu(x_i - 1 / sqrt 2)`` is
    ``R``-Lipschitz on the unit ball, has two layers, and answers ``t <= d`` unit vectors with any signs.

    ``norms`` are the largest spectral norms of the layers, ``R`` their product; ``n_parameters`` counts the entries
    of all weight matrices, and ``data_norm`` is the largest norm of a sample.

    >>> NormBoundedNetworks((2.0, 1.5), 30).model_lipschitz
    3.0
    """

    norms: tuple[float, ...]
    n_parameters: int
    data_norm: float = 1.0

    def __post_init__(self) -> None:
        if not self.norms:
            raise InputError("norms must hold one number per layer, got none")
        for norm in self.norms:
            check_non_negative(norm, "a norm")
        check_count(self.n_parameters, "n_parameters")
        check_non_negative(self.data_norm, "data_norm")

    @property
    def model_lipschitz(self) -> float:
        """``R``: the product of the norms."""
        return float(prod(self.norms))


def network_sequential_rademacher(
    length: int, networks: NormBoundedNetworks, *, loss_lipschitz: float | None = None, loss_bound: float = 1.0
) -> Bound:
    """``(R X + S sqrt(2 p log(1 + 2 L sqrt(t)))) / sqrt(t)`` for ``L`` layers with ``p`` parameters; ``S = R X``.

    With ``loss_lipschitz`` it is the complexity of the *losses* of these networks, ``rho R X`` and ``S = M`` in its
    place, ``M`` being ``loss_bound``: no composition lemma and none of its unknown constants are needed.

    Change every matrix by at most ``epsilon`` of its norm: the answer changes by at most ``L epsilon R X``. A net of
    ``(1 + 2 / epsilon)^p`` such matrices reaches every network, and the complexity of a finite class with values up
    to ``S`` is at most ``S sqrt(2 log(size) / t)``, for trees as for samples. Take ``epsilon = 1 / (L sqrt(t))``.

    >>> bound = network_sequential_rademacher(1_000_000, NormBoundedNetworks((1.0, 1.0), 20))
    >>> round(bound.total, 4), bound.standing.kind.value
    (0.0192, 'guarantee')
    """
    t = check_count(length, "length")
    layers, radius = len(networks.norms), networks.model_lipschitz
    reach = radius * networks.data_norm
    largest, slope = reach, 1.0
    if loss_lipschitz is not None:
        slope = check_non_negative(loss_lipschitz, "loss_lipschitz")
        largest = check_positive(loss_bound, "loss_bound")
    log_size = networks.n_parameters * log(1.0 + 2.0 * layers * sqrt(t))
    return Bound(
        "Example 2 for networks of bounded norms (sequential Rademacher complexity, by covering)",
        {"rounding": slope * reach / sqrt(t), "covering": largest * sqrt(2.0 * log_size / t)},
        {"t": t, "L": layers, "R": radius, "X": networks.data_norm, "p": networks.n_parameters, "S": largest},
        guarantee("layers of bounded spectral norm, 1-Lipschitz activations that are 0 at 0, no biases"),
    )


def loss_sequential_rademacher(
    complexity: float, length: int, *, loss_lipschitz: float = 1.0, constant: float = 1.0
) -> Bound:
    """Complexity of the losses of a class: ``c * rho * sqrt(log(t)^3)`` times that of the class itself.

    >>> loss_sequential_rademacher(0.1, 1, loss_lipschitz=0.5).total
    0.05
    """
    t = check_count(length, "length")
    rho = check_non_negative(loss_lipschitz, "loss_lipschitz")
    c = check_non_negative(constant, "constant")
    own = check_non_negative(complexity, "complexity")
    return Bound(
        "Lemma 4 (sequential Rademacher complexity of a Lipschitz loss)",
        {"complexity": c * rho * sqrt(log(max(float(t), e)) ** 3) * own},
        {"t": t, "rho": rho, "c": c},
        order("the paper does not give the constant c"),
    )

"""The generalisation bound of gradual self-training, in general and for networks, and the complexities in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import e, log, pi, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.theory.bound import (
    BOUNDED,
    FITS,
    JOINT_SHIFT,
    ONE_STEP,
    ONES,
    UNIT_BALL,
    Assumptions,
    Bound,
    LinearModels,
    Sampling,
    guarantee,
    order,
)
from driftfit.theory.checks import (
    check_count,
    check_non_negative,
    check_positive,
    check_probability,
    check_shifts,
    check_simplex,
)


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


# The factors that the proof in the appendix carries: of M * sqrt(log(n T)) times the sequential complexity,
# and of M * |q| * sqrt(log(1 / delta)).
IN_THE_PROOF = Sampling(complexity_factor=6.0 * sqrt(4.0 * pi), confidence_factor=sqrt(8.0))
_NETWORKS_NEED = (*JOINT_SHIFT, "the shift is that of the largest step", BOUNDED, FITS)
_ALL_TREES = "the complexity bounds that of the losses over all trees of samples"


def distance_to_last(shifts: Any) -> NDArray[np.float64]:
    """Length of the path from each domain to the last one; ``len(shifts) + 1`` entries, the last of them 0.

    >>> distance_to_last([1.0, 2.0]).tolist()
    [3.0, 2.0, 0.0]
    """
    steps = check_shifts(shifts)
    return np.append(np.cumsum(steps[::-1])[::-1], 0.0)


def discrepancy(errors: Any, weights: Any = None) -> float:
    """The discrepancy itself, from the errors of all hypotheses (rows) on all domains; uniform weights by default.

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

    ``shifts`` holds ``W_p`` of each step; ``weights`` is ``q``, uniform by default. ``to_last`` is ``W_p`` of each
    domain to the last, measured directly: never more than the path, and what the lemma needs.

    The paper writes ``(t - tau - 1) * Delta`` with the *average* shift for that path length. This is
    the same where all steps are equal, and an upper bound where ``Delta`` is the largest; with
    unequal steps and the plain average it can fall below the discrepancy, so each step is asked for.

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
        assumptions.slopes,
        guarantee(*JOINT_SHIFT),
    )


def minimising_weights(shifts: Any, norm_factor: float = 0.0, *, constant: float = 1.0) -> NDArray[np.float64]:
    """The weights ``q`` that minimise ``discrepancy bound + norm_factor * |q|``.

    The bound alone (``norm_factor=0``) is linear in ``q`` and smallest, namely 0, with all weight on the
    last domain; the paper names the uniform weights instead, which minimise the norm of ``q`` (the limit
    of a large ``norm_factor``), the other term of the generalisation bound that depends on ``q``.
    Between the two, weights fall linearly with the distance from the last domain, down to zero.

    ``norm_factor`` multiplies ``|q|`` in the bound at hand, such as ``(1 + M * sqrt(8 log(1/delta))) / sqrt(n)``, and
    ``constant`` is ``rho * sqrt(R^2 + 1)``, see `Assumptions.error_lipschitz`.

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


# Not compared by value: arrays have no single answer.
@dataclass(frozen=True, eq=False)
class PathErrors:
    """Errors of the final classifier on each of ``T + 1`` domains, source first, and ``W_p`` of each of ``T`` steps.

    The weights are ``q``, one per domain, shared evenly by the samples of that domain; uniform by default.

    >>> path = PathErrors([0.1, 0.3], [0.2], weights=[0.6, 0.4])
    >>> path.n_steps, round(path.mean_error, 3)
    (1, 0.18)
    """

    errors: Any
    shifts: Any
    weights: Any = None

    def __post_init__(self) -> None:
        steps = check_shifts(self.shifts)
        errors = np.asarray(self.errors, dtype=np.float64)
        n_domains = len(steps) + 1
        if errors.shape != (n_domains,) or not np.isfinite(errors).all():
            raise InputError(
                f"errors must hold one finite number for each of the {n_domains} domains, got {self.errors!r}"
            )
        object.__setattr__(self, "shifts", steps)
        object.__setattr__(self, "errors", errors)
        object.__setattr__(self, "weights", check_simplex(self.weights, n_domains))

    @property
    def n_steps(self) -> int:
        """``T``."""
        return len(self.shifts)

    @property
    def mean_error(self) -> float:
        """The errors averaged with the weights."""
        return float(self.weights @ self.errors)


def generalisation_bound(
    path: PathErrors,
    n_samples: int,
    complexity: float,
    assumptions: Assumptions = ONES,
    *,
    delta: float = 0.05,
    sampling: Sampling = IN_THE_PROOF,
) -> Bound:
    """Target error from the errors along the path, their discrepancy and the complexity of the losses.

    ``complexity`` is the sequential Rademacher complexity of the *losses* over ``n (T + 1)`` samples, see
    `loss_sequential_rademacher`.

    With population errors, as the theorem has them, two of its terms imply it: the discrepancy is *defined* as the
    most by which the target error exceeds the weighted errors. And the target error itself is among these. The other
    terms earn their place where the errors are those of samples. The theorem prints the errors of the *t*-th classifier
    and ``log T``; its proof has those of the *final* one and ``log(n T)``, as computed here.

    >>> path = PathErrors([0.1, 0.1, 0.1], [0.01, 0.01])
    >>> bound = generalisation_bound(path, 10**8, 1e-6, Assumptions(model_lipschitz=0.75))
    >>> {name: round(value, 5) for name, value in bound.terms.items()}
    {'path error': 0.1, 'weight norm': 6e-05, 'confidence': 0.00028, 'discrepancy': 0.0125, 'complexity': 9e-05}
    """
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    complexity = check_non_negative(complexity, "complexity")
    norm, factor = float(np.linalg.norm(path.weights)) / sqrt(n), sampling.complexity_factor
    drift = discrepancy_bound(path.shifts, path.weights, assumptions)
    return Bound(
        "Theorem 1 (generalisation bound for gradual self-training, general form)",
        {
            "path error": path.mean_error,
            "weight norm": norm,
            "confidence": sampling.confidence_factor * assumptions.loss_bound * norm * sqrt(log(1.0 / delta)),
            "discrepancy": drift["discrepancy"],
            "complexity": factor * assumptions.loss_bound * sqrt(log(max(n * path.n_steps, e))) * complexity,
        },
        {"T": path.n_steps, **drift.constants, "M": assumptions.loss_bound, **sampling.named()},
        sampling.standing(IN_THE_PROOF, delta, *drift.standing.assumptions, _ALL_TREES),
    )


@dataclass(frozen=True)
class NetworkConstants:
    """One constant for each order term of the bound for networks; 1 everywhere shows the orders alone.

    Where they are ``proven``, those of the proof, the log term has the exponent ``3 L + 1`` that the proof gives,
    and ``delta`` is shared by all ``T + 1`` events.
    """

    shift: float = 1.0  # of T * Delta
    estimation: float = 1.0  # of T / sqrt(n)
    step_confidence: float = 1.0  # of T * sqrt(log(1 / delta) / n)
    weight_norm: float = 1.0  # of 1 / sqrt(n T)
    complexity: float = 1.0  # of sqrt(log(n T)^(3 L - 2) / (n T))
    confidence: float = 1.0  # of sqrt(log(1 / delta) / (n T))
    proven: bool = False

    @classmethod
    def derived(cls, assumptions: Assumptions = ONES, *, sequential: float = 1.0) -> NetworkConstants:
        """The constants that the steps of the proof add up to.

        The path counts twice: ``T * Delta`` for the chain of students, half of it again for the
        final student on the earlier domains, half for the discrepancy. ``sequential`` is the product
        of the constants of Example 2 and Lemma 4, which the paper does not give; the guarantee does not hang on it,
        because every term of `naive_bound` is among the terms. For the same reason the derived form is never below
        the naive one.

        >>> constants = NetworkConstants.derived(Assumptions(model_lipschitz=0.75))
        >>> constants.shift, network_bound(0.05, 0.02, 4, 10_000, 3, constants=constants).probability
        (2.5, 0.95)
        """
        rho, largest = assumptions.loss_lipschitz, assumptions.loss_bound
        return cls(
            shift=2.0 * assumptions.error_lipschitz,
            estimation=ONE_STEP.complexity_factor * rho * assumptions.model_complexity,
            step_confidence=ONE_STEP.confidence_factor * largest,
            weight_norm=1.0,
            complexity=IN_THE_PROOF.complexity_factor * largest * rho * assumptions.model_lipschitz * sequential,
            confidence=IN_THE_PROOF.confidence_factor * largest,
            proven=True,
        )


# All constants 1: the orders of the terms alone.
ORDERS = NetworkConstants()


def network_bound(
    source_error: float,
    shift: float,
    n_steps: int,
    n_samples: int,
    n_layers: int,
    *,
    delta: float = 0.05,
    constants: NetworkConstants = ORDERS,
) -> Bound:
    """Target error of gradually self-trained networks of ``n_layers`` layers: linear in the number of steps.

    ``shift`` is the average ``W_p`` of one step; the largest, where the steps are unequal. The constants are all 1 by
    default: the orders, not a guarantee (with R = 10 and a shift of 0.05 the truth can be 0.5 and the orders 0.05).
    `NetworkConstants.derived` follows the proof and is a guarantee, never below `naive_bound`.

    With orders the log term has the exponent ``3 L - 2`` of the theorem. The lemmas that its proof names add up to
    ``3 L + 1``, which the derived constants use: ``3 (L - 1)`` from the network, 1 from the bound and 3 from the loss.

    >>> bound = network_bound(0.05, 0.02, 4, 10_000, 3)
    >>> {name: round(value, 4) for name, value in bound.terms.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'source error': 0.05, 'shift': 0.08, 'estimation': 0.04, 'step confidence': 0.0692,
     'weight norm': 0.005, 'complexity': 19.3668, 'confidence': 0.0087}
    """
    steps = check_count(n_steps, "n_steps")
    n = check_count(n_samples, "n_samples")
    layers = check_count(n_layers, "n_layers")
    delta = check_probability(delta, "delta")
    seen = n * steps
    # T steps, each with two deviations, and the last event share what may fail.
    each = delta / (2 * (steps + 1)) if constants.proven else delta
    exponent = 3 * layers + 1 if constants.proven else 3 * layers - 2
    numbers = {name: float(value) for name, value in asdict(constants).items() if name != "proven"}
    return Bound(
        "Theorem 1 (generalisation bound for gradual self-training, networks)",
        {
            "source error": check_non_negative(source_error, "source_error"),
            "shift": constants.shift * steps * check_non_negative(shift, "shift"),
            "estimation": constants.estimation * steps / sqrt(n),
            "step confidence": constants.step_confidence * steps * sqrt(log(1.0 / each) / n),
            "weight norm": constants.weight_norm / sqrt(seen),
            "complexity": constants.complexity * sqrt(log(max(seen, e)) ** exponent / seen),
            "confidence": constants.confidence * sqrt(log(1.0 / each) / seen),
        },
        {"T": steps, "L": layers, **numbers},
        guarantee(*_NETWORKS_NEED, probability=1.0 - delta)
        if constants.proven
        else order("the constants in front of the terms are not those of a proof"),
    )

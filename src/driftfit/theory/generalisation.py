"""The generalisation bound of gradual self-training: its general form and its form for networks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import e, log, pi, sqrt
from typing import Any

import numpy as np

from driftfit.errors import InputError
from driftfit.theory.assumptions import (
    BOUNDED,
    FITS,
    JOINT_SHIFT,
    LIPSCHITZ_LOSS,
    LIPSCHITZ_MODEL,
    ONE_STEP,
    ONES,
    Assumptions,
    Sampling,
)
from driftfit.theory.bound import Bound
from driftfit.theory.discrepancies import discrepancy_bound
from driftfit.theory.numbers import check_count, check_non_negative, check_probability, check_shifts, check_simplex
from driftfit.theory.standing import Standing, guarantee, order

__all__ = ["IN_THE_PROOF", "NetworkConstants", "PathErrors", "generalisation_bound", "network_bound"]

# The factors that the proof in the appendix carries: of M * sqrt(log(n T)) times the sequential complexity,
# and of M * |q| * sqrt(log(1 / delta)).
IN_THE_PROOF = Sampling(complexity_factor=6.0 * sqrt(4.0 * pi), confidence_factor=sqrt(8.0))


_ALL_TREES = "the complexity bounds that of the losses over all trees of samples"


# Not compared by value: arrays have no single answer.
@dataclass(frozen=True, eq=False)
class PathErrors:
    """The final classifier along a path of ``T + 1`` domains, source first.

    Parameters
    ----------
    errors : array
        Its error on each domain.
    shifts : array
        ``W_p`` of each of the ``T`` steps.
    weights : array, optional
        ``q``, one entry per domain, shared evenly by the samples of that domain; uniform by default.

    Examples
    --------
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

    Parameters
    ----------
    path : PathErrors
    n_samples : int
        Samples per domain.
    complexity : float
        Sequential Rademacher complexity of the *losses* over ``n (T + 1)`` samples, see
        `loss_sequential_rademacher`.
    assumptions : Assumptions
        ``rho``, ``R`` and ``M`` are used.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    sampling : Sampling
        The factors that O(.) hides.

    Notes
    -----
    With population errors, as the theorem has them, two of its terms imply it: the discrepancy is *defined* as the
    most by which the target error exceeds the weighted errors. And the target error itself is among these. The other
    terms earn their place where the errors are those of samples. The theorem prints the errors of the *t*-th classifier
    and ``log T``; its proof has those of the *final* one and ``log(n T)``, as computed here.

    Examples
    --------
    >>> path = PathErrors([0.1, 0.1, 0.1], [0.01, 0.01])
    >>> bound = generalisation_bound(path, 10**8, 1e-6, Assumptions(model_lipschitz=0.75))
    >>> {name: round(value, 5) for name, value in bound.terms.items()}
    {'path error': 0.1, 'weight norm': 6e-05, 'confidence': 0.00028, 'discrepancy': 0.0125, 'complexity': 9e-05}
    """
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    complexity = check_non_negative(complexity, "complexity")
    norm = float(np.linalg.norm(path.weights)) / sqrt(n)
    drift = discrepancy_bound(path.shifts, path.weights, assumptions)
    return Bound(
        "Theorem 1 (generalisation bound for gradual self-training, general form)",
        {
            "path error": path.mean_error,
            "weight norm": norm,
            "confidence": sampling.confidence_factor * assumptions.loss_bound * norm * sqrt(log(1.0 / delta)),
            "discrepancy": drift["discrepancy"],
            "complexity": sampling.complexity_factor
            * assumptions.loss_bound
            * sqrt(log(max(n * path.n_steps, e)))
            * complexity,
        },
        {"T": path.n_steps, **drift.constants, "M": assumptions.loss_bound, **sampling.named()},
        sampling.standing(IN_THE_PROOF, delta, *drift.standing.assumptions, _ALL_TREES),
    )


@dataclass(frozen=True)
class NetworkConstants:
    """One constant for each order term of the bound for networks; 1 everywhere shows the orders alone.

    Parameters
    ----------
    shift : float
        In front of ``T * Delta``.
    estimation : float
        In front of ``T / sqrt(n)``.
    step_confidence : float
        In front of ``T * sqrt(log(1 / delta) / n)``.
    weight_norm : float
        In front of ``1 / sqrt(n T)``.
    complexity : float
        In front of ``sqrt(log(n T)^(3 L - 2) / (n T))``.
    confidence : float
        In front of ``sqrt(log(1 / delta) / (n T))``.
    proven : bool
        Whether these are the constants of the proof. Then the log term has the exponent ``3 L + 1`` that the proof
        gives, and ``delta`` is shared by all ``T + 1`` events.
    """

    shift: float = 1.0
    estimation: float = 1.0
    step_confidence: float = 1.0
    weight_norm: float = 1.0
    complexity: float = 1.0
    confidence: float = 1.0
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

    Parameters
    ----------
    source_error : float
    shift : float
        Average ``W_p`` of one step; the largest, where the steps are unequal.
    n_steps, n_samples, n_layers : int
        ``T``, ``n`` per domain and ``L``.
    delta : float
    constants : NetworkConstants
        All 1 by default: the orders, not a guarantee (with R = 10 and a shift of 0.05 the truth can be 0.5 and the
        orders 0.05). `NetworkConstants.derived` follows the proof and is a guarantee, never below `naive_bound`.

    Notes
    -----
    With orders the log term has the exponent ``3 L - 2`` of the theorem. The lemmas that its proof names add up to
    ``3 L + 1``, which the derived constants use: ``3 (L - 1)`` from the network, 1 from the bound and 3 from the loss.

    Examples
    --------
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
        _network_standing(constants, delta),
    )


def _network_standing(constants: NetworkConstants, delta: float) -> Standing:
    if not constants.proven:
        return order("the constants in front of the terms are not those of a proof")
    needed = (LIPSCHITZ_MODEL, LIPSCHITZ_LOSS, JOINT_SHIFT, "the shift is that of the largest step", BOUNDED, FITS)
    return guarantee(*needed, probability=1.0 - delta)

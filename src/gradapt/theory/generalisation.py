"""The generalisation bound of gradual self-training: its general form and its form for networks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import e, log, pi, sqrt
from typing import Any

import numpy as np

from gradapt.errors import InputError
from gradapt.theory.bound import Bound
from gradapt.theory.discrepancies import discrepancy_bound
from gradapt.theory.numbers import check_count, check_non_negative, check_positive, check_probability, check_simplex
from gradapt.theory.shifted_error import lipschitz_of_error

__all__ = ["NetworkConstants", "generalisation_bound", "network_bound"]


def generalisation_bound(
    errors: Any,
    shifts: Any,
    n_samples: int,
    complexity: float,
    *,
    weights: Any = None,
    delta: float = 0.05,
    loss_lipschitz: float = 1.0,
    model_lipschitz: float = 1.0,
    loss_bound: float = 1.0,
    complexity_factor: float = 6.0 * sqrt(4.0 * pi),
    confidence_factor: float = sqrt(8.0),
) -> Bound:
    """Target error from the errors along the path, their discrepancy and the complexity of the losses.

    Parameters
    ----------
    errors : array
        Error of the final classifier on each domain, source first (``T + 1`` entries).
    shifts : array
        ``W_p`` of each of the ``T`` steps.
    n_samples : int
        Samples per domain.
    complexity : float
        Sequential Rademacher complexity of the *losses* over ``n (T + 1)`` samples, see
        `loss_sequential_rademacher`.
    weights : array, optional
        ``q``, one entry per domain, shared evenly by the samples of that domain; uniform by default.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    loss_lipschitz, model_lipschitz, loss_bound : float
        ``rho``, ``R`` and ``M``.
    complexity_factor, confidence_factor : float
        The constants that O(.) hides, with the values that the proof in the appendix carries:
        ``6 * sqrt(4 pi)`` in front of ``M * sqrt(log(n T))`` times the complexity, and ``sqrt(8)`` in
        front of ``M * |q| * sqrt(log(1 / delta))``.

    Notes
    -----
    The theorem prints the error of the *t*-th classifier on the *t*-th domain; its proof bounds the
    target error by the errors of the *final* classifier, which is what is asked for here. The proof's
    logarithm counts all samples (``n T``), and so does this function, where the statement prints ``T``.

    Examples
    --------
    >>> bound = generalisation_bound([0.1, 0.1, 0.1], [0.01, 0.01], 10**8, 1e-6, model_lipschitz=0.75)
    >>> {name: round(value, 5) for name, value in bound.terms.items()}
    {'path error': 0.1, 'weight norm': 6e-05, 'confidence': 0.00028, 'discrepancy': 0.0125, 'complexity': 9e-05}
    """
    table = np.asarray(errors, dtype=np.float64)
    drift = discrepancy_bound(shifts, weights, loss_lipschitz=loss_lipschitz, model_lipschitz=model_lipschitz)
    n_domains = np.atleast_1d(np.asarray(shifts)).size + 1
    if table.shape != (n_domains,) or not np.isfinite(table).all():
        raise InputError(f"errors must hold one finite number for each of the {n_domains} domains, got {errors!r}")
    n = check_count(n_samples, "n_samples")
    delta = check_probability(delta, "delta")
    largest = check_positive(loss_bound, "loss_bound")
    q = check_simplex(weights, n_domains)
    norm = float(np.linalg.norm(q)) / sqrt(n)
    logarithm = log(max(n * (n_domains - 1), e))
    return Bound(
        "Theorem 1 (generalisation bound for gradual self-training, general form)",
        {
            "path error": float(q @ table),
            "weight norm": norm,
            "confidence": confidence_factor * largest * norm * sqrt(log(1.0 / delta)),
            "discrepancy": drift["discrepancy"],
            "complexity": complexity_factor * largest * sqrt(logarithm) * check_non_negative(complexity, "complexity"),
        },
        {
            "T": n_domains - 1,
            "rho": loss_lipschitz,
            "R": model_lipschitz,
            "M": largest,
            "complexity factor": complexity_factor,
            "confidence factor": confidence_factor,
        },
        1.0 - delta,
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
    """

    shift: float = 1.0
    estimation: float = 1.0
    step_confidence: float = 1.0
    weight_norm: float = 1.0
    complexity: float = 1.0
    confidence: float = 1.0

    @classmethod
    def derived(
        cls,
        *,
        loss_lipschitz: float = 1.0,
        model_lipschitz: float = 1.0,
        model_complexity: float = 1.0,
        loss_bound: float = 1.0,
        sequential: float = 1.0,
    ) -> NetworkConstants:
        """The constants that the steps of the proof add up to.

        The path counts twice: ``T * Delta`` for the chain of students, half of it again for the
        final student on the earlier domains, half for the discrepancy. ``sequential`` is the product
        of the constants of Example 2 and Lemma 4, which the paper does not give. For a bound that
        holds with probability ``1 - delta`` over all steps, pass ``delta / (2 (T + 1))``.

        >>> NetworkConstants.derived(model_lipschitz=0.75).shift
        2.5
        """
        return cls(
            shift=2.0 * lipschitz_of_error(loss_lipschitz, model_lipschitz),
            estimation=4.0 * loss_lipschitz * model_complexity,
            step_confidence=sqrt(2.0) * loss_bound,
            weight_norm=1.0,
            complexity=6.0 * sqrt(4.0 * pi) * loss_bound * loss_lipschitz * model_lipschitz * sequential,
            confidence=sqrt(8.0) * loss_bound,
        )


def network_bound(
    source_error: float,
    shift: float,
    n_steps: int,
    n_samples: int,
    n_layers: int,
    *,
    delta: float = 0.05,
    constants: NetworkConstants | None = None,
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
    constants : NetworkConstants, optional
        All 1 by default: the orders, not a guarantee. `NetworkConstants.derived` follows the proof.

    Notes
    -----
    The log term has the exponent ``3 L - 2`` of the theorem. The lemmas that its proof names add up to
    ``3 L + 1``: ``3 (L - 1)`` from the network, 1 from the bound and 3 from the loss. The last 3 are not
    in the theorem; ``complexity=log(n T)**1.5`` puts them back.

    Examples
    --------
    >>> bound = network_bound(0.05, 0.02, 4, 10_000, 3)
    >>> {name: round(value, 4) for name, value in bound.terms.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'source error': 0.05, 'shift': 0.08, 'estimation': 0.04, 'step confidence': 0.0692,
     'weight norm': 0.005, 'complexity': 19.3668, 'confidence': 0.0087}
    """
    constants = constants or NetworkConstants()
    steps = check_count(n_steps, "n_steps")
    n = check_count(n_samples, "n_samples")
    layers = check_count(n_layers, "n_layers")
    delta = check_probability(delta, "delta")
    seen = n * steps
    return Bound(
        "Theorem 1 (generalisation bound for gradual self-training, networks)",
        {
            "source error": check_non_negative(source_error, "source_error"),
            "shift": constants.shift * steps * check_non_negative(shift, "shift"),
            "estimation": constants.estimation * steps / sqrt(n),
            "step confidence": constants.step_confidence * steps * sqrt(log(1.0 / delta) / n),
            "weight norm": constants.weight_norm / sqrt(seen),
            "complexity": constants.complexity * sqrt(log(max(seen, e)) ** (3 * layers - 2) / seen),
            "confidence": constants.confidence * sqrt(log(1.0 / delta) / seen),
        },
        {"T": steps, "L": layers, **asdict(constants)},
        1.0 - delta,
    )

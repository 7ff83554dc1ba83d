"""How many steps: the simplified bound in ``T``, its minimiser, and the length of the geodesic."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt

from driftfit.theory.assumptions import ONES, Assumptions
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_count, check_non_negative, check_positive
from driftfit.theory.standing import order

__all__ = ["OptimalSteps", "StepConstants", "optimal_steps", "simplified_bound", "stationary_steps"]


@dataclass(frozen=True)
class StepConstants:
    """The constants in front of the three terms of the simplified bound; all 1 in the paper."""

    shift: float = 1.0
    estimation: float = 1.0
    total_samples: float = 1.0

    @classmethod
    def from_data(
        cls, error_rise: float, shift: float, disagreement: float, n_samples: int, assumptions: Assumptions = ONES
    ) -> StepConstants:
        """Constants measured on a step whose errors are known, such as one between two halves of the source.

        Parameters
        ----------
        error_rise : float
            By how much the error of one model rises over a known shift.
        shift : float
            That shift.
        disagreement : float
            Of student and teacher on fresh samples after one step with ``n_samples`` samples.
        n_samples : int
        assumptions : Assumptions
            ``M``: the constant of the last term is that of the proof, which nothing in the data replaces.

        Examples
        --------
        >>> StepConstants.from_data(0.05, 0.25, 0.01, 400)
        StepConstants(shift=0.2, estimation=0.2, total_samples=1.0)
        """
        slope = check_non_negative(error_rise, "error_rise") / check_positive(shift, "shift")
        noise = check_non_negative(disagreement, "disagreement") * sqrt(check_count(n_samples, "n_samples"))
        return cls(slope, noise, assumptions.loss_bound)


AS_PRINTED = StepConstants()


def simplified_bound(
    n_steps: float,
    largest_shift: float,
    n_samples: int,
    *,
    source_error: float = 0.0,
    constants: StepConstants = AS_PRINTED,
) -> Bound:
    """``source error + T * Delta_max + T / sqrt(n) + 1 / sqrt(n T)``, for any real ``T > 0``.

    Examples
    --------
    >>> bound = simplified_bound(4, 0.1, 100)
    >>> {name: round(value, 4) for name, value in bound.terms.items()}
    {'source error': 0.0, 'shift': 0.4, 'estimation': 0.4, 'total samples': 0.05}
    """
    steps = check_positive(n_steps, "n_steps")
    n = check_count(n_samples, "n_samples")
    return Bound(
        "Equation 'simplified bound' of Section 3.4",
        {
            "source error": check_non_negative(source_error, "source_error"),
            "shift": constants.shift * steps * check_non_negative(largest_shift, "largest_shift"),
            "estimation": constants.estimation * steps / sqrt(n),
            "total samples": constants.total_samples / sqrt(n * steps),
        },
        {
            "T": steps,
            "shift": constants.shift,
            "estimation": constants.estimation,
            "total samples": constants.total_samples,
        },
        order("Section 3.4 gives the orders of three terms; logarithms and constants are left out"),
    )


def stationary_steps(largest_shift: float, n_samples: int, *, constants: StepConstants = AS_PRINTED) -> float:
    """The real ``T`` that minimises the simplified bound, the geodesic set aside.

    With constants ``a, b, c`` it is ``(c / (2 (b + a * Delta_max * sqrt(n))))^(2/3)``. With all constants 1
    it never exceeds ``2^(-2/3) = 0.63``: less than one step, whatever the data.

    Examples
    --------
    >>> round(stationary_steps(0.0, 1), 6), round(stationary_steps(0.3, 100), 6)
    (0.629961, 0.25)
    """
    n = check_count(n_samples, "n_samples")
    shift = check_non_negative(largest_shift, "largest_shift")
    price = check_positive(
        check_non_negative(constants.estimation, "constants.estimation") + constants.shift * shift * sqrt(n),
        "the cost of one step",
    )
    return float((check_positive(constants.total_samples, "constants.total_samples") / (2.0 * price)) ** (2.0 / 3.0))


@dataclass(frozen=True)
class OptimalSteps:
    """The optimal number of steps and where it comes from.

    Attributes
    ----------
    stationary : float
        Minimiser of the simplified bound alone.
    geodesic : float
        ``L / Delta_max``: fewer steps than this cannot reach the target.
    optimum : float
        The larger of the two, a real number.
    n_steps : int
        The best whole number of steps.
    bound : Bound
        The simplified bound at ``n_steps``.
    """

    stationary: float
    geodesic: float
    optimum: float
    n_steps: int
    bound: Bound

    @property
    def limited_by_geodesic(self) -> bool:
        """Whether the length of the geodesic decides, and not the formula."""
        return self.geodesic >= self.stationary

    @property
    def sentence(self) -> str:
        """What the formula says, and whether it says anything."""
        if self.limited_by_geodesic:
            return (
                f"the formula does not choose the number of steps: its own optimum, {self.stationary:.2g}, is below "
                f"the {self.geodesic:.3g} steps that the largest allowed shift asks for; that choice decides"
            )
        reach = f"more than the {self.geodesic:.3g} that reach the target"
        return f"the bound is smallest at {self.optimum:.3g} steps, {reach}"

    @property
    def n_between(self) -> int:
        """Domains strictly between source and target: one less than there are steps."""
        return self.n_steps - 1


def optimal_steps(
    distance: float,
    largest_shift: float,
    n_samples: int,
    *,
    source_error: float = 0.0,
    constants: StepConstants = AS_PRINTED,
) -> OptimalSteps:
    """``T* = max(L / Delta_max, stationary point)``, the best whole ``T``, and the bound there.

    Parameters
    ----------
    distance : float
        ``L``, the ``W_p`` distance from source to target.
    largest_shift : float
        ``Delta_max``, the largest average shift of a step that is allowed.
    n_samples : int
        Samples per domain.
    source_error : float
    constants : StepConstants

    Notes
    -----
    The stationary point is below 1 unless ``total_samples`` outweighs the other constants, so that in
    practice ``T* = L / Delta_max``: the formula alone does not choose the number of domains, the
    choice of ``Delta_max`` does.

    Examples
    --------
    >>> best = optimal_steps(1.0, 0.3, 1_000)
    >>> best.n_steps, best.n_between, best.limited_by_geodesic, round(best.optimum, 4)
    (4, 3, True, 3.3333)
    """
    shift = check_positive(largest_shift, "largest_shift")
    geodesic = check_non_negative(distance, "distance") / shift
    stationary = stationary_steps(shift, n_samples, constants=constants)
    optimum = max(geodesic, stationary)

    def bound_at(steps: int) -> Bound:
        return simplified_bound(steps, shift, n_samples, source_error=source_error, constants=constants)

    # The bound is convex in T, so the best whole number is a neighbour of the optimum that reaches the target;
    # the tolerance keeps 1.0 / 0.1 from asking for an eleventh step.
    fewest = max(1, ceil(geodesic * (1.0 - 1e-12)))
    candidates = {max(fewest, floor(optimum)), max(fewest, ceil(optimum * (1.0 - 1e-12)))}
    n_steps = min(sorted(candidates), key=lambda steps: bound_at(steps).total)
    return OptimalSteps(stationary, geodesic, optimum, n_steps, bound_at(n_steps))

"""How many steps: the simplified bound in ``T`` and its minimiser, and all bounds side by side over ``T``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil, floor, sqrt

import numpy as np
from numpy.typing import NDArray

from driftfit.theory.bound import ONES, UNIT_BALL, Assumptions, Bound, Kind, LinearModels, Standing, order
from driftfit.theory.checks import check_count, check_non_negative, check_positive
from driftfit.theory.generalisation import ORDERS, NetworkConstants, network_bound
from driftfit.theory.self_training import kumar_exponential, kumar_path, naive_bound


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

        The error of one model rises by ``error_rise`` over a known shift; student and teacher disagree so much on fresh
        samples after one step with ``n_samples`` samples. The constant of the last term is ``M``, that of the proof,
        which nothing in the data replaces.

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
        {"T": steps} | {name.replace("_", " "): value for name, value in asdict(constants).items()},
        order("Section 3.4 gives the orders of three terms; logarithms and constants are left out"),
    )


def stationary_steps(largest_shift: float, n_samples: int, *, constants: StepConstants = AS_PRINTED) -> float:
    """The real ``T`` that minimises the simplified bound, the geodesic set aside.

    With constants ``a, b, c`` it is ``(c / (2 (b + a * Delta_max * sqrt(n))))^(2/3)``. With all constants 1
    it never exceeds ``2^(-2/3) = 0.63``: less than one step, whatever the data.

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
    """The optimal number of steps, where it comes from, and the simplified bound there."""

    # The minimiser of the simplified bound alone; L / Delta_max, below which the target is not reached; the larger one.
    stationary: float
    geodesic: float
    optimum: float
    # The best whole number.
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


def optimal_steps(
    distance: float,
    largest_shift: float,
    n_samples: int,
    *,
    source_error: float = 0.0,
    constants: StepConstants = AS_PRINTED,
) -> OptimalSteps:
    """``T* = max(L / Delta_max, stationary point)``, the best whole ``T``, and the bound there.

    ``distance`` is ``L``, the ``W_p`` distance from source to target; ``largest_shift`` is ``Delta_max``, the largest
    average shift of a step that is allowed.

    The stationary point is below 1 unless ``total_samples`` outweighs the other constants, so that in
    practice ``T* = L / Delta_max``: the formula alone does not choose the number of domains, the
    choice of ``Delta_max`` does.

    >>> best = optimal_steps(1.0, 0.3, 1_000)
    >>> best.n_steps, best.limited_by_geodesic, round(best.optimum, 4)
    (4, True, 3.3333)
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


@dataclass(frozen=True)
class FixedLength:
    """Source and target stay; ``T`` equal steps share the distance between them, ``Delta = length / T``."""

    length: float

    def shift(self, n_steps: int) -> float:
        """Shift of one of ``n_steps`` equal steps."""
        return check_positive(self.length, "length") / n_steps


@dataclass(frozen=True)
class FixedShift:
    """Each step moves by the same ``shift``: more steps end further away."""

    size: float

    def shift(self, n_steps: int) -> float:
        """The same for any number of steps."""
        return check_positive(self.size, "size")


@dataclass(frozen=True)
class BoundComparison:
    """Bounds over the number of steps, and what each of them promises: an order below a guarantee has not beaten it.

    The curves are ``"exponential"`` (corollary of Kumar et al.), ``"multiplicative"`` (their recursion, never larger),
    ``"naive"`` (one step of self-training applied ``T`` times), ``"derived"`` (the network form with the constants of
    its proof, never below the naive one), ``"linear"`` (the network form with the constants asked for) and
    ``"simplified"``. They are infinite where ``R * Delta >= 1`` rules a bound out.
    """

    n_steps: NDArray[np.int64]
    shifts: NDArray[np.float64]
    curves: dict[str, NDArray[np.float64]]
    standings: dict[str, Standing]

    def smallest(self, kind: Kind | None = Kind.GUARANTEE) -> tuple[str | None, ...]:
        """For each ``T`` the name of the smallest bound of a kind, or of all; None where all are infinite."""
        names = [name for name, standing in self.standings.items() if kind is None or standing.kind is kind]
        table = np.array([self.curves[name] for name in names]).reshape(len(names), len(self.n_steps))
        return tuple(names[int(np.argmin(c))] if len(c) and np.isfinite(c).any() else None for c in table.T)

    def __str__(self) -> str:
        best = self.smallest()
        lines = ["T".rjust(4) + "".join(name.rjust(16) for name in self.curves) + "  smallest guarantee"]
        for row, (t, name) in enumerate(zip(self.n_steps, best, strict=True)):
            cells = "".join(f"{values[row]:16.4g}" for values in self.curves.values())
            lines.append(f"{t:4d}{cells}  {name or '-'}")
        lines += [f"{name}: {standing}" for name, standing in self.standings.items()]
        return "\n".join(lines)

    def optimum(self, curve: str = "linear") -> int | None:
        """The ``T`` with the smallest value of a curve; ``None`` where it is infinite throughout."""
        values = self.curves[curve]
        return int(self.n_steps[int(np.argmin(values))]) if np.isfinite(values).any() else None

    def crossing(self) -> int | None:
        """The first ``T`` from which on the linear bound stays below the exponential one; ``None`` if never."""
        below = self.curves["linear"] < self.curves["exponential"]
        stays = np.logical_and.accumulate(below[::-1])[::-1]
        return int(self.n_steps[int(np.argmax(stays))]) if stays.any() else None


@dataclass(frozen=True)
class ComparedModels:
    """The models that each of the compared bounds speaks of; every constant 1 by default."""

    # Of the bounds of Kumar et al., of the linear bound with the depth of its network, and of the simplified one.
    linear: LinearModels = UNIT_BALL
    n_layers: int = 1
    network: NetworkConstants = ORDERS
    steps: StepConstants = AS_PRINTED

    @property
    def assumptions(self) -> Assumptions:
        """What the naive and the derived bound ask of the linear models: a loss of slope and size 1."""
        radius = self.linear.model_lipschitz
        return Assumptions(model_lipschitz=radius, model_complexity=self.linear.complexity)


_ONE_LAYER = ComparedModels()
# Bounds that need steps with R * Delta < 1.
_SMALL_STEPS = ("exponential", "multiplicative")


def compare_bounds(
    source_error: float,
    path: FixedLength | FixedShift,
    n_samples: int,
    models: ComparedModels = _ONE_LAYER,
    *,
    largest_n_steps: int = 30,
    delta: float = 0.05,
) -> BoundComparison:
    """The exponential and the linear bound for each number of steps up to ``largest_n_steps``.

    ``path`` says how the shift of one step depends on ``T``.

    >>> table = compare_bounds(0.01, FixedLength(0.5), 10_000)
    >>> table.optimum("linear"), table.optimum("exponential"), table.crossing()
    (1, 1, 1)
    >>> table.smallest()[-1], table.standings["linear"].kind.value
    ('naive', 'order')
    """
    steps = np.arange(1, check_count(largest_n_steps, "largest_n_steps") + 1)
    shifts = np.array([path.shift(int(t)) for t in steps])
    family = _family(source_error, n_samples, models, delta)
    curves = {}
    for name, bound in family.items():
        small = models.linear.model_lipschitz * shifts < (1.0 if name in _SMALL_STEPS else np.inf)
        pairs = zip(steps.tolist(), shifts.tolist(), small, strict=True)
        curves[name] = np.array([bound(t, shift).total if ok else np.inf for t, shift, ok in pairs])
    standings = {name: bound(1, 0.0).standing for name, bound in family.items()}
    return BoundComparison(steps, shifts, curves, standings)


def _family(
    source_error: float, n_samples: int, models: ComparedModels, delta: float
) -> dict[str, Callable[[int, float], Bound]]:
    """Each bound as a function of the number of steps and of the shift of one of them."""

    e, n = source_error, n_samples

    def network(constants: NetworkConstants) -> Callable[[int, float], Bound]:
        return lambda t, shift: network_bound(e, shift, t, n, models.n_layers, delta=delta, constants=constants)

    return {
        "exponential": lambda t, shift: kumar_exponential(e, shift, t, n, models.linear, delta=delta),
        "multiplicative": lambda t, shift: kumar_path(e, np.full(t, shift), n, models.linear, delta=delta),
        "naive": lambda t, shift: naive_bound(e, np.full(t, shift), n, models.assumptions, delta=delta),
        "derived": network(NetworkConstants.derived(models.assumptions)),
        "linear": network(models.network),
        "simplified": lambda t, shift: simplified_bound(t, shift, n, source_error=e, constants=models.steps),
    }

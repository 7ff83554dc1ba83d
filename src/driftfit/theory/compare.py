"""The exponential and the linear bound side by side, over the number of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.extras import need
from driftfit.theory.assumptions import UNIT_BALL, Assumptions, LinearModels
from driftfit.theory.bound import Bound
from driftfit.theory.generalisation import ORDERS, NetworkConstants, network_bound
from driftfit.theory.kumar import kumar_exponential, kumar_path
from driftfit.theory.numbers import check_count, check_positive
from driftfit.theory.optimal_steps import AS_PRINTED, StepConstants, simplified_bound
from driftfit.theory.stability import naive_bound
from driftfit.theory.standing import Kind, Standing

__all__ = ["BoundComparison", "ComparedModels", "FixedLength", "FixedShift", "compare_bounds"]


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
    """Bounds over the number of steps.

    Attributes
    ----------
    n_steps : int array
        The ``T`` compared.
    shifts : float array
        Shift of one step for each ``T``.
    curves : dict of str to float array
        ``"exponential"`` (corollary of Kumar et al.), ``"multiplicative"`` (their recursion, never
        larger), ``"naive"`` (one step of self-training applied ``T`` times), ``"derived"`` (the network form with the
        constants of its proof, never below the naive one), ``"linear"`` (the network form with the constants asked
        for) and ``"simplified"``. Infinite where ``R * Delta >= 1`` rules a bound out.
    standings : dict of str to Standing
        What each of them promises: an order below a guarantee has not beaten it.
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

    def plot(self, axes: Any = None) -> Any:
        """Draw the curves with their optima, on a logarithmic scale; returns the matplotlib axes."""
        if axes is None:
            need("matplotlib", "tables", "drawing the bounds")
            from matplotlib.figure import Figure

            axes = Figure(figsize=(6.0, 4.0), layout="constrained").subplots()
        for name, values in self.curves.items():
            finite = np.isfinite(values)
            if not finite.any():
                continue
            sure = self.standings[name].kind is Kind.GUARANTEE
            label = name if sure else f"{name} ({self.standings[name].kind.value})"
            (line,) = axes.plot(self.n_steps[finite], values[finite], "-" if sure else "--", label=label)
            best = self.optimum(name)
            axes.plot(best, values[self.n_steps == best], "o", color=line.get_color())
        axes.axhline(1.0, color="0.6", linewidth=0.8, linestyle=":")
        axes.set(xlabel="number of steps T", ylabel="bound on the target error", yscale="log")
        axes.legend(frameon=False)
        return axes


@dataclass(frozen=True)
class ComparedModels:
    """The models that each of the compared bounds speaks of; every constant 1 by default.

    Parameters
    ----------
    linear : LinearModels
        Of the two bounds of Kumar et al.
    n_layers : int
        Depth of the network in the linear bound.
    network : NetworkConstants
        Of the linear bound.
    steps : StepConstants
        Of the simplified bound.
    """

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

    Parameters
    ----------
    source_error : float
    path : FixedLength or FixedShift
        How the shift of one step depends on ``T``.
    n_samples : int
        Samples per domain.
    models : ComparedModels
        What each bound assumes of its models.
    largest_n_steps : int
    delta : float

    Examples
    --------
    >>> table = compare_bounds(0.01, FixedLength(0.5), 10_000)
    >>> table.optimum("linear"), table.optimum("exponential"), table.crossing()
    (1, 1, 1)
    >>> table.smallest()[-1], table.standings["linear"].kind.value
    ('naive', 'order')
    """
    steps = np.arange(1, check_count(largest_n_steps, "largest_n_steps") + 1)
    shifts = np.array([path.shift(int(t)) for t in steps])
    small = models.linear.model_lipschitz * shifts < 1.0
    always = np.ones(len(steps), dtype=bool)
    family = _family(source_error, n_samples, models, delta)
    curves = {
        name: _curve(bound, steps, shifts, small if name in _SMALL_STEPS else always) for name, bound in family.items()
    }
    standings = {name: bound(1, 0.0).standing for name, bound in family.items()}
    return BoundComparison(steps, shifts, curves, standings)


_SMALL_STEPS = ("exponential", "multiplicative")


def _family(
    source_error: float, n_samples: int, models: ComparedModels, delta: float
) -> dict[str, Callable[[int, float], Bound]]:
    """Each bound as a function of the number of steps and of the shift of one of them."""

    def network(constants: NetworkConstants) -> Callable[[int, float], Bound]:
        return lambda t, shift: network_bound(
            source_error, shift, t, n_samples, models.n_layers, delta=delta, constants=constants
        )

    return {
        "exponential": lambda t, shift: kumar_exponential(
            source_error, shift, t, n_samples, models.linear, delta=delta
        ),
        "multiplicative": lambda t, shift: kumar_path(
            source_error, np.full(t, shift), n_samples, models.linear, delta=delta
        ),
        "naive": lambda t, shift: naive_bound(
            source_error, np.full(t, shift), n_samples, models.assumptions, delta=delta
        ),
        "derived": network(NetworkConstants.derived(models.assumptions)),
        "linear": network(models.network),
        "simplified": lambda t, shift: simplified_bound(
            t, shift, n_samples, source_error=source_error, constants=models.steps
        ),
    }


def _curve(
    bound: Callable[[int, float], Bound],
    steps: NDArray[np.int64],
    shifts: NDArray[np.float64],
    allowed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """The totals of a bound, infinite where its condition on the steps does not hold."""
    pairs = zip(steps, shifts, allowed, strict=True)
    return np.array([bound(int(t), float(shift)).total if ok else np.inf for t, shift, ok in pairs])

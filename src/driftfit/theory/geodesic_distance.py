"""How far a generated path lies from the geodesic: from a potential, any plan and its gap, for samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftfit.errors import InputError
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_non_negative
from driftfit.theory.standing import guarantee

__all__ = ["GeodesicDistance", "distance_from_geodesic"]

# Slacks up to which pairs count as possible, tried in units of the gap; the smallest bound is taken.
_LEVELS = np.geomspace(2.0, 1e6, 16)
# What the masses of a plan may be off by, all together.
_MASS_TOLERANCE = 1e-6

Float = NDArray[np.float64]


@dataclass(frozen=True)
class GeodesicDistance:
    """A bound on ``W_2`` between domains generated on a plan and those of every geodesic between the same samples.

    Attributes
    ----------
    end : float
        Root mean squared distance between where the plan sends a sample and where an optimal plan may send it.
    start : float
        The same for where mass comes from.
    length : float
        Root of the plan's mean squared move.
    gap : float
        Cost of the plan less the lower bound of the potential.
    end_error : float
        How far the ends lie from the given samples, for mass that cutoffs dropped.
    """

    end: float
    start: float
    length: float
    gap: float
    end_error: float = 0.0

    def at(self, position: float) -> Bound:
        """The bound at a position between 0 and 1."""
        if not 0.0 <= position <= 1.0:
            raise InputError(f"position must lie in [0, 1], got {position!r}")
        ways = (position * self.end, (1.0 - position) * self.start, 2.0 * min(position, 1.0 - position) * self.length)
        return Bound(
            "distance of a generated domain from the geodesic",
            {"plan": min(ways), "lost mass": self.end_error},
            {"position": position, "gap": self.gap},
            guarantee("the geodesic is that of the samples, with squared Euclidean costs"),
        )


def distance_from_geodesic(
    x0: Any,
    x1: Any,
    plan: tuple[Any, Any, Any],
    potential: Any,
    *,
    weights0: Any = None,
    lost_mass: float = 0.0,
) -> GeodesicDistance:
    """Bound how far the domains on a plan lie from those on the geodesic, whichever of several geodesics it is.

    Both the plan and every optimal plan put little mass on pairs with a large slack ``|x - y|^2 - u(x) - v(y)``: over
    the first the slack sums up to the gap, over the others to no more. Where each sample has few
    possible partners left, which lie close together, both plans send it to about the same place.

    Parameters
    ----------
    x0, x1 : arrays with one row per sample
    plan : (rows, cols, mass)
        Of mass 1, before cutoffs.
    potential : array
        ``u``, one number for each sample of ``x0``: any will do, the solver's is best. ``v`` is the largest that is
        feasible beside it.
    weights0 : array, optional
        Of ``x0``, of sum 1. They must be what the plan takes from there, which is the default. Those of ``x1`` are
        what the plan brings there.
    lost_mass : float
        Share of the mass that cutoffs dropped after the plan was made.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> best = distance_from_geodesic(x, x + 1.0, (range(3), range(3), np.full(3, 1 / 3)), -2.0 * x[:, 0])
    >>> best.at(0.5).total < 0.01, best.length  # rounding is allowed for
    (True, 1.0)
    """
    a, b = (np.asarray(part, dtype=np.float64).reshape(len(part), -1) for part in (x0, x1))
    rows, cols, mass, u = _checked(plan, potential, (len(a), len(b)))
    costs = cdist(a, b, "sqeuclidean")
    slack = costs - u[:, None]
    v = slack.min(axis=0)
    slack = np.maximum(slack - v, 0.0)
    arriving = np.bincount(cols, mass, len(b))
    leaving = _leaving(np.bincount(rows, mass, len(a)).astype(np.float64), weights0)
    primal = float(mass @ costs[rows, cols])
    gap = max(primal - float(leaving @ u + arriving @ v), 0.0)
    # Rounding alone makes slacks of this size.
    gap = max(gap, 1e-12 * float(costs.max(initial=0.0)))
    lost = check_non_negative(lost_mass, "lost_mass")
    both = np.concatenate([a, b])
    spread = float(cdist(both, both).max()) if lost > 0 else 0.0
    return GeodesicDistance(
        _apart(slack, (rows, cols, mass), b, gap),
        _apart(slack.T, (cols, rows, mass), a, gap),
        sqrt(primal),
        gap,
        sqrt(lost) * spread,
    )


def _leaving(taken: Float, weights0: Any) -> Float:
    """What the plan takes from each sample, once the weights have been found to say the same."""
    if weights0 is None:
        return taken
    weights = np.asarray(weights0, dtype=np.float64)
    if weights.shape != taken.shape or not np.isfinite(weights).all():
        raise InputError(
            f"weights0 must hold one finite number for each of the {len(taken)} samples of x0, got shape "
            f"{weights.shape}; leave it out to use what the plan takes"
        )
    apart = np.abs(weights - taken)
    if not apart.sum() <= _MASS_TOLERANCE:
        most = int(apart.argmax())
        raise InputError(
            f"weights0 contradict the plan: sample {most} has the weight {weights[most]:.6g} and the plan takes "
            f"{taken[most]:.6g} from it (sums {weights.sum():.6g} and {taken.sum():.6g}); give the weights that the "
            "plan was made with, of sum 1, or leave them out"
        )
    # The gap is that of the plan: slacks are summed over its own mass.
    return taken


def _checked(
    plan: tuple[Any, Any, Any], potential: Any, sizes: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Float, Float]:
    rows, cols = (np.asarray(part, dtype=np.int64) for part in plan[:2])
    mass, u = np.asarray(plan[2], dtype=np.float64), np.asarray(potential, dtype=np.float64)
    n = sizes[0]
    if not rows.shape == cols.shape == mass.shape or rows.ndim != 1:
        raise InputError(
            f"the plan must be three arrays of one length, got shapes {rows.shape}, {cols.shape} and {mass.shape}"
        )
    for name, numbers, size in zip(("x0", "x1"), (rows, cols), sizes, strict=True):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
            raise InputError(
                f"the plan names samples {numbers.min()} to {numbers.max()} of {name}, which has {size}; give the "
                "samples that the plan was made with"
            )
    if u.shape != (n,) or not np.isfinite(u).all():
        raise InputError(f"potential must hold one finite number for each of the {n} samples, got shape {u.shape}")
    if not abs(mass.sum() - 1.0) <= _MASS_TOLERANCE or (mass < 0).any():
        raise InputError(f"the plan must have mass 1, got {mass.sum():.6g}; give the plan before cutoffs")
    return rows, cols, mass, u


def _apart(slack: Float, plan: tuple[NDArray[np.int64], NDArray[np.int64], Float], ends: Float, gap: float) -> float:
    """Root mean squared distance between the partners of samples under this plan and under any optimal one."""
    rows, cols, mass = plan
    between = cdist(ends, ends)
    widest = float(between.max(initial=0.0))
    found = widest**2
    for level in _LEVELS * gap:
        possible = slack <= level
        stray = float(mass[~possible[rows, cols]].sum()) + gap / level
        if stray * widest**2 >= found:
            continue
        square = stray * widest**2
        for row in np.unique(rows):
            own = np.flatnonzero(possible[row])
            here = (rows == row) & possible[row, cols]
            if here.any() and len(own):
                square += float(mass[here] @ between[np.ix_(cols[here], own)].max(axis=1) ** 2)
        found = min(found, square)
    return sqrt(found)

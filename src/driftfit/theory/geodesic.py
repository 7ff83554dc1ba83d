"""How long a generated path is, and how far it lies from the geodesic."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftfit.errors import InputError
from driftfit.theory.bound import Bound, guarantee
from driftfit.theory.checks import check_non_negative, check_shifts

# Slacks up to which pairs count as possible, tried in units of the gap; the smallest bound is taken.
_LEVELS = np.geomspace(2.0, 1e6, 16)
# What the masses of a plan may be off by, all together.
_MASS_TOLERANCE = 1e-6

Float = NDArray[np.float64]


@dataclass(frozen=True)
class PathLength:
    """Both sides of the path-length inequality: the sum of the shifts, ``T * Delta``, and the direct distance."""

    length: float
    direct: float
    average: float

    @property
    def slack(self) -> float:
        """What the path wastes: 0 on a geodesic."""
        return self.length - self.direct

    @property
    def detour(self) -> float:
        """``length / direct``: 1 on a geodesic; infinite for a path that comes back to its start."""
        if self.direct == 0.0:
            return 1.0 if self.length == 0.0 else float("inf")
        return self.length / self.direct

    def attained(self, tolerance: float = 1e-6) -> bool:
        """Whether the path is as short as can be, up to a relative ``tolerance``."""
        return self.slack <= tolerance * max(self.direct, self.length)


def path_length_inequality(shifts: Any, direct: float, *, tolerance: float = 1e-6) -> PathLength:
    """The path is at least as long as the direct distance; equality means that it follows a geodesic.

    Raises where the numbers break the inequality by more than ``tolerance``: distances of one
    metric cannot, so they were measured with different ``p``, metrics, solvers or samples.

    >>> path = path_length_inequality([1.0, 2.0], 2.5)
    >>> path.length, path.slack, path.detour, path.attained()
    (3.0, 0.5, 1.2, False)
    """
    steps = check_shifts(shifts)
    distance = check_non_negative(direct, "direct")
    length = float(steps.sum())
    if length < distance * (1.0 - tolerance):
        raise InputError(
            f"the shifts sum to {length:.6g}, less than the direct distance {distance:.6g}; "
            "measure both with the same p, metric and exact solver"
        )
    return PathLength(length, distance, float(steps.mean()))


@dataclass(frozen=True)
class PathCertificate:
    """What a plan's certificate says about the path of domains generated on it."""

    # At most so long is the path, in W_2: the root of the plan's mean squared move.
    length: float
    # At least so far apart are the domains: the root of the certificate's lower bound.
    direct: float
    # At most so far from the given domains do the ends of the path lie, for mass that cutoffs dropped.
    end_error: float

    @property
    def excess(self) -> float:
        """What the path may be longer than the geodesic; each generated domain makes a detour of at most this."""
        return max(self.length - self.direct, 0.0) + 2.0 * self.end_error

    def from_geodesic(self, position: float, *, lipschitz: float | None = None, inverse: float | None = None) -> float:
        """At most so far does the generated domain at a position lie from that on the geodesic, in ``W_2``.

        The Lipschitz constants of the optimal map and of its inverse help where they are known: then the plan's gap
        bounds how far its ends lie from the map's. Without them only the triangle inequality speaks; for samples see
        `distance_from_geodesic`.

        >>> certificate = path_certificate(1.25, 1.0)
        >>> round(certificate.from_geodesic(0.5), 3), round(certificate.from_geodesic(0.5, lipschitz=1.0), 3)
        (1.118, 0.25)
        """
        if not 0.0 <= position <= 1.0:
            raise InputError(f"position must lie in [0, 1], got {position!r}")
        gap = max(self.length**2 - self.direct**2, 0.0)
        # No geodesic is longer than the plan's path, nor shorter than the lower bound.
        ways = [min(position, 1.0 - position) * 2.0 * self.length]
        for part, constant in ((position, lipschitz), (1.0 - position, inverse)):
            if constant is not None:
                ways.append(part * sqrt(check_non_negative(constant, "Lipschitz constant") * gap))
        return min(ways) + self.end_error

    @property
    def sentence(self) -> str:
        """In words, with what it does not say."""
        return (
            f"the path is at most {self.excess:.3g} longer than the geodesic of at least {self.direct:.3g}; a path so "
            "short need not lie near the geodesic, since several plans may cost the same"
        )


def path_certificate(primal: float, dual: float, *, lost_mass: float = 0.0, diameter: float = 0.0) -> PathCertificate:
    """Length of a generated path against the geodesic, from a plan's certificate (squared Euclidean costs).

    ``primal`` is the cost of the plan, ``dual`` the lower bound on the cost of every plan: their difference holds the
    entropic bias. Where cutoffs dropped a share of the mass, the largest distance of two samples is needed too.

    >>> certificate = path_certificate(4.0, 3.61)
    >>> certificate.length, round(certificate.excess, 6)
    (2.0, 0.1)
    """
    cost, least = check_non_negative(primal, "primal"), check_non_negative(max(dual, 0.0), "dual")
    if least > cost * (1.0 + 1e-9):
        raise InputError(
            f"the lower bound {dual!r} exceeds the plan's cost {primal!r}; they belong to different problems"
        )
    lost = check_non_negative(lost_mass, "lost_mass")
    if lost > 0 and diameter <= 0:
        raise InputError(f"a plan that lost {lost:.3g} of its mass needs the diameter of the samples, got {diameter!r}")
    # A share of the mass may have to go anywhere among the samples.
    return PathCertificate(sqrt(cost), sqrt(least), sqrt(lost) * diameter)


@dataclass(frozen=True)
class GeodesicDistance:
    """A bound on ``W_2`` between domains generated on a plan and those of every geodesic between the same samples."""

    # Root mean squared distance between where the plan sends a sample and where an optimal plan may send it, and the
    # same for where mass comes from.
    end: float
    start: float
    # Root of the plan's mean squared move.
    length: float
    # Cost of the plan less the lower bound of the potential.
    gap: float
    # How far the ends lie from the given samples, for mass that cutoffs dropped.
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
    x0: Any, x1: Any, plan: tuple[Any, Any, Any], potential: Any, *, lost_mass: float = 0.0
) -> GeodesicDistance:
    """Bound how far the domains on a plan lie from those on the geodesic, whichever of several geodesics it is.

    Both the plan and every optimal plan put little mass on pairs with a large slack ``|x - y|^2 - u(x) - v(y)``: over
    the first the slack sums up to the gap, over the others to no more. Where each sample has few
    possible partners left, which lie close together, both plans send it to about the same place.

    ``plan``: of mass 1, before cutoffs. ``potential``: ``u``, one number for each sample of ``x0``: any will do, the
    solver's is best. ``v`` is the largest that is feasible beside it. ``lost_mass``: share of the mass that cutoffs
    dropped after the plan was made.

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
    # The weights of the samples are what the plan takes from them and brings to them.
    leaving, arriving = np.bincount(rows, mass, len(a)), np.bincount(cols, mass, len(b))
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

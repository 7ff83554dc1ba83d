"""The length of a path of domains against the direct distance."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from driftfit.errors import InputError
from driftfit.theory.numbers import check_non_negative, check_shifts

__all__ = ["PathCertificate", "PathLength", "path_certificate", "path_length_inequality"]


@dataclass(frozen=True)
class PathLength:
    """Both sides of the path-length inequality.

    Attributes
    ----------
    length : float
        Sum of the shifts, ``T * Delta``.
    direct : float
        Distance from source to target.
    average : float
        ``Delta``.
    statement : str
    """

    length: float
    direct: float
    average: float
    statement: str = "Proposition 2 (path length of intermediate domains)"

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


@dataclass(frozen=True)
class PathCertificate:
    """What a plan's certificate says about the path of domains generated on it.

    Attributes
    ----------
    length : float
        At most so long is the path, in ``W_2``: the root of the plan's mean squared move.
    direct : float
        At least so far apart are the domains: the root of the certificate's lower bound.
    end_error : float
        At most so far from the given domains do the ends of the path lie, for mass that cutoffs dropped.
    """

    length: float
    direct: float
    end_error: float

    @property
    def excess(self) -> float:
        """What the path may be longer than the geodesic; each generated domain makes a detour of at most this."""
        return max(self.length - self.direct, 0.0) + 2.0 * self.end_error

    def from_geodesic(self, position: float, *, lipschitz: float | None = None, inverse: float | None = None) -> float:
        """At most so far does the generated domain at a position lie from that on the geodesic, in ``W_2``.

        Parameters
        ----------
        position : float
            Between 0 and 1.
        lipschitz, inverse : float, optional
            Lipschitz constants of the optimal map and of its inverse, where they are known: then the plan's gap bounds
            how far its ends lie from the map's. Without them only the triangle inequality speaks; for samples
            see `distance_from_geodesic`.

        Examples
        --------
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

    Parameters
    ----------
    primal, dual : float
        Cost of the plan, and the lower bound on the cost of every plan: their difference holds the entropic bias.
    lost_mass : float
        Share of the mass that cutoffs dropped.
    diameter : float
        Largest distance of two samples, needed where mass was lost.

    Examples
    --------
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


def path_length_inequality(shifts: Any, direct: float, *, tolerance: float = 1e-6) -> PathLength:
    """The path is at least as long as the direct distance; equality means that it follows a geodesic.

    Raises where the numbers break the inequality by more than ``tolerance``: distances of one
    metric cannot, so they were measured with different ``p``, metrics, solvers or samples.

    Examples
    --------
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

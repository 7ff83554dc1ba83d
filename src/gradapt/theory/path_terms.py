"""The length of a path of domains against the direct distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradapt.errors import InputError
from gradapt.theory.numbers import check_non_negative, check_shifts

__all__ = ["PathLength", "path_length_inequality"]


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

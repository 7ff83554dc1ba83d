"""Monotone couplings on a line, and the repair of plans whose marginals are slightly off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Entries", "balanced", "large_entries", "monotone_entries", "round_to_marginals"]

Entries = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

# Entries that together carry less than this mass are not stored.
_NEGLIGIBLE_MASS = 1e-9


def monotone_entries(weights0: NDArray[np.float64], weights1: NDArray[np.float64]) -> Entries:
    """Couple two sequences of equal total weight in their given order (north-west corner rule).

    At most ``n + m - 1`` entries. For points sorted on a line this is the optimal
    plan of every convex cost.

    >>> [part.tolist() for part in monotone_entries(np.array([0.5, 0.5]), np.array([0.25, 0.75]))]
    [[0, 0, 1], [0, 1, 1], [0.25, 0.25, 0.5]]
    """
    ends0, ends1 = np.cumsum(weights0), np.cumsum(weights1)
    # The shorter of two nearly equal totals is stretched, so that no mass is left over.
    ends1 *= ends0[-1] / ends1[-1]
    ends = np.sort(np.concatenate([ends0, ends1]))
    mass = np.diff(ends, prepend=0.0)
    # Lengths below the rounding error of the sums are seams between two cells, not cells.
    cells = mass > 4e-16 * ends0[-1]
    middle = ends[cells] - mass[cells] / 2
    rows = np.minimum(np.searchsorted(ends0, middle), len(weights0) - 1)
    cols = np.minimum(np.searchsorted(ends1, middle), len(weights1) - 1)
    return rows.astype(np.int64), cols.astype(np.int64), mass[cells]


def large_entries(plan: NDArray[np.float64]) -> Entries:
    """All but a negligible mass of a dense plan.

    >>> [part.tolist() for part in large_entries(np.array([[0.5, 1e-12], [0.0, 0.5]]))]
    [[0, 1], [0, 1], [0.5, 0.5]]
    """
    rows, cols = np.nonzero(plan > _NEGLIGIBLE_MASS / plan.size)
    return rows, cols, plan[rows, cols]


def balanced(
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    mass: NDArray[np.float64],
    weights0: NDArray[np.float64],
    weights1: NDArray[np.float64],
    sweeps: int = 50,
) -> NDArray[np.float64]:
    """Mass of the same entries, scaled by rows and columns in turn until it has nearly the marginals.

    For the largest entries of a plan, which alone carry too little. Where they admit no plan, some
    rows are left short.

    >>> rows, cols, mass, half = np.array([0, 1, 1]), np.array([0, 0, 1]), np.full(3, 0.1), np.full(2, 0.5)
    >>> balanced(rows, cols, mass, half, half).round(1).tolist()
    [0.5, 0.0, 0.5]
    """
    for _ in range(sweeps):
        for index, weights in ((rows, weights0), (cols, weights1)):
            total = np.bincount(index, mass, len(weights))
            mass = mass * np.divide(weights, total, out=np.zeros_like(total), where=total > 0)[index]
    return mass


def round_to_marginals(
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    mass: NDArray[np.float64],
    weights0: NDArray[np.float64],
    weights1: NDArray[np.float64],
) -> Entries:
    """The nearest honest plan: scale down what exceeds its marginal, then place the remainder.

    Scaling rows and columns down leaves a small remainder on both sides, which a
    monotone coupling of at most ``n + m`` further entries places (Altschuler, Weed
    and Rigollet 2017 use a dense rank-one term there; this one keeps the plan sparse).
    """
    n, m = len(weights0), len(weights1)
    for index, weights, size in ((rows, weights0, n), (cols, weights1, m)):
        total = np.bincount(index, mass, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(total > weights, weights / total, 1.0)
        mass = mass * factor[index]
    left0 = np.maximum(weights0 - np.bincount(rows, mass, n), 0.0)
    left1 = np.maximum(weights1 - np.bincount(cols, mass, m), 0.0)
    if left0.sum() > 1e-15 and left1.sum() > 1e-15:
        more_rows, more_cols, more_mass = monotone_entries(left0, left1)
        rows, cols = np.concatenate([rows, more_rows]), np.concatenate([cols, more_cols])
        mass = np.concatenate([mass, more_mass])
        rows, cols, mass = _merged(rows, cols, mass, m)
    positive = mass > 0
    rows, cols, mass = rows[positive], cols[positive], mass[positive]
    return rows, cols, mass / mass.sum()


def _merged(rows: NDArray[np.int64], cols: NDArray[np.int64], mass: NDArray[np.float64], m: int) -> Entries:
    keys, place = np.unique(rows * m + cols, return_inverse=True)
    return keys // m, keys % m, np.asarray(np.bincount(place, mass, len(keys)), dtype=np.float64)

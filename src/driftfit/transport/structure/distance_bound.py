"""Memoli's second lower bound: no plan can bring two distributions of distances closer than sorting does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels.arrays import to_numpy
from driftfit.transport.problem.cost_table import row_parts
from driftfit.transport.solvers.entries import monotone_entries
from driftfit.transport.structure.inner import Cloud

__all__ = ["distance_bound"]

# Distances are counted in so many bins; what lies in one bin or the next may be equal, so rounding cannot fool it.
_BINS = 20_000
# Multiplications beyond which all distances are too many to look at, and the bound is 0.
_MOST_WORK = 1e13
_BLOCK = 2**22


def distance_bound(first: Cloud, second: Cloud) -> float:
    """A lower bound on the mean squared difference of distances that any plan joins, from all distances; 0 if too many.

    Any plan couples the pairs of one cloud with the pairs of the other, so the cheapest coupling of the two lists of
    distances, which joins them in order, is no dearer.
    """
    work = sum(float(cloud.x.shape[0]) ** 2 * cloud.x.shape[1] for cloud in (first, second))
    # A squared distance is at most twice the sum of two squared lengths.
    largest = 4.0 * max(float(cloud.radii.max()) for cloud in (first, second))
    if work > _MOST_WORK or largest == 0.0:
        return 0.0
    counts = [_counts(cloud, largest / _BINS) for cloud in (first, second)]
    rows, cols, mass = monotone_entries(*counts)
    gaps = np.maximum(np.abs(rows - cols) - 2.0, 0.0) * (largest / _BINS)
    return float(mass @ gaps**2)


def _counts(cloud: Cloud, width: float) -> NDArray[np.float64]:
    """Weight of the pairs in each bin of distances."""
    total = np.zeros(_BINS + 1)
    n = cloud.x.shape[0]
    for part in row_parts((n, n), _BLOCK):
        distances: Any = cloud.radii[part, None] + cloud.radii[None] - 2.0 * (cloud.x[part] @ cloud.x.T)
        bins = (distances.clip(min=0.0) / width).reshape(-1)
        weights = (cloud.weights[part, None] * cloud.weights[None]).reshape(-1)
        if isinstance(bins, np.ndarray):
            total += np.bincount(bins.astype(np.int64), weights, _BINS + 1)
        else:
            total += to_numpy(bins.long().bincount(weights, _BINS + 1))
    return total

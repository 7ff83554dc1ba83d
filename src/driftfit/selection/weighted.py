"""Means, shares and quantiles of samples that need not all weigh the same; no weights mean equal ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.methods.pseudo_labels import Weights, class_shares, total_variation

__all__ = ["Weights", "class_shares", "effective_size", "mean", "quantile", "total_variation"]


def mean(values: NDArray[Any], weights: Weights = None) -> float:
    """The mean; of truth values, the share that is true.

    >>> mean(np.array([True, False])), mean(np.array([1.0, 3.0]), np.array([0.75, 0.25]))
    (0.5, 1.5)
    """
    return float(values.mean()) if weights is None else float(np.average(values, weights=weights))


def effective_size(n: int, weights: Weights = None) -> float:
    """How many samples of equal weight say as much (Kish): ``(sum w)^2 / sum w^2``.

    >>> effective_size(4), effective_size(4, np.array([0.5, 0.5, 0.0, 0.0]))
    (4.0, 2.0)
    """
    return float(n) if weights is None else float(weights.sum() ** 2 / np.square(weights).sum())


def quantile(values: NDArray[np.float64], share: float, weights: Weights = None) -> float:
    """The value that a share of the weight does not exceed.

    >>> quantile(np.array([1.0, 2.0, 3.0]), 0.5), quantile(np.array([1.0, 2.0, 3.0]), 0.5, np.array([0.8, 0.1, 0.1]))
    (2.0, 1.0)
    """
    if weights is None:
        return float(np.quantile(values, share))
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order[min(int(np.searchsorted(reached, share - 1e-12)), len(order) - 1)]])

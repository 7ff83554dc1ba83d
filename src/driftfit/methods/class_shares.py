"""Shares of classes: how they are counted, how far apart they are, and which class a model lost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64] | None

# A class counts where it has at least this share of the labelled rows.
_SMALLEST_SHARE = 0.02
# It is lost where a model gives it less than this part of its share in the source, and the adapted model
# less than this part of what the source model gives it.
_REMAINING = 0.25


def class_shares(codes: NDArray[np.int64], n_classes: int, weights: Weights = None) -> NDArray[np.float64]:
    """Share of each class.

    >>> class_shares(np.array([0, 0, 1]), 2, np.array([0.25, 0.25, 0.5])).tolist()
    [0.5, 0.5]
    """
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def total_variation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The share of the samples that would have to change class to turn one set of shares into the other.

    >>> total_variation(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.25
    """
    return float(0.5 * np.abs(a - b).sum())


def lost_shares(
    known: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which classes adaptation lost: shares in the source, and in the target by the source and the adapted model.

    A class that the source model had lost on the target already is not lost by adaptation.

    >>> lost_shares(np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.95, 0.05])).tolist()
    [False, True]
    """
    return np.asarray(
        (known >= _SMALLEST_SHARE) & (before >= _REMAINING * known) & (after < _REMAINING * np.minimum(known, before))
    )

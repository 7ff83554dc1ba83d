"""Class proportions of an unlabelled domain, from the predictions of a model of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

__all__ = [
    "Weights",
    "black_box_proportions",
    "class_shares",
    "expectation_maximisation",
    "lost_shares",
    "total_variation",
]

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


def black_box_proportions(confusion: NDArray[np.float64], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Proportions that explain the predictions, if only the proportions changed (Lipton et al. 2018).

    Parameters
    ----------
    confusion : array of shape (K, K)
        Probability of each prediction (row) for each true class (column): columns sum to 1.
    predicted : array of length K
        Shares of the predictions on the new domain.

    Examples
    --------
    >>> black_box_proportions(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([0.34, 0.66])).round(6).tolist()
    [0.2, 0.8]
    """
    weights, _ = nnls(confusion, predicted)
    return np.asarray(weights / weights.sum()) if weights.sum() > 0 else np.asarray(predicted)


def expectation_maximisation(
    probabilities: NDArray[np.float64],
    source: NDArray[np.float64],
    n_rounds: int = 200,
    weights: Weights = None,
) -> NDArray[np.float64]:
    """Proportions of largest likelihood under a model's class probabilities (Saerens et al. 2002).

    >>> shares = np.repeat([[1.0, 0.0], [0.0, 1.0]], [3, 1], axis=0)
    >>> expectation_maximisation(shares, np.array([0.5, 0.5])).tolist()
    [0.75, 0.25]
    """
    current = source.copy()
    for _ in range(n_rounds):
        joint = probabilities * (current / np.maximum(source, 1e-12))
        updated = np.average(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300), axis=0, weights=weights)
        if np.abs(updated - current).max() < 1e-9:
            return np.asarray(updated)
        current = updated
    return current

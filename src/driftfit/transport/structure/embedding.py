"""Distances as squared distances between points: then products of thin matrices replace those of all distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftfit.errors import InputError

__all__ = ["embed_distances"]

Float = NDArray[np.float64]

# Negative eigenvalues up to this share of the largest one are rounding.
_ROUNDING = 1e-9


def embed_distances(distances: ArrayLike, *, dimensions: int | None = None) -> Float:
    """Points whose *squared* distances are the numbers of a matrix.

    Euclidean and city-block distances, and their roots, are of this kind (Schoenberg), as squared Euclidean ones
    are; others are refused. One point has a coordinate for each other one, at most.

    Parameters
    ----------
    distances : array of shape (n, n)
        Symmetric, zero on the diagonal.
    dimensions : int, optional
        Pad with zeros to so many coordinates, so that clouds of different sizes can be coupled.

    Examples
    --------
    >>> points = embed_distances([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> ((points[0] - points[2]) ** 2).sum().round(12).item()
    2.0
    """
    given = np.asarray(distances, dtype=np.float64)
    _check(given)
    centred = given - given.mean(axis=0) - given.mean(axis=1)[:, None] + given.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    largest = float(abs(values).max(initial=0.0))
    if values.min(initial=0.0) < -_ROUNDING * max(largest, np.finfo(float).tiny):
        raise InputError(
            f"these distances are not squared distances between points (an eigenvalue is {values.min():.3g}, the "
            f"largest {largest:.3g}); take Euclidean, city-block or squared Euclidean distances"
        )
    points: Float = np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1])
    if dimensions is None:
        return points
    if dimensions < len(points):
        raise InputError(f"dimensions must be at least the number of points, {len(points)}, got {dimensions!r}")
    return np.pad(points, ((0, 0), (0, dimensions - len(points))))


def _check(given: Any) -> None:
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise InputError(f"distances must be a square matrix, got shape {given.shape}")
    if not np.isfinite(given).all():
        raise InputError("distances hold NaN or infinity; every pair needs a finite distance")
    size = float(np.abs(given).max())
    if np.abs(given - given.T).max() > 1e-9 * size or np.abs(np.diag(given)).max() > 1e-9 * size:
        raise InputError("distances must be symmetric and zero on the diagonal; symmetrise them as (D + D.T) / 2")

"""Squared lengths of differences of samples, pair by pair and on all cores; needs numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels.threads import in_threads

__all__ = ["THREADED_VALUES", "squared_lengths"]

Index = NDArray[np.int64]

# Values of samples from which a second core is worth the call.
THREADED_VALUES = 1_000_000


def squared_lengths(
    x0: NDArray[Any], x1: NDArray[Any], rows: Index, cols: Index, shift: Any, out: NDArray[np.float64]
) -> None:
    """Squared lengths of ``x0[rows] - x1[cols] - shift``, in float64.

    >>> found = np.empty(1)
    >>> squared_lengths(np.array([[3.0, 4.0]]), np.zeros((1, 2)), np.array([0]), np.array([0]), 0.0, found)
    >>> found.tolist()
    [25.0]
    """
    from driftfit.transport.kernels.listing_loops import pair_differences  # numba is slow to import

    every = np.zeros(x0.shape[1]) + shift

    def work(piece: slice) -> None:
        pair_differences(x0, x1, rows[piece], cols[piece], every, out[piece])

    in_threads(work, len(rows), small=len(rows) * x0.shape[1] < THREADED_VALUES)

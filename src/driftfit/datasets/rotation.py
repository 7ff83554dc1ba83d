"""Nearest-neighbour rotation of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["rotate"]


def rotate(images: NDArray[Any], degrees: float) -> NDArray[Any]:
    """Turn images counter-clockwise about their centre; pixels from outside are 0.

    Each pixel takes the value of the nearest pixel before the rotation, so no grey
    levels are made up.

    Parameters
    ----------
    images : array of shape (n, height, width)
    degrees : float

    Examples
    --------
    >>> rotate(np.array([[[1, 2], [3, 4]]]), 90).tolist()
    [[[2, 4], [1, 3]]]
    """
    height, width = images.shape[1:]
    angle = np.deg2rad(degrees)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    y -= (height - 1) / 2
    x -= (width - 1) / 2
    # Where each pixel of the result came from; row numbers grow downwards.
    from_x = np.cos(angle) * x - np.sin(angle) * y + (width - 1) / 2
    from_y = np.sin(angle) * x + np.cos(angle) * y + (height - 1) / 2
    # A hair of slack keeps right angles free of rounding at pixel borders.
    column = np.rint(np.round(from_x, 9)).astype(np.int64)
    row = np.rint(np.round(from_y, 9)).astype(np.int64)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    turned = images[:, row.clip(0, height - 1), column.clip(0, width - 1)]
    return np.where(inside, turned, np.zeros((), images.dtype))

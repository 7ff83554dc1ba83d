"""Samples along the Wasserstein geodesic (McCann's interpolation of a plan)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.checks import check_points, check_position, check_same_features
from driftfit.domains.samples import Interpolated, is_tensor
from driftfit.errors import InputError
from driftfit.transport.plan import Plan

__all__ = ["interpolate"]


def interpolate(x0: Any, x1: Any, plan: Plan, position: float) -> tuple[Any, NDArray[np.float64]]:
    """The domain at ``position`` between two others: one sample for each entry of the plan.

    Entry ``(i, j)`` of the plan puts a sample at ``(1 - position) * x0[i] + position * x1[j]``
    with the entry's mass as its weight (the paper's push-forward of the plan).

    Parameters
    ----------
    x0, x1 : array-like, sparse or tensors of one device
        The two clouds the plan was made for.
    plan : Plan
    position : float in [0, 1]

    Returns
    -------
    samples, mass
        The samples and their weights, which sum to 1.

    Examples
    --------
    >>> from driftfit.transport.solve import transport
    >>> x0, x1 = [[0.0], [10.0]], [[12.0], [2.0]]
    >>> samples, mass = interpolate(x0, x1, transport(x0, x1), position=0.5)
    >>> samples.ravel().tolist(), mass.tolist()
    ([1.0, 11.0], [0.5, 0.5])
    """
    if not (is_tensor(x0) and is_tensor(x1)):
        x0, x1 = check_points(x0, "x0"), check_points(x1, "x1")
    check_same_features(x0, x1)
    if (x0.shape[0], x1.shape[0]) != plan.shape:
        raise InputError(
            f"the plan couples {plan.shape[0]} with {plan.shape[1]} samples, got {x0.shape[0]} and {x1.shape[0]}"
        )
    t = check_position(position)
    return Interpolated.of(x0, x1, plan.rows, plan.cols, t).whole(), plan.mass.copy()

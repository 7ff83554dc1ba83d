"""A flow and potentials that are nearly optimal on candidate pairs, by cost scaling; needs numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["scaled_flow"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Epsilons in units of the mean cost, each smaller than the one before by the factor. Candidates may force potentials
# far from where they begin: steps of a large epsilon get there, and the phases in between take next to nothing.
_FIRST_EPSILON, _LAST_EPSILON, _FACTOR = 1.0, 1e-5, 5.0
# Mass, as a share of all, that is left to shortest paths: the way of the last of it is long.
_LEAVE = 1e-4
# Looks at each arc in one phase, at most: some hundred are common.
_LOOKS_EACH = 1000


def scaled_flow(
    start: Index,
    head: NDArray[np.int32],
    cost: Float,
    flow: Float,
    potentials: tuple[Float, Float],
    left: tuple[Float, Float],
    dust: float,
) -> None:
    """Bring a flow and its potentials close to the optimum; what could not be sent remains in ``left``.

    The arcs of row ``r`` are ``start[r]`` to ``start[r + 1]``, and lead to the columns ``head``. ``left`` is the supply
    and the demand beside the flow. Flow, potentials and what is left are changed in place.

    >>> flow, u, v, left = np.zeros(4), np.zeros(2), np.zeros(2), (np.ones(2), np.ones(2))
    >>> arcs = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.array([1.0, 2.0, 1.0, 5.0])
    >>> scaled_flow(*arcs, flow, (u, v), left, 1e-15)
    >>> flow.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    from driftfit.transport.kernels.scaling_loops import push_all  # numba is slow to import

    unit = float(np.abs(cost).mean())
    if unit == 0.0:
        return
    leave = _LEAVE * float(left[0].sum() + flow.sum())
    whole = left[1] + np.bincount(head, flow, len(left[1]))
    eps, budget = _FIRST_EPSILON, _LOOKS_EACH * len(head)
    while True:
        looks = push_all(start, head, cost, flow, *potentials, *left, eps * unit, leave, dust, budget)
        if eps <= _LAST_EPSILON or looks >= budget:
            break
        eps = max(eps / _FACTOR, _LAST_EPSILON)
    # Many pushes sum up roundings: what columns lack is counted anew.
    left[1][:] = whole - np.bincount(head, flow, len(whole))
    tail = np.repeat(np.arange(len(left[0])), np.diff(start))
    for column in np.flatnonzero(left[1] < -dust):
        arcs = np.flatnonzero(head == column)
        arc = arcs[flow[arcs].argmax()]
        back = min(flow[arc], -left[1][column])
        flow[arc] -= back
        left[0][tail[arc]] += back
    np.maximum(left[1], 0.0, out=left[1])

"""Transport between samples on a line, where order alone decides: `emd_1d`, `emd2_1d` and `wasserstein_1d`."""

from __future__ import annotations

import warnings
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.plan import monotone_entries
from driftfit.transport.pot.histograms import check_sums, uniform_where_empty
from driftfit.transport.pot.libraries import Library, RefusedError, gathered, library, signed

_POWERS = {"sqeuclidean": 2.0, "euclidean": 1.0, "cityblock": 1.0, "minkowski": None}
PlanTuple = namedtuple("PlanTuple", ["data", "rows", "cols"])


@signed("x_a", "x_b", a=None, b=None, metric="sqeuclidean", p=1.0, dense=True, log=False, check_marginals=True)
def emd_1d(given: SimpleNamespace) -> Any:
    """The optimal plan between samples on a line, as `ot.emd_1d` gives it.

    Parameters
    ----------
    x_a, x_b : array-like of shape (n,) or (n, 1)
        Samples.
    a, b : array-like, optional
        Weights of one sum; uniform if empty.
    metric : {"sqeuclidean", "euclidean", "cityblock", "minkowski"}
        The last is the distance to the power ``p``.
    p : float
    dense : bool
        Whether the plan is a full matrix, or a sparse one.
    log : bool
        Whether to return the cost and the pairs too.
    check_marginals : bool

    Examples
    --------
    >>> emd_1d([2.0, 0.0], [0.0, 3.0], [0.5, 0.5], [0.5, 0.5]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    lib, x0, x1 = gathered(given.x_a, given.x_b)
    for x in (x0, x1):
        if not (x.ndim == 1 or (x.ndim == 2 and x.shape[1] == 1)):
            raise RefusedError(f"emd_1d should only be used with monodimensional data, got shape {tuple(x.shape)}")
    if given.metric not in _POWERS:
        raise RefusedError(f"Solver for EMD in 1d only supports metrics from {list(_POWERS)}, got {given.metric!r}")
    a, b = (
        uniform_where_empty(lib, None if side is None or np.ndim(side) == 0 else side, x.shape[0])
        for side, x in ((given.a, x0), (given.b, x1))
    )
    b = check_sums(a, b, given.check_marginals)
    orders = [lib.argsort(x.reshape(-1)) for x in (x0, x1)]
    (first, second), (s, t) = ([lib.host(side) for side in pair] for pair in (orders, (x0, x1)))
    rows, cols, mass = monotone_entries(a[first], b[second])
    rows, cols = first[rows], second[cols]
    power = _POWERS[given.metric] or given.p
    cost = float(mass @ np.abs(np.subtract(s.ravel()[rows], t.ravel()[cols], dtype=np.float64)) ** power)
    plan = lib.coo(mass, rows, cols, (len(a), len(b)), x0)
    if given.dense:
        plan = lib.dense(plan)
    elif lib.xp.__name__ == "jax.numpy":
        warnings.warn("JAX does not support sparse matrices, converting to dense", stacklevel=3)
    if not given.log:
        return plan
    pairs = (lib.places(side, x0) for side in (rows, cols))
    return plan, dict(zip(("cost", "perms_x_a", "perms_x_b"), (lib.like(cost, x0), *pairs), strict=True))


@signed("x_a", "x_b", a=None, b=None, metric="sqeuclidean", p=1.0, dense=True, log=False)
def emd2_1d(given: SimpleNamespace) -> Any:
    """The cost of the optimal plan between samples on a line, as `ot.emd2_1d` gives it; parameters as for `emd_1d`.

    With ``log`` the plan comes too, as ``G``.

    Examples
    --------
    >>> emd2_1d([2.0, 0.0], [0.0, 3.0])
    0.5
    """
    options = vars(given) | {"log": True, "dense": given.dense and given.log}
    plan, found = emd_1d(**options)
    return (found["cost"], {"G": plan}) if given.log else found["cost"]


@signed("u_values", "v_values", u_weights=None, v_weights=None, p=1, require_sort=True, return_plans=False)
def wasserstein_1d(given: SimpleNamespace) -> Any:
    """The cost between samples on a line for distances to the power ``p``, as `ot.wasserstein_1d` gives it.

    Several pairs of samples may be columns of one array. Everything is differentiable, by samples and weights.

    Parameters
    ----------
    u_values, v_values : arrays of shape (n, ...) and (m, ...)
    u_weights, v_weights : arrays, optional
        For each sample, or for each sample of each column; uniform by default.
    p : float
        At least 1.
    require_sort : bool
        ``False`` where samples are in order already.
    return_plans : bool or "coo_tuple"
        Whether to return the plan of each column too, as a sparse matrix or as its entries.

    Examples
    --------
    >>> float(wasserstein_1d(np.array([2.0, 0.0]), np.array([0.0, 3.0]), p=2))
    0.5
    """
    if not given.p >= 1:
        raise RefusedError(f"The OT loss is only valid for p>=1, {given.p} was given")
    x0, x1 = given.u_values, given.v_values
    lib = library(x0, x1, given.u_weights, given.v_weights)
    (x0, order0, ends0), (x1, order1, ends1) = (
        _ordered(lib, x, weights, given.require_sort) for x, weights in ((x0, given.u_weights), (x1, given.v_weights))
    )
    places = lib.sort(lib.joined(ends0, ends1))
    at0, at1 = lib.search(ends0, places), lib.search(ends1, places)
    mass = lib.joined(places[:1], places[1:] - places[:-1])
    distances = abs(lib.taken(x0, at0) - lib.taken(x1, at1))
    cost = (mass * (distances if given.p == 1 else distances**given.p)).sum(0)
    if not given.return_plans:
        return cost
    columns = [
        side if side.ndim == 2 else side[:, None] for side in (mass, lib.taken(order0, at0), lib.taken(order1, at1))
    ]
    entries = [PlanTuple(*(side[:, k] for side in columns)) for k in range(columns[0].shape[1])]
    if given.return_plans == "coo_tuple":
        return cost, entries
    shape = x0.shape[0], x1.shape[0]
    return cost, [lib.coo(entry.data, entry.rows, entry.cols, shape, x0) for entry in entries]


def _ordered(lib: Library, x: Any, weights: Any, sort: bool) -> tuple[Any, Any, Any]:
    """Samples in order, their places among those given, and the sums of weights up to each."""
    if weights is None:
        weights = lib.like(np.full(tuple(x.shape), 1.0 / x.shape[0]), x)
    elif weights.ndim != x.ndim:
        weights = weights[..., None] + lib.like(np.zeros(x.shape[-1]), x)
    order: NDArray[Any]
    if not sort:
        order = lib.places(np.argsort(np.zeros(tuple(x.shape)), axis=0, kind="stable"), x)
        return x, order, lib.xp.cumsum(weights, 0)
    order = lib.argsort(x)
    return lib.taken(x, order), order, lib.xp.cumsum(lib.taken(weights, order), 0)

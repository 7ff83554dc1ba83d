"""Squared Euclidean costs held on a device, and what the solvers there ask of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_tensor", "least_pairs", "reduced_costs", "row_slices", "squared_costs", "tighten", "uncentred"]

Tensor = Any
Index = NDArray[np.int64]

# Entries of a block of temporary values.
_BLOCK_ENTRIES = 2**27


def as_tensor(x: Any, device: Any) -> Tensor:
    """An array or tensor on the device, copied only if it is elsewhere."""
    import torch  # slow to import

    if not isinstance(x, torch.Tensor):
        x = torch.from_numpy(np.ascontiguousarray(x))
    return x.to(device)


def squared_costs(x0: Tensor, x1: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Squared distances of the centred clouds in float64, the shift of their means, and the first mean."""
    import torch  # slow to import

    mean0, mean1 = x0.mean(dim=0, dtype=torch.float64), x1.mean(dim=0, dtype=torch.float64)
    costs = torch.zeros((len(x0), len(x1)), dtype=torch.float64, device=x0.device)
    norms0, norms1 = costs.new_zeros(len(x0)), costs.new_zeros(len(x1))
    step = max(1, 2 * _BLOCK_ENTRIES // max(len(x0), len(x1)))
    # Features a few thousand at a time: the float64 copies stay small.
    for start in range(0, x0.shape[1], step):
        part = slice(start, start + step)
        a, b = x0[:, part].double() - mean0[part], x1[:, part].double() - mean1[part]
        norms0 += (a * a).sum(dim=1)
        norms1 += (b * b).sum(dim=1)
        costs.addmm_(a, b.T, alpha=-2.0)
    costs += norms0[:, None]
    costs += norms1
    return costs, mean0 - mean1, mean0


def uncentred(potential: Tensor, x0: Tensor, shift: Tensor, mean0: Tensor) -> NDArray[np.float64]:
    """A first potential of the centred costs as one of the squared distances: a linear term is added."""
    linear = 2.0 * (x0.double() @ shift - mean0 @ shift)
    return np.asarray((potential + linear + shift @ shift).cpu().numpy())


def row_slices(n: int, m: int) -> Iterator[slice]:
    """Rows of an n x m matrix in blocks whose temporary values fit."""
    step = max(1, _BLOCK_ENTRIES // m)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def tighten(costs: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Feasible potentials from one: two exact c-transforms."""
    import torch  # slow to import

    n, m = costs.shape
    u = torch.cat([(costs[part] - g).amin(dim=1) for part in row_slices(n, m)])
    v = torch.full_like(g, torch.inf)
    for part in row_slices(n, m):
        v = torch.minimum(v, (costs[part] - u[part, None]).amin(dim=0))
    u = torch.cat([(costs[part] - v).amin(dim=1) for part in row_slices(n, m)])
    return u, v


def least_pairs(costs: Tensor, u: Tensor, v: Tensor, count: int, limit: float | None) -> Index:
    """Numbers ``row * m + column`` of the least reduced costs in each row and column, below a limit if given."""
    import torch  # slow to import

    n, m = costs.shape
    found: list[Tensor] = []
    rows = torch.arange(n, device=costs.device)
    columns = torch.arange(m, device=costs.device)
    for part in row_slices(n, m):
        reduced = costs[part] - u[part, None] - v
        values, places = _smallest(reduced, min(count, m), limit)
        if values is not None:
            numbers = rows[part, None] * m + places
            found.append(numbers.ravel() if limit is None else numbers[values < limit])
    for part in row_slices(m, n):
        reduced = (costs[:, part] - u[:, None] - v[part]).T
        values, places = _smallest(reduced, min(count, n), limit)
        if values is not None:
            numbers = places * m + columns[part, None]
            found.append(numbers.ravel() if limit is None else numbers[values < limit])
    if not found:
        return np.zeros(0, np.int64)
    return np.asarray(torch.unique(torch.cat(found)).cpu().numpy())


def reduced_costs(costs: Tensor, u: Tensor, v: Tensor, pairs: Index) -> NDArray[np.float64]:
    """Costs of numbered pairs less both potentials, off the device."""
    import torch  # slow to import

    numbers = torch.from_numpy(pairs).to(costs.device)
    rows, cols = numbers // costs.shape[1], numbers % costs.shape[1]
    return np.asarray((costs[rows, cols] - u[rows] - v[cols]).cpu().numpy())


def _smallest(reduced: Tensor, count: int, limit: float | None) -> tuple[Any, Any]:
    import torch  # slow to import

    if limit is not None and not bool((reduced < limit).any()):
        return None, None
    if limit is None:
        # Ranking only: float32 is enough and much faster.
        reduced = reduced.to(torch.float32)
    values, places = torch.topk(reduced, count, dim=1, largest=False, sorted=False)
    return values, places

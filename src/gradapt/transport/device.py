"""Exact assignment on a GPU, with torch, NumPy and SciPy alone.

Annealed Sinkhorn iterations on the stored costs give potentials; the pairs of least
reduced cost become candidates; a sparse matching on them is optimal among them;
potentials that prove it are found by Bellman-Ford steps, and priced against all pairs.
Pairs that break the proof join the candidates, until none does. The same code runs on
any torch device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from gradapt.errors import SolverError
from gradapt.transport.problem import Problem, Solution

__all__ = ["assign_on_device", "least_pairs", "row_slices", "squared_costs", "tighten", "uncentred"]

Tensor = Any
Index = NDArray[np.int64]

# Annealing of epsilon, in units of the mean cost.
_LEVELS = 12
_LAST_EPSILON = 2e-4
_SWEEPS = 20
# Candidates for each row and for each column, and those added in a round of pricing.
_CANDIDATES = 16
_PRICED = 4
_ROUNDS = 30
# Entries of a block of temporary values.
_BLOCK_ENTRIES = 2**27
# Steps between two looks at whether Bellman-Ford has come to rest; how many to try on an old and on a new matching.
_STEPS, _FEW_STEPS, _MOST_STEPS = 32, 1024, 50_000
# Violations below this share of the mean cost are rounding.
_TOLERANCE = 1e-13


def assign_on_device(problem: Problem, device: Any, progress: Any = None) -> Solution:
    """The optimal permutation between two equally large clouds of uniform weight, squared Euclidean cost."""
    import torch  # slow to import

    x0, x1 = as_tensor(problem.x0, device), as_tensor(problem.x1, device)
    n = len(x0)
    costs, shift, mean0 = squared_costs(x0, x1)
    if progress is not None:
        progress("costs", 1.0)
    mean = float(costs.mean(dtype=torch.float64)) or 1.0
    g = annealed_potential(costs, mean, progress)
    u, v = tighten(costs, g)
    edges = _union(least_pairs(costs, u, v, _CANDIDATES, None), np.arange(n) * n + _in_order(x0, x1))
    cols: Index | None = None
    for _ in range(_ROUNDS):
        # Moving potentials is cheap and often proof enough; a new matching is made only when it is not.
        settled = None if cols is None else _prove(costs, edges, cols, u, v, _TOLERANCE * mean, _FEW_STEPS)
        if settled is None:
            cols = _matching(costs, edges, u, v, mean)
            settled = _prove(costs, edges, cols, u, v, _TOLERANCE * mean, _MOST_STEPS)
            if settled is None:
                raise SolverError("the sparse matching was not optimal on its own pairs; use Exact(device='cpu')")
        u, v = settled
        new = least_pairs(costs, u, v, _PRICED, -8.0 * _TOLERANCE * mean)
        if progress is not None:
            progress("pricing", 1.0 if len(new) == 0 else 0.5)
        joined = _union(edges, new)
        if len(joined) == len(edges):
            break
        edges = joined
    assert cols is not None
    return Solution(np.arange(n), cols, np.full(n, 1.0 / n), uncentred(u, x0, shift, mean0))


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


def annealed_potential(costs: Tensor, mean: float, progress: Any = None) -> Tensor:
    """Second potential of entropic transport at a small epsilon, annealed.

    Each level forms the kernel once, normalised by rows so that float32 holds it; its
    sweeps are then matrix-vector products.
    """
    import torch  # slow to import

    n, m = costs.shape
    g = costs.new_zeros(m)
    kernel = torch.empty((n, m), dtype=torch.float32, device=costs.device)
    for level in range(_LEVELS):
        epsilon = mean * _LAST_EPSILON ** (level / (_LEVELS - 1))
        for part in row_slices(n, m):
            kernel[part] = torch.softmax(((g - costs[part]) / epsilon).to(torch.float32), dim=1)
        b = torch.ones(m, dtype=torch.float32, device=costs.device)
        for _ in range(_SWEEPS):
            a = 1.0 / (kernel @ b).clamp_min(1e-30)
            b = (n / m) / (kernel.T @ a).clamp_min(1e-30)
        g = g + epsilon * torch.log(b).double()
        if progress is not None:
            progress("sinkhorn", (level + 1) / _LEVELS)
    return g


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


def _smallest(reduced: Tensor, count: int, limit: float | None) -> tuple[Any, Any]:
    import torch  # slow to import

    if limit is not None and not bool((reduced < limit).any()):
        return None, None
    if limit is None:
        # Ranking only: float32 is enough and much faster.
        reduced = reduced.to(torch.float32)
    values, places = torch.topk(reduced, count, dim=1, largest=False, sorted=False)
    return values, places


def _in_order(x0: Tensor, x1: Tensor) -> Index:
    """Some full matching, both clouds in order of one feature, so that the candidates always admit one."""
    order0, order1 = x0[:, 0].argsort().cpu().numpy(), x1[:, 0].argsort().cpu().numpy()
    cols = np.empty(len(order0), np.int64)
    cols[order0] = order1
    return cols


def _matching(costs: Tensor, edges: Index, u: Tensor, v: Tensor, mean: float) -> Index:
    """The best full matching among the candidate pairs."""
    n, m = costs.shape
    rows, cols = edges // m, edges % m
    r, c = _on(costs, rows), _on(costs, cols)
    reduced = (costs[r, c] - u[r] - v[c]).cpu().numpy()
    # A zero would be no entry at all; a constant on every pair changes no matching.
    weights = reduced - min(float(reduced.min()), 0.0) + 1e-3 * mean
    pointers = np.searchsorted(rows, np.arange(n + 1))
    graph = csr_array((weights, cols.astype(np.int32), pointers.astype(np.int32)), shape=(n, m))
    _, matched = min_weight_full_bipartite_matching(graph)
    return np.asarray(matched, dtype=np.int64)


def _prove(
    costs: Tensor, edges: Index, cols: Index, u: Tensor, v: Tensor, tolerance: float, steps: int
) -> tuple[Tensor, Tensor] | None:
    """Potentials, feasible on the candidates, that are tight on the matching; ``None`` if not found.

    Bellman-Ford on the columns: a step lowers a column's potential to what a candidate pair
    allows. It comes to rest exactly if no cycle of exchanges would lower the matching's cost.
    """
    import torch  # slow to import

    n, m = costs.shape
    r, c, match = _on(costs, edges // m), _on(costs, edges % m), _on(costs, cols)
    everyone = torch.arange(n, device=costs.device)
    slack = costs[everyone, match] - u - v[match]
    allowed = costs[r, c] - u[r] - v[c] - slack[r]
    via = match[r]
    drop = torch.zeros_like(v)
    for step in range(steps):
        before = drop
        drop = drop.scatter_reduce(0, c, allowed + drop[via], "amin")
        if step % _STEPS == _STEPS - 1 and bool((before - drop).max() <= tolerance):
            v = v + drop
            return costs[everyone, match] - v[match], v
    return None


def _union(a: Index, b: Index) -> Index:
    return np.asarray(np.union1d(a, b))


def _on(costs: Tensor, index: Index) -> Tensor:
    import torch  # slow to import

    return torch.from_numpy(np.ascontiguousarray(index)).to(costs.device)


def row_slices(n: int, m: int) -> Iterator[slice]:
    """Rows of an n x m matrix in blocks whose temporary values fit."""
    step = max(1, _BLOCK_ENTRIES // m)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))

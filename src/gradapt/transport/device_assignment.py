"""Exact assignment on a GPU, with torch, NumPy and SciPy alone.

Annealed Sinkhorn iterations on the stored costs give potentials; the pairs of least
reduced cost become candidates; a sparse matching on them is optimal among them;
potentials that prove it are found by Bellman-Ford steps, and priced against all pairs.
Pairs that break the proof join the candidates, until none does. The same code runs on
any torch device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from gradapt.errors import SolverError
from gradapt.transport.device_costs import as_tensor, least_pairs, reduced_costs, squared_costs, tighten, uncentred
from gradapt.transport.device_entropic import entropic_potential
from gradapt.transport.problem import Problem, Solution

__all__ = ["assign_on_device"]

Tensor = Any
Index = NDArray[np.int64]

# Annealing of epsilon, in units of the mean cost; sweeps at each.
_EPSILONS = np.geomspace(1.0, 2e-4, 12)
_SWEEPS = 20
# Candidates for each row and for each column, and those added in a round of pricing.
_CANDIDATES = 16
_PRICED = 4
_ROUNDS = 30
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
    weights = costs.new_full((n,), 1.0 / n)
    g = entropic_potential(costs, weights, weights, mean * _EPSILONS, _SWEEPS, progress=progress)
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
            assert cols is not None
            return Solution(np.arange(n), cols, np.full(n, 1.0 / n), uncentred(u, x0, shift, mean0))
        edges = joined
    raise SolverError(f"pricing did not end in {_ROUNDS} rounds; use Exact(device='cpu')")


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
    reduced = reduced_costs(costs, u, v, edges)
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

"""Exact transport of device tensors: potentials by entropic sweeps, then a sparse exact finish.

Needs torch and SciPy alone where both clouds have the same size; otherwise the network
simplex of POT finishes on the candidate pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradapt.errors import SolverError

__all__ = ["couple_on_gpu"]

Index = NDArray[np.int64]

# Entropic levels, as shares of the mean cost, and sweeps at each.
_FIRST, _LAST, _LEVELS, _SWEEPS = 1.0, 5e-4, 10, 20
# Candidate pairs per row and per column, doubled until they hold a full plan.
_CANDIDATES, _MOST_CANDIDATES = 32, 512
# Rounds of adding pairs to the simplex, and what counts as rounding relative to the largest cost.
_MOST_ROUNDS, _TOLERANCE = 40, 1e-12
# Costs handled at a time.
_BLOCK = 2**28


@torch.no_grad()
def couple_on_gpu(x0: Tensor, x1: Tensor) -> tuple[Index, Index, NDArray[np.float64], float]:
    """Rows, columns and mass of the optimal plan, and the proven relative gap."""
    costs = squared_distances(x0, x1)
    scale = float(costs.mean()) or 1.0
    f, g = potentials(costs, scale)
    n, m = costs.shape
    width = _CANDIDATES
    while True:
        rows, cols = candidates(costs, f, g, min(width, n, m))
        found = _match(costs, f, g, rows, cols) if n == m else _flow(costs, f, g, rows, cols)
        if found is not None:
            break
        width *= 2
        if width > _MOST_CANDIDATES:
            raise SolverError(f"no full plan between {n} and {m} samples in {_MOST_CANDIDATES} candidates per sample")
    rows, cols, mass = found
    r, c = (torch.as_tensor(index, device=costs.device) for index in (rows, cols))
    primal = float((costs[r, c].double().cpu() * torch.as_tensor(mass)).sum())
    dual = float(f.double().mean() + g.double().mean())
    return rows, cols, mass, (primal - dual) / primal if primal else 0.0


def squared_distances(x0: Tensor, x1: Tensor) -> Tensor:
    """All squared distances in float32, by one matrix product in full precision."""
    centre = x0.mean(0)
    a, b = x0 - centre, x1 - centre
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        costs = torch.mm(a, b.T).mul_(-2.0)
    finally:
        torch.set_float32_matmul_precision(before)
    costs += a.square().sum(1)[:, None]
    costs += b.square().sum(1)
    return costs.clamp_(min=0.0)


def potentials(costs: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """A feasible pair of potentials near the optimum."""
    n, m = costs.shape
    f, g = costs.new_zeros(n), costs.new_zeros(m)
    for epsilon in np.geomspace(_FIRST, _LAST, _LEVELS) * scale:
        for _ in range(_SWEEPS):
            f = _soft_minimum(costs, g, float(epsilon), 1)
            g = _soft_minimum(costs, f, float(epsilon), 0)
    # Hard minima make the pair feasible, so that its value bounds every plan from below.
    f = _hard_minimum(costs, g, 1)
    g = _hard_minimum(costs, f, 0)
    return f, g


def _soft_minimum(costs: Tensor, other: Tensor, epsilon: float, axis: int) -> Tensor:
    parts = []
    for block in _blocks(costs, axis):
        scores = (other[None, :] if axis == 1 else other[:, None]) - block
        parts.append(-epsilon * (torch.logsumexp(scores.div_(epsilon), axis) - float(np.log(costs.shape[axis]))))
    return torch.cat(parts)


def _hard_minimum(costs: Tensor, other: Tensor, axis: int) -> Tensor:
    parts = [(block - (other[None, :] if axis == 1 else other[:, None])).amin(axis) for block in _blocks(costs, axis)]
    return torch.cat(parts)


def _blocks(costs: Tensor, axis: int, share: int = 1) -> Any:
    step = max(1, _BLOCK // share // costs.shape[axis])
    return torch.split(costs, step, dim=1 - axis)


def candidates(costs: Tensor, f: Tensor, g: Tensor, width: int) -> tuple[Index, Index]:
    """Pairs with the least reduced cost in their row or in their column."""
    _, m = costs.shape
    codes = []
    start = 0
    for block in _blocks(costs, 1):
        best = torch.topk(block - g, width, dim=1, largest=False).indices
        at = torch.arange(start, start + len(block), device=costs.device)[:, None]
        codes.append((at * m + best).flatten())
        start += len(block)
    start = 0
    for block in _blocks(costs, 0):
        best = torch.topk((block - f[:, None]).T.contiguous(), width, dim=1, largest=False).indices
        at = torch.arange(start, start + block.shape[1], device=costs.device)[:, None]
        codes.append((best * m + at).flatten())
        start += block.shape[1]
    pairs = torch.unique(torch.cat(codes)).cpu().numpy()
    return pairs // m, pairs % m


def _match(
    costs: Tensor, f: Tensor, g: Tensor, rows: Index, cols: Index
) -> tuple[Index, Index, NDArray[np.float64]] | None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n = len(f)
    reduced = _reduced(costs, f, g, rows, cols)
    # A weight of zero would mean no edge; a constant on every edge changes no matching.
    graph = csr_array((reduced + 1.0, (rows, cols)), shape=(n, n))
    try:
        matched_rows, matched_cols = min_weight_full_bipartite_matching(graph)
    except ValueError:
        return None
    return matched_rows.astype(np.int64), matched_cols.astype(np.int64), np.full(n, 1.0 / n)


def _flow(
    costs: Tensor, f: Tensor, g: Tensor, rows: Index, cols: Index
) -> tuple[Index, Index, NDArray[np.float64]] | None:
    """The network simplex on candidate pairs; pairs that still pay are added until none is left."""
    try:
        from ot.lp.emd_wrap import emd_c_sparse
    except ImportError:
        raise SolverError("domains of different sizes need POT >= 0.9.7 for their plan; pip install POT") from None
    from gradapt.transport.rounding import monotone_entries

    n, m = costs.shape
    w0, w1 = np.full(n, 1.0 / n), np.full(m, 1.0 / m)
    # Pairs of some feasible plan, and their neighbours, so that the candidates always admit one.
    r0, c0, _ = monotone_entries(w0, w1)
    near = [np.clip(r0 + a, 0, n - 1) * m + np.clip(c0 + b, 0, m - 1) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    edges = np.unique(np.concatenate([rows * m + cols, *near]))
    scale = float(costs.max()) or 1.0
    u, v = f.double().cpu().numpy(), g.double().cpu().numpy()
    for _ in range(_MOST_ROUNDS):
        at = torch.as_tensor(edges, device=costs.device)
        weights = costs.view(-1)[at].double().cpu().numpy() / scale
        r, c, mass, _, alpha, beta, code = emd_c_sparse(
            w0, w1 * (w0.sum() / w1.sum()), (edges // m).astype(np.uint64), (edges % m).astype(np.uint64),
            weights, 1_000_000_000, u / scale, v / scale,
        )  # fmt: skip
        if code != 1:
            return None
        u, v = np.asarray(alpha) * scale, np.asarray(beta) * scale
        new = np.setdiff1d(_paying(costs, u, v, -_TOLERANCE * scale), edges, assume_unique=True)
        if len(new) == 0:
            keep = mass > 1e-14 * mass.max()
            f.copy_(torch.as_tensor(u))
            g.copy_(torch.as_tensor(v))
            return r[keep].astype(np.int64), c[keep].astype(np.int64), mass[keep] / mass[keep].sum()
        edges = np.union1d(edges, new)
    return None


def _paying(costs: Tensor, u: NDArray[np.float64], v: NDArray[np.float64], limit: float, width: int = 4) -> Index:
    """Pairs of negative reduced cost, the worst few of each row and each column."""
    _, m = costs.shape
    f, g = (torch.as_tensor(values, device=costs.device) for values in (u, v))
    codes = []
    for axis in (1, 0):
        start = 0
        for block in _blocks(costs, axis, 4):
            stop = start + block.shape[1 - axis]
            part = block.double() - (f[start:stop, None] + g if axis == 1 else f[:, None] + g[start:stop])
            part = part if axis == 1 else part.T.contiguous()
            worst = torch.topk(part, min(width, part.shape[1]), dim=1, largest=False)
            own = torch.arange(start, stop, device=costs.device)[:, None].expand_as(worst.indices)
            pairs = own * m + worst.indices if axis == 1 else worst.indices * m + own
            codes.append(pairs[worst.values < limit])
            start = stop
    found: Index = torch.unique(torch.cat(codes)).cpu().numpy()
    return found


def _reduced(costs: Tensor, f: Tensor, g: Tensor, rows: Index, cols: Index) -> NDArray[np.float64]:
    r, c = (torch.as_tensor(index, device=costs.device) for index in (rows, cols))
    values: NDArray[np.float64] = (costs[r, c].double() - f[r].double() - g[c].double()).clamp_(min=0).cpu().numpy()
    return values

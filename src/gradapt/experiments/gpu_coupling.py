"""Exact plans between device tensors of different sizes.

Potentials come from annealed entropic sweeps on the device; POT's network simplex works
on the few candidate pairs they leave; all pairs are priced on the device, and those that
still pay join the candidates, until none is left. The plan is then optimal over all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradapt.errors import SolverError
from gradapt.transport.device import annealed_potential, squared_costs, tighten
from gradapt.transport.rounding import monotone_entries

__all__ = ["couple_unequal"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Candidate pairs for each row and column at first, and added in each round of pricing.
_CANDIDATES, _MORE_CANDIDATES = 24, 4
_MOST_ROUNDS = 40
# Reduced costs above this share of the largest cost, with the sign turned, are rounding.
_TOLERANCE = 1e-12
# Values handled at a time.
_BLOCK = 2**26


@torch.no_grad()
def couple_unequal(x0: Tensor, x1: Tensor) -> tuple[Index, Index, Float, float]:
    """Rows, columns and mass of the optimal plan for equal weights within each cloud, and the relative gap.

    >>> x0, x1 = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [0.5], [1.0], [1.5]])
    >>> rows, cols, mass, gap = couple_unequal(x0, x1)
    >>> sorted(zip(rows.tolist(), cols.tolist())), mass.tolist()
    ([(0, 0), (0, 1), (1, 2), (1, 3)], [0.25, 0.25, 0.25, 0.25])
    """
    try:
        from ot.lp.emd_wrap import emd_c_sparse  # not public: POT 0.9.7 and later
    except ImportError:
        raise SolverError("domains of different sizes need POT >= 0.9.7 for their plan: pip install POT") from None
    costs, _, _ = squared_costs(x0, x1)
    n, m = costs.shape
    f, g = tighten(costs, annealed_potential(costs, float(costs.mean()) or 1.0))
    w0, w1 = np.full(n, 1.0 / n), np.full(m, 1.0 / m)
    edges = np.union1d(_least_pairs(costs, f, g, _CANDIDATES, float("inf")), _feasible_pairs(w0, w1))
    scale = float(costs.abs().max()) or 1.0
    for _ in range(_MOST_ROUNDS):
        weights = costs.view(-1)[torch.as_tensor(edges, device=costs.device)].cpu().numpy() / scale
        rows, cols, mass, _, u, v, code = emd_c_sparse(
            w0, w1 * (w0.sum() / w1.sum()), (edges // m).astype(np.uint64), (edges % m).astype(np.uint64),
            weights, 1_000_000_000, f.cpu().numpy() / scale, g.cpu().numpy() / scale,
        )  # fmt: skip
        if code != 1:
            raise SolverError(f"the network simplex between {n} and {m} samples gave up with code {code}")
        f, g = (torch.as_tensor(np.asarray(side) * scale, device=costs.device) for side in (u, v))
        new = np.setdiff1d(_least_pairs(costs, f, g, _MORE_CANDIDATES, -_TOLERANCE * scale), edges, assume_unique=True)
        if len(new) == 0:
            keep = mass > 1e-14 * mass.max()
            rows, cols, mass = rows[keep].astype(np.int64), cols[keep].astype(np.int64), mass[keep] / mass[keep].sum()
            return rows, cols, mass, _gap(costs, f, g, rows, cols, mass)
        edges = np.union1d(edges, new)
    raise SolverError(f"pricing between {n} and {m} samples did not end in {_MOST_ROUNDS} rounds; use the CPU")


def _feasible_pairs(w0: Float, w1: Float) -> Index:
    """Pairs of some feasible plan and their neighbours, so that the candidates always admit one."""
    n, m = len(w0), len(w1)
    rows, cols, _ = monotone_entries(w0, w1)
    near = [(np.clip(rows + a, 0, n - 1), np.clip(cols + b, 0, m - 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return np.unique(np.concatenate([r * m + c for r, c in near]))


def _least_pairs(costs: Tensor, f: Tensor, g: Tensor, width: int, limit: float) -> Index:
    """Pairs with the least reduced costs of each row and each column, if below the limit."""
    n, m = costs.shape
    found = [torch.zeros(0, dtype=torch.int64, device=costs.device)]
    for part in _parts(n, m):
        least = torch.topk(costs[part] - f[part, None] - g, min(width, m), dim=1, largest=False)
        own = torch.arange(part.start, part.stop, device=costs.device)[:, None]
        found.append((own * m + least.indices)[least.values < limit])
    for part in _parts(m, n):
        reduced = (costs[:, part] - f[:, None] - g[part]).T.contiguous()
        least = torch.topk(reduced, min(width, n), dim=1, largest=False)
        own = torch.arange(part.start, part.stop, device=costs.device)[:, None]
        found.append((least.indices * m + own)[least.values < limit])
    pairs: Index = torch.unique(torch.cat(found)).cpu().numpy()
    return pairs


def _gap(costs: Tensor, f: Tensor, g: Tensor, rows: Index, cols: Index, mass: Float) -> float:
    r, c, w = (torch.as_tensor(values, device=costs.device) for values in (rows, cols, mass))
    primal = float((costs[r, c] * w).sum())
    # Lowered until it is feasible for every pair, the second potential bounds all plans from below.
    lowest = torch.cat([(costs[:, part] - f[:, None]).amin(0) for part in _parts(len(g), len(f))])
    dual = float(f.mean() + torch.minimum(g, lowest).mean())
    return (primal - dual) / primal if primal else 0.0


def _parts(n: int, m: int) -> Iterator[slice]:
    step = max(1, _BLOCK // m)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))

"""Entropic transport on a GPU that holds all costs: sweeps are matrix-vector products.

Where the costs and their kernel do not fit, `blockwise` forms them anew in every sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.transport.device import row_slices, squared_costs, uncentred
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import round_to_marginals

__all__ = ["entropic_potential", "fits_on_device", "sinkhorn_on_device"]

Tensor = Any

# Share of the device's free memory that may be filled; 8 bytes for a cost, 4 for its kernel.
_MEMORY_SHARE = 0.7
_BYTES_PER_PAIR = 12
# Epsilon falls by this factor from level to level; sweeps at each level but the last.
_FALL = 3.0
_SWEEPS = 50
# Scalings are absorbed into the potentials this often, before float32 runs out of range.
_SWEEPS_PER_KERNEL = 50
# Entries of the plan kept for each row and each column; the rest of their mass is placed by the rounding.
_KEPT = 32


def fits_on_device(problem: Problem) -> bool:
    """Whether all costs and the kernel fit into the memory of the device the samples are on."""
    if not problem.on_device:
        return False
    import torch  # slow to import

    if problem.x0.device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(problem.x0.device)
    return _BYTES_PER_PAIR * problem.shape[0] * problem.shape[1] <= _MEMORY_SHARE * free


def sinkhorn_on_device(problem: Problem, epsilon: float, tolerance: float, max_sweeps: int) -> Solution:
    """Entropic transport with ``epsilon`` in units of the mean cost; all samples must carry weight."""
    import torch  # slow to import

    costs, shift, mean0 = squared_costs(problem.x0, problem.x1)
    # Epsilon is in units of the mean cost as it was before centring.
    mean = float(costs.mean() + shift @ shift) or 1.0
    w0, w1 = (torch.from_numpy(w).to(costs.device) for w in (problem.weights0, problem.weights1))
    g = entropic_potential(costs, w0, w1, mean, epsilon, max_sweeps, tolerance)
    scale = min(epsilon, 1.0) * mean
    f = torch.cat([-scale * torch.logsumexp((g - costs[part]) / scale, dim=1) for part in row_slices(*costs.shape)])
    f = f + scale * torch.log(w0)
    rows, cols, mass = _largest_entries(costs, f, g, scale)
    potential = uncentred(f, problem.x0, shift, mean0)
    return Solution(*round_to_marginals(rows, cols, mass, problem.weights0, problem.weights1), potential)


def entropic_potential(
    costs: Tensor, w0: Tensor, w1: Tensor, mean: float, epsilon: float, max_sweeps: int, tolerance: float
) -> Tensor:
    """Second potential at ``epsilon`` times ``mean``, annealed from 1; at most ``max_sweeps`` at the last level."""
    import torch  # slow to import

    g = costs.new_zeros(costs.shape[1])
    levels = [1.0]
    while levels[-1] > epsilon:
        levels.append(max(levels[-1] / _FALL, epsilon))
    kernel = torch.empty(costs.shape, dtype=torch.float32, device=costs.device)
    for level in levels:
        last = level == levels[-1]
        g = _sweeps(costs, kernel, g, w0, w1, level * mean, max_sweeps if last else _SWEEPS, tolerance)
    return g


def _sweeps(
    costs: Tensor, kernel: Tensor, g: Tensor, w0: Tensor, w1: Tensor, epsilon: float, most: int, tolerance: float
) -> Tensor:
    """Second potential after up to ``most`` sweeps at one epsilon."""
    import torch  # slow to import

    a0, b1 = w0.to(torch.float32), w1.to(torch.float32)
    for start in range(0, most, _SWEEPS_PER_KERNEL):
        for part in row_slices(*costs.shape):
            # Rows that sum to 1: float32 holds them whatever the potentials are.
            kernel[part] = torch.softmax(((g - costs[part]) / epsilon).to(torch.float32), dim=1)
        b = torch.ones_like(b1)
        error = 0.0
        for sweep in range(min(_SWEEPS_PER_KERNEL, most - start)):
            a = a0 / (kernel @ b).clamp_min(1e-30)
            arrived = b * (kernel.T @ a)
            if sweep == 0:
                error = float((arrived - b1).abs().sum())
            b = b * b1 / arrived.clamp_min(1e-30)
        g = g + epsilon * torch.log(b.double())
        if error < tolerance:
            break
    return g


def _largest_entries(
    costs: Tensor, f: Tensor, g: Tensor, epsilon: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    import torch  # slow to import

    n, m = costs.shape
    found = []
    for part in row_slices(*costs.shape):
        places = torch.topk(g - costs[part], min(_KEPT, m), dim=1).indices
        found.append((torch.arange(part.start, part.stop, device=costs.device)[:, None] * m + places).ravel())
    for part in row_slices(m, n):
        places = torch.topk((f[:, None] - costs[:, part]).T, min(_KEPT, n), dim=1).indices
        found.append((places * m + torch.arange(part.start, part.stop, device=costs.device)[:, None]).ravel())
    pairs = torch.unique(torch.cat(found))
    rows, cols = pairs // m, pairs % m
    mass = torch.exp(((f[rows] + g[cols] - costs[rows, cols]) / epsilon).clamp_max(0.0))
    return rows.cpu().numpy(), cols.cpu().numpy(), mass.cpu().numpy()

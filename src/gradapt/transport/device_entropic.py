"""Entropic transport on a GPU that holds all costs: sweeps are matrix-vector products.

Where the costs and their kernel do not fit, `blockwise` forms them anew in every sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.transport.device_costs import least_pairs, reduced_costs, row_slices, squared_costs, uncentred
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import balanced, round_to_marginals

__all__ = ["annealing", "entropic_potential", "fits_on_device", "sinkhorn_on_device"]

Tensor = Any

# Share of the device's free memory that may be filled; 8 bytes for a cost, 4 for its kernel.
_MEMORY_SHARE = 0.7
_BYTES_PER_PAIR = 12
# Epsilon falls by this factor from level to level; sweeps at each level but the last.
_FALL = 3.0
_SWEEPS = 50
# Scalings are absorbed into the potentials after so many sweeps, or when they leave this range.
_SWEEPS_PER_KERNEL = 50
_LARGEST_SCALING = 1e12
# Mass of a column in float32 below which it is taken as lost.
_FAINTEST = 1e-20
# Entries of the plan kept for each row and each column, and scaled up to carry all of its mass.
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
    epsilons = annealing(epsilon) * mean
    g = entropic_potential(costs, w0, w1, epsilons, _SWEEPS, last_sweeps=max_sweeps, tolerance=tolerance)
    scale = float(epsilons[-1])
    f = _first_potential(costs, g, w0, scale)
    pairs = least_pairs(costs, f, g, _KEPT, None)
    rows, cols = pairs // costs.shape[1], pairs % costs.shape[1]
    mass = np.exp(np.minimum(-reduced_costs(costs, f, g, pairs) / scale, 0.0))
    mass = balanced(rows, cols, mass, problem.weights0, problem.weights1)
    potential = uncentred(f, problem.x0, shift, mean0)
    return Solution(*round_to_marginals(rows, cols, mass, problem.weights0, problem.weights1), potential)


def annealing(epsilon: float) -> NDArray[np.float64]:
    """Strengths of the entropy term from 1 down to ``epsilon``, both in units of the mean cost.

    >>> annealing(0.2).round(3).tolist()
    [1.0, 0.333, 0.2]
    """
    levels = [max(1.0, epsilon)]
    while levels[-1] > epsilon:
        levels.append(max(levels[-1] / _FALL, epsilon))
    return np.array(levels)


def entropic_potential(
    costs: Tensor,
    w0: Tensor,
    w1: Tensor,
    epsilons: NDArray[np.float64],
    sweeps: int,
    *,
    last_sweeps: int | None = None,
    tolerance: float = 0.0,
    progress: Any = None,
) -> Tensor:
    """Second potential at the last of ``epsilons``, after ``sweeps`` over rows and columns at each of them."""
    import torch  # slow to import

    g = costs.new_zeros(costs.shape[1])
    kernel = torch.empty(costs.shape, dtype=torch.float32, device=costs.device)
    for number, epsilon in enumerate(epsilons, start=1):
        most = sweeps if last_sweeps is None or number < len(epsilons) else last_sweeps
        g = _swept(costs, kernel, g, w0, w1, float(epsilon), most, tolerance)
        if progress is not None:
            progress("sinkhorn", number / len(epsilons))
    return g


def _swept(
    costs: Tensor, kernel: Tensor, g: Tensor, w0: Tensor, w1: Tensor, epsilon: float, most: int, tolerance: float
) -> Tensor:
    """Second potential after up to ``most`` sweeps at one epsilon, from the potential ``g``."""
    import torch  # slow to import

    a0, b1 = w0.to(torch.float32), w1.to(torch.float32)
    done = 0
    while done < most:
        _fill(kernel, costs, g, epsilon)
        arrived = kernel.T @ a0
        if arrived.min() < _FAINTEST:
            # A column so far from all rows that float32 loses it gets its weight by a sweep in logarithms.
            g = _second_potential(costs, _first_potential(costs, g, w0, epsilon), w1, epsilon)
            _fill(kernel, costs, g, epsilon)
            arrived = kernel.T @ a0
            done += 1
        if (arrived - b1).abs().sum() < tolerance:
            break
        b = b1 / arrived
        done += 1
        for _ in range(min(_SWEEPS_PER_KERNEL, most - done)):
            least, largest = torch.aminmax(b)
            if least < 1.0 / _LARGEST_SCALING or largest > _LARGEST_SCALING:
                break
            b = b1 / (kernel.T @ (a0 / (kernel @ b)))
            done += 1
        g = g + epsilon * torch.log(b.double())
    return g


def _fill(kernel: Tensor, costs: Tensor, g: Tensor, epsilon: float) -> None:
    """The kernel of the plan, each of its rows scaled to 1: float32 holds them whatever the potential is."""
    import torch  # slow to import

    for part in row_slices(*costs.shape):
        kernel[part] = torch.softmax(((g - costs[part]) / epsilon).to(torch.float32), dim=1)


def _first_potential(costs: Tensor, g: Tensor, w0: Tensor, epsilon: float) -> Tensor:
    import torch  # slow to import

    parts = [torch.logsumexp((g - costs[part]) / epsilon, dim=1) for part in row_slices(*costs.shape)]
    return epsilon * (torch.log(w0) - torch.cat(parts))


def _second_potential(costs: Tensor, f: Tensor, w1: Tensor, epsilon: float) -> Tensor:
    import torch  # slow to import

    total = torch.full_like(w1, -torch.inf)
    for part in row_slices(*costs.shape):
        total = torch.logaddexp(total, torch.logsumexp((f[part, None] - costs[part]) / epsilon, dim=0))
    return epsilon * (torch.log(w1) - total)

"""Exact transport on a GPU between clouds of any sizes and weights, squared Euclidean cost.

Entropic potentials on the device choose a few candidate pairs; a network simplex on the
processor solves on them, from a plan that is nearly optimal; all pairs are priced on the
device, and those that still pay join the candidates, until none is left. The tree of the
simplex is kept between the rounds.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.errors import SolverError
from gradapt.transport.device_costs import least_pairs, reduced_costs, squared_costs, tighten, uncentred
from gradapt.transport.device_entropic import annealing, entropic_potential
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import monotone_entries

__all__ = ["transport_on_device"]

Tensor = Any
Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Of the potentials to start from, in units of the mean cost; sweeps at each level, and at the last.
_EPSILON, _SWEEPS, _LAST_SWEEPS = 5e-4, 50, 100
# Candidate pairs for each row and column at first, and added in each round of pricing.
_CANDIDATES, _MORE_CANDIDATES = 12, 4
_MOST_ROUNDS = 100
# Reduced costs above this share of the largest cost, with the sign turned, are rounding.
_TOLERANCE = 1e-13


def transport_on_device(problem: Problem, progress: Any = None) -> Solution:
    """The optimal plan; all samples must carry weight."""
    import torch  # slow to import

    from gradapt.transport.network_simplex import TransportTree  # compiled

    with torch.no_grad():
        costs, shift, mean0 = squared_costs(problem.x0, problem.x1)
        w0, w1 = (torch.from_numpy(w).to(costs.device) for w in (problem.weights0, problem.weights1))
        epsilons = annealing(_EPSILON) * (float(costs.mean()) or 1.0)
        start = entropic_potential(costs, w0, w1, epsilons, _SWEEPS, last_sweeps=_LAST_SWEEPS, progress=progress)
        u, v = tighten(costs, start)
        # Pairs of some plan at all, so that the candidates admit one.
        rows, cols, _ = monotone_entries(problem.weights0, problem.weights1)
        edges = np.union1d(least_pairs(costs, u, v, _CANDIDATES, None), rows * costs.shape[1] + cols)
        tree = TransportTree(*_units(problem))
        tree.add(*_pairs(costs, edges))
        tree.begin(np.argsort(reduced_costs(costs, u, v, edges), kind="stable"))
        for number in range(_MOST_ROUNDS):
            tree.improve()
            u, v = (torch.from_numpy(side).to(costs.device) for side in tree.potentials)
            found = least_pairs(costs, u, v, _MORE_CANDIDATES, -_TOLERANCE * tree.scale)
            new = np.setdiff1d(found, edges, assume_unique=True)
            if progress is not None:
                progress("pricing", 1.0 if len(new) == 0 else 1.0 - 1.0 / (number + 2))
            if len(new) == 0:
                rows, cols, mass = tree.entries()
                return Solution(rows, cols, mass / mass.sum(), uncentred(u, problem.x0, shift, mean0))
            edges = np.union1d(edges, new)
            tree.add(*_pairs(costs, new))
    raise SolverError(f"pricing did not end in {_MOST_ROUNDS} rounds; use Exact(device='cpu')")


def _units(problem: Problem) -> tuple[Float, Float]:
    """The weights; where each side's are equal, as whole numbers, which are exchanged without rounding."""
    n, m = problem.shape
    if np.ptp(problem.weights0) == 0 and np.ptp(problem.weights1) == 0:
        common = gcd(n, m)
        return np.full(n, m / common), np.full(m, n / common)
    return problem.weights0, problem.weights1


def _pairs(costs: Tensor, edges: Index) -> tuple[Index, Index, Float]:
    import torch  # slow to import

    flat = torch.from_numpy(edges).to(costs.device)
    return edges // costs.shape[1], edges % costs.shape[1], costs.view(-1)[flat].cpu().numpy()

"""`LowRank`: couplings that pass through a few anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import InputError, SolverError
from driftfit.seeds import derive_seed
from driftfit.transport.costs.cost import SquaredEuclidean
from driftfit.transport.costs.squared import square_norms
from driftfit.transport.plan import large_entries, round_to_marginals
from driftfit.transport.problem import Problem, Solution
from driftfit.transport.reductions import among_carriers

Float = NDArray[np.float64]

# More pairs than this are not written out as a dense plan.
_MOST_PAIRS = 50_000_000
# Steps of the descent, its step length over the largest gradient, and the change of all factors at which it rests.
_STEPS, _STEP, _AT_REST = 300, 10.0, 1e-4
# Rounds of each projection, and the marginal error at which it ends.
_ROUNDS, _TOLERANCE = 50, 1e-5
# No anchor carries less mass than this.
_LEAST_ANCHOR = 1e-10


@dataclass(frozen=True)
class LowRank:
    """A coupling that passes through ``rank`` anchors (Scetbon, Cuturi and Peyre 2021).

    ``Q diag(1 / g) R^T`` with couplings ``Q`` and ``R`` of the clouds with anchors of mass ``g``, by
    mirror descent on all three; each step is projected on the marginals by Dykstra's
    iterations. Squared Euclidean cost only. The smooth plan is dense by nature: its entries are
    formed and all but a negligible mass of them are stored.

    Parameters
    ----------
    rank : int
        Number of anchors.
    seed : int
        Seeds the initial factors.

    >>> from driftfit.transport.solve import transport
    >>> plan = transport([[0.0], [1.0], [5.0]], [[0.1], [1.1], [5.1]], solver=LowRank(rank=3))
    >>> bool(plan.certificate.marginal_error < 1e-12)
    True
    """

    rank: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InputError(f"rank must be at least 1, got {self.rank!r}")

    def solve(self, problem: Problem) -> Solution:
        if not isinstance(problem.cost, SquaredEuclidean):
            raise InputError(f"LowRank works with the squared Euclidean cost, got {problem.cost!r}; use Sinkhorn()")
        n, m = problem.shape
        if n * m > _MOST_PAIRS:
            raise InputError(f"LowRank stores its dense plan and {n} x {m} pairs are too many; use Sliced()")
        return among_carriers(problem.to_host(), self._solve)

    def _solve(self, problem: Problem) -> Solution:
        weights = problem.weights0, problem.weights1
        x0, x1 = (np.asarray(x.toarray() if sp.issparse(x) else x, np.float64) for x in (problem.x0, problem.x1))
        rank = min(self.rank, len(x0), len(x1))
        # The steps depend on the scale of the costs: clouds of unit size.
        centre = x0.mean(axis=0)
        scale = max(float(np.abs(x0 - centre).max()), float(np.abs(x1 - centre).max()))
        if rank == 1 or scale == 0 or (np.ptp(x0, axis=0).max() == 0 and np.ptp(x1, axis=0).max() == 0):
            # One anchor, or one place on either side: every plan costs the same.
            plan = np.outer(*weights)
        else:
            rng = np.random.default_rng(derive_seed(self.seed, "low rank"))
            q, r, g = _descended((x0 - centre) / scale, (x1 - centre) / scale, weights, rank, rng)
            plan = (q / g) @ r.T
        if not np.isfinite(plan).all():
            raise SolverError(f"the low-rank iteration broke down at rank {rank}; try a smaller rank or Sinkhorn()")
        return Solution(*round_to_marginals(*large_entries(plan), *weights))


def _descended(
    x0: Float, x1: Float, weights: tuple[Float, Float], rank: int, rng: np.random.Generator
) -> tuple[Float, Float, Float]:
    """Factors after mirror descent from random ones."""
    g = np.full(rank, 1.0 / rank)
    q, r = (_random_factor(w, g, rng) for w in weights)
    norms0, norms1 = square_norms(x0), square_norms(x1)

    def times(a: Float, b: Float, na: Float, nb: Float, factor: Float) -> Float:
        """Costs between ``a`` and ``b`` times a factor, without forming them."""
        return np.asarray(na[:, None] * factor.sum(axis=0) + nb @ factor - 2.0 * a @ (b.T @ factor))

    for _ in range(_STEPS):
        slope0 = times(x0, x1, norms0, norms1, r) / g
        slope1 = times(x1, x0, norms1, norms0, q) / g
        omega = (q * slope0).sum(axis=0) / g
        step = _STEP / max(np.abs(slope0).max(), np.abs(slope1).max(), np.abs(omega).max(), 1e-300) ** 2
        new = _projected((_tilted(q, -step * slope0), _tilted(r, -step * slope1)), g * np.exp(step * omega), weights)
        moved = max(float(np.abs(a - b).sum()) for a, b in zip(new, (q, r, g), strict=True))
        q, r, g = new
        if moved < _AT_REST:
            break
    return q, r, g


def _tilted(factor: Float, exponents: Float) -> Float:
    """The factor times exponentials; a constant per row is projected away again, and keeps them in range."""
    return np.asarray(factor * np.exp(exponents - exponents.max(axis=1, keepdims=True)))


def _random_factor(weights: Float, g: Float, rng: np.random.Generator) -> Float:
    """A coupling of the weights with anchors of mass ``g``, drawn at random and nearly scaled to its marginals."""
    factor = rng.random((len(weights), len(g))) + 0.1
    for _ in range(10):
        factor *= g / factor.sum(axis=0)
        factor *= (weights / factor.sum(axis=1))[:, None]
    return factor


def _projected(kernels: tuple[Float, Float], g: Float, weights: tuple[Float, Float]) -> tuple[Float, Float, Float]:
    """The nearest factors, in relative entropy, with the right marginals and common anchors (Dykstra)."""
    rank = len(g)
    v: list[Any] = [np.ones(rank), np.ones(rank)]
    memory: list[Any] = [np.ones(rank) for _ in range(4)]
    for _ in range(_ROUNDS):
        u = [w / (kernel @ side) for kernel, side, w in zip(kernels, v, weights, strict=True)]
        floored = np.maximum(_LEAST_ANCHOR, g * memory[2])
        memory[2] = g * memory[2] / floored
        arrived = [kernel.T @ side for kernel, side in zip(kernels, u, strict=True)]
        product = floored * memory[3]
        for k in range(2):
            product = product * (v[k] * memory[k] * arrived[k])
        g = np.cbrt(product)
        for k in range(2):
            renewed = g / arrived[k]
            memory[k] = v[k] * memory[k] / renewed
            v[k] = renewed
        memory[3] = floored * memory[3] / g
        off = sum(
            float(np.abs(a * (kernel @ side) - w).sum())
            for a, kernel, side, w in zip(u, kernels, v, weights, strict=True)
        )
        if off < _TOLERANCE:
            break
    q, r = (a[:, None] * kernel * side for a, kernel, side in zip(u, kernels, v, strict=True))
    return q, r, g

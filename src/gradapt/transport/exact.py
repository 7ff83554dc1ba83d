"""`Exact`: the optimal plan itself, by the method that is fastest for the problem."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gradapt.errors import InputError
from gradapt.transport.assignment import AuctionState, TiesError, assign, auction
from gradapt.transport.collapse import collapse
from gradapt.transport.costs import SquaredEuclidean
from gradapt.transport.device_assignment import assign_on_device
from gradapt.transport.device_entropic import fits_on_device
from gradapt.transport.device_general import transport_on_device
from gradapt.transport.lists import BlockCosts, CostProvider, StoredCosts
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.products import PrecisionError, ProductForm, refine
from gradapt.transport.simplex import priced_simplex, simplex

__all__ = ["Exact"]

Float = NDArray[np.float64]

# Up to this many pairs the dense simplex needs no help.
_SMALL_PAIRS = 300 * 300
_DENSE_PAIRS = 1500 * 1500
# A run of the auction takes some 30 bids for each sample; mass ties take thousands.
_BIDS_PER_SAMPLE = 1000
# Squared distances that take fewer multiplications than this are formed from differences.
_DIRECT_WORK = 1e8
# Pairs for which the dense simplex may take over when the auction meets ties.
_RESCUE_PAIRS = 2 * 10**8


@dataclass(frozen=True)
class Exact:
    """Optimal transport to machine precision.

    Equal sizes and uniform weights make an assignment problem, solved by an auction over
    short candidate lists and finished by shortest augmenting paths; other problems go to
    the network simplex, over candidate pairs with pricing where they are large. The plan is
    a vertex of the transport polytope: a permutation, or at most ``n + m - 1`` entries.

    Parameters
    ----------
    max_iterations : int
        Pivots after which the simplex gives up with an error.
    memory : float
        Bytes that a kept matrix of costs may take; beyond, costs are formed in blocks and
        formed again when they are needed again.
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` takes the GPU for tensors that already live there and for clouds that
        pay the way, and the processor otherwise; any torch device name is understood. Problems
        whose costs do not fit there (12 bytes for each pair) are solved on the processor.
    progress : callable, optional
        Called with the stage's name and the share of it that is done.

    >>> from gradapt.transport import transport
    >>> plan = transport([[0.0], [1.0]], [[1.5], [0.5]], solver=Exact())
    >>> plan.cols.tolist(), plan.cost
    ([1, 0], 0.25)
    """

    max_iterations: int = 1_000_000_000
    memory: float = 2.0**31
    device: str = "auto"
    progress: Callable[[str, float], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_iterations < 1:
            raise InputError(f"max_iterations must be at least 1, got {self.max_iterations!r}")
        if not self.memory >= 0:
            raise InputError(f"memory must be a number of bytes >= 0, got {self.memory!r}")

    def solve(self, problem: Problem) -> Solution:
        if problem.on_device:
            if fits_on_device(problem):
                if problem.uniform and problem.shape[0] > 1:
                    return assign_on_device(problem, problem.x0.device, self.progress)
                if _suits_tree(problem):
                    return transport_on_device(problem, self.progress)
            problem = problem.to_host()
        rows, cols = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
        if len(rows) == problem.shape[0] and len(cols) == problem.shape[1]:
            return self._solve(problem)
        solution = self._solve(_carried(problem, rows, cols))
        potential = np.zeros(problem.shape[0])
        potential[rows] = solution.potential0
        return Solution(rows[solution.rows], cols[solution.cols], solution.mass, potential)

    def _solve(self, problem: Problem) -> Solution:
        """Solve a problem in which every sample carries weight."""
        if problem.shape[0] * problem.shape[1] <= _SMALL_PAIRS:
            return self._by_dense_simplex(problem)
        collapsed = collapse(problem)
        if collapsed is not None:
            return collapsed.spread(self._solve_general(collapsed.problem))
        if problem.uniform and importlib.util.find_spec("numba") is not None:
            solution = self._assignment(problem)
            if solution is not None:
                return solution
        return self._solve_general(problem)

    def _assignment(self, problem: Problem) -> Solution | None:
        """The optimal permutation; ``None`` where ties make it a case for the simplex."""
        n = problem.shape[0]
        budget = _BIDS_PER_SAMPLE * n if n * n <= _RESCUE_PAIRS else np.inf
        try:
            partner, potential = self._permutation(problem, budget)
        except TiesError:
            return None
        return Solution(np.arange(n), partner.astype(np.int64), np.full(n, 1.0 / n), potential)

    def _permutation(self, problem: Problem, budget: float) -> tuple[NDArray[np.int32], Float]:
        if _by_products(problem):
            form = ProductForm.of(problem.x0, problem.x1)
            provider = self._products(form)
            with suppress(PrecisionError):
                state = refine(form, assign(provider, progress=self.progress, budget=budget))
                return state.partner, form.potential0(state.u)
        state = assign(self._plain_costs(problem), progress=self.progress, budget=budget)
        return state.partner, state.u

    def _products(self, form: ProductForm) -> CostProvider:
        fits = 4.0 * len(form.left) * len(form.right) <= self.memory
        return form.stored() if fits else form.blocks()

    def _plain_costs(self, problem: Problem) -> CostProvider:
        n, m = problem.shape
        if 8.0 * n * m <= self.memory:
            return StoredCosts(np.concatenate([direct_costs(problem, rows) for rows in row_parts(n, m)]), np.zeros(m))
        return BlockCosts(lambda rows: direct_costs(problem, rows), n, np.zeros(m))

    def _solve_general(self, problem: Problem) -> Solution:
        n, m = problem.shape
        if n * m > _DENSE_PAIRS and importlib.util.find_spec("numba") is not None:
            keeping = problem.keeping(self.memory)
            solution = priced_simplex(keeping, approximate_potential1(keeping, self), self.max_iterations)
            if solution is not None:
                return solution
        return self._by_dense_simplex(problem)

    def _by_dense_simplex(self, problem: Problem) -> Solution:
        costs = problem.cost_matrix()
        return Solution(*simplex(costs, problem.weights0, problem.weights1, self.max_iterations))


def approximate_potential1(problem: Problem, solver: Exact) -> Float:
    """A potential of the second cloud, from a rough auction between equally weighted copies of the samples."""
    size = max(problem.shape)
    copies = (np.arange(size) + 0.5) / size
    rows = np.minimum(np.searchsorted(np.cumsum(problem.weights0), copies), problem.shape[0] - 1)
    cols = np.minimum(np.searchsorted(np.cumsum(problem.weights1), copies), problem.shape[1] - 1)
    square = replace(
        _carried(problem, rows, cols), weights0=np.full(size, 1 / size), weights1=np.full(size, 1 / size), uniform=True
    )
    prices = _rough_prices(square, solver)
    v = np.full(problem.shape[1], -np.inf)
    np.maximum.at(v, cols, -prices)
    # A column without a copy gets the potential of a neighbour in the list, and soon its own by pricing.
    return np.where(np.isfinite(v), v, np.median(v[np.isfinite(v)]))


def _rough_prices(problem: Problem, solver: Exact) -> Float:
    n, shift = problem.shape[0], None
    if _by_products(problem):
        form = ProductForm.of(problem.x0, problem.x1)
        provider = solver._products(form)
        shift = form.column_shift()
    else:
        provider = solver._plain_costs(problem)
    state = AuctionState.fresh(provider)
    # Where the budget ends the run, whatever prices it reached are a start.
    with suppress(TiesError):
        auction(provider, state, tolerance=3e-3, progress=solver.progress, budget=_BIDS_PER_SAMPLE * n)
    prices = state.prices - provider.offset
    return prices if shift is None else prices + shift


def direct_costs(problem: Problem, rows: NDArray[Any]) -> Float:
    """Costs of some rows; squared distances from differences, which lose nothing to cancellation."""
    x0 = problem.x0[rows]
    if isinstance(problem.cost, SquaredEuclidean) and not sp.issparse(x0) and not sp.issparse(problem.x1):
        return np.asarray(cdist(x0, problem.x1, "sqeuclidean"))
    return problem.cost.block(x0, problem.x1)


def row_parts(n: int, m: int) -> list[NDArray[np.int64]]:
    """Row numbers in blocks of a few million pairs."""
    return np.array_split(np.arange(n), max(1, n * m // 2**23))


def _suits_tree(problem: Problem) -> bool:
    """Whether a problem on a device is one for the simplex there."""
    carried = problem.weights0.min() > 0 and problem.weights1.min() > 0
    return bool(carried and importlib.util.find_spec("numba") is not None)


def _by_products(problem: Problem) -> bool:
    if not isinstance(problem.cost, SquaredEuclidean) or sp.issparse(problem.x0) or sp.issparse(problem.x1):
        return False
    # Few multiplications: the differences themselves are quick, and exact to the last digit.
    return bool(problem.shape[0] * problem.shape[1] * problem.x0.shape[1] > _DIRECT_WORK)


def _carried(problem: Problem, rows: NDArray[Any], cols: NDArray[Any]) -> Problem:
    """The problem between some of the samples."""
    w0, w1 = problem.weights0[rows], problem.weights1[cols]
    uniform = len(w0) == len(w1) and bool(np.ptp(w0) == 0.0) and bool(np.ptp(w1) == 0.0)
    return replace(
        problem,
        x0=problem.x0[rows],
        x1=problem.x1[cols],
        weights0=w0 / w0.sum(),
        weights1=w1 / w1.sum(),
        uniform=uniform,
    )

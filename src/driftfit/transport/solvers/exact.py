"""`Exact`: the optimal plan itself, by the method that is fastest for the problem."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import beside, has_numba, vector
from driftfit.transport.costs.near import NearTable
from driftfit.transport.costs.products import ProductTable
from driftfit.transport.costs.squared import SquaredDistances
from driftfit.transport.costs.table import CostTable, mean_cost
from driftfit.transport.problem import Problem, Solution, bytes_on_device, fits_on_device, room_on_device
from driftfit.transport.reductions import among_carriers, collapse, positions_on_a_line, second_potential_on_a_line
from driftfit.transport.solvers.auction import (
    AuctionState,
    PrecisionError,
    TiesError,
    assign,
    auction,
    product_provider,
    refine,
)
from driftfit.transport.solvers.dense import DENSE, assign_costs
from driftfit.transport.solvers.levels import by_levels
from driftfit.transport.solvers.lists import BlockCosts, CostProvider, StoredCosts
from driftfit.transport.solvers.masters import LinearProgramme, Matching
from driftfit.transport.solvers.pricing import SMALL_PAIRS, Master, Pairs, PoorStartError, price_out, whole_units
from driftfit.transport.solvers.simplex import TransportTree
from driftfit.transport.solvers.sinkhorn import annealed_potentials, annealing

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# A run of the auction takes some 30 bids for each sample, a rough one between weights up to a hundred; mass ties take
# thousands.
_BIDS_PER_SAMPLE, _ROUGH_BIDS_PER_SAMPLE = 1000, 200
# The rough auction stops at this share of the costs' spread.
_ROUGH = 1e-3
# Samples from which a search in a tree is quicker than a pass over all of them.
_NEAR_FROM = 1025
# Pairs for which the simplex may take over when the auction meets ties.
_RESCUE_PAIRS = 2 * 10**8
# Entropic potentials to start from: in units of the mean cost, and sweeps at the last level.
_EPSILON, _LAST_SWEEPS = 2e-4, 50


@dataclass(frozen=True)
class Exact:
    """Optimal transport to machine precision.

    Equal sizes and uniform weights make an assignment problem, solved by an auction over
    short candidate lists, or all pairs where they are few, and finished by shortest augmenting
    paths; other problems go to
    the network simplex, over candidate pairs with pricing where they are large. The plan is
    a vertex of the transport polytope: a permutation, or at most ``n + m - 1`` entries.

    Parameters
    ----------
    max_iterations : int
        Pivots after which the simplex gives up with an error.
    memory : float
        Bytes that a kept matrix of costs may take; beyond, costs are formed in blocks and
        formed again when they are needed again. A byte for each pair may come to what is kept.
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` takes the GPU for tensors that already live there and for clouds that
        pay the way, and the processor otherwise; any torch device name is understood. Problems
        whose costs do not fit there (12 bytes for each pair) are solved on the processor, with a warning.
    progress : callable, optional
        Called with the stage's name and the share of it that is done.

    >>> from driftfit.transport.solve import transport
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
        if problem.on_device and not fits_on_device(problem):
            n, m = problem.shape
            warnings.warn(
                f"the costs of {n:,} x {m:,} pairs take {bytes_on_device(problem) / 1e9:.1f} GB, and"
                f" {room_on_device(problem) / 1e9:.1f} GB of the device may be used: they are formed on the processor,"
                " which can take long; let fewer processes share the device, or take fewer samples",
                RuntimeWarning,
                stacklevel=2,
            )
            problem = problem.to_host()
        return among_carriers(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        """Solve a problem in which every sample carries weight."""
        n, m = problem.shape
        if problem.uniform and n <= DENSE and not problem.on_device and has_numba():
            found = _on_all_pairs(problem)
            if self.progress is not None:
                self.progress("auction", 1.0)
            if found is not None:
                return found
        if problem.on_device or n * m <= SMALL_PAIRS:
            return self._by_pricing(problem)
        collapsed = collapse(problem)
        if collapsed is not None:
            return collapsed.spread(self._by_pricing(collapsed.problem))
        line = positions_on_a_line(problem.x0, problem.x1) if problem.squared else None
        if line is not None:
            v = second_potential_on_a_line(problem, line)
            plain = SquaredDistances(problem.x0, problem.x1, 0.0, 0.0, direct=True)
            return self._by_pricing(problem, problem.table(apart=True).moved(v, plain))
        if problem.uniform and has_numba() and not _near(problem.table(apart=True)):
            return self._by_auction(problem)
        return self._by_pricing(problem)

    def _by_auction(self, problem: Problem) -> Solution:
        """The optimal permutation; where ties make it a case for the simplex, that starts from the prices reached."""
        n = problem.shape[0]
        budget = _BIDS_PER_SAMPLE * n if n * n <= _RESCUE_PAIRS else np.inf
        table = seen = problem.table(apart=True)
        products = problem.products()
        try:
            if products is not None:
                seen = products.table
                with suppress(PrecisionError):
                    provider = product_provider(products, self.memory)
                    found = assign(provider, _start(problem, seen), budget, self.progress)
                    return _permutation(refine(products, found), seen)
            seen = table = self._kept(problem, table)
            return _permutation(assign(self._provider(table), _start(problem, table), budget, self.progress), table)
        except TiesError as left:
            return self._by_pricing(problem, table.moved(-left.prices, seen.innermost), table)

    def _kept(self, problem: Problem, table: CostTable) -> CostTable:
        """The problem's table with its costs kept, where they fit and to form them again takes longer than to read."""
        n, m = table.shape
        if 8.0 * n * m <= self.memory and not table.quick:
            return problem.held()
        return _near(table) or table

    def _priced(self, problem: Problem, table: CostTable) -> CostTable:
        """Costs for pricing: a float32 product where that serves, else those of `_kept`."""
        products = problem.products() if has_numba() and not table.kept else None
        if products is None:
            return self._kept(problem, table)
        n, m = problem.shape
        if 4.0 * n * m <= self.memory:
            products.keep()
        return ProductTable(products, self.memory)

    def _provider(self, costs: CostTable) -> CostProvider:
        """Costs for the auction: kept where they fit, formed again else."""
        n, m = costs.shape
        if costs.kept:
            return StoredCosts(costs.home, np.zeros(m))
        return BlockCosts(costs.block, n, np.zeros(m), quick=costs.quick)

    def _by_pricing(self, problem: Problem, v: Any = None, table: CostTable | None = None) -> Solution:
        """A vertex of the transport polytope, by candidate pairs and pricing; all pairs where they are few.

        ``v`` is an approximate potential of the second cloud for ``table``, where they are at hand.
        """
        n, m = problem.shape
        if problem.on_device and table is None:
            table = problem.held()
        else:
            table = self._priced(problem, problem.table(apart=True) if table is None else table)
        if self.progress is not None:
            self.progress("costs", 1.0)
        weights = whole_units(problem.weights0, problem.weights1)
        small = not problem.on_device and n * m <= SMALL_PAIRS
        start = _start(problem, table) if v is None else None
        master, pairs = self._master(problem, weights), None
        try:
            if v is None:
                v, pairs = (vector(table.home, m, 0.0), None) if small else self._approximate(problem, table, start)
            rows, cols, mass, u = price_out(
                table, weights, v, master, self.progress, pairs=pairs, given=start is not None
            )
        except PoorStartError:
            return self._by_pricing(replace(problem, start=None))
        order = np.argsort(rows, kind="stable")
        return Solution(rows[order], cols[order], mass[order] / weights[0].sum(), table.potential0(u))

    def _master(self, problem: Problem, weights: tuple[Float, Float]) -> Master:
        if problem.uniform and (problem.on_device or not has_numba()):
            return Matching(problem.shape[0])
        return TransportTree(*weights, self.max_iterations) if has_numba() else LinearProgramme(*weights)

    def _approximate(self, problem: Problem, table: CostTable, start: Float | None) -> tuple[Any, Pairs | None]:
        """An approximate potential of the second cloud, from a given one where that serves, and pairs of a plan."""
        if table.trees is not None:
            return by_levels(table.trees, whole_units(problem.weights0, problem.weights1), start)
        if start is not None:
            return beside(table.home, start), None
        if not problem.on_device and has_numba():
            return self._rough_auction(problem, table), None
        levels = annealing(_EPSILON) * (mean_cost(table) or 1.0)
        weights = problem.weights0, problem.weights1
        return annealed_potentials(table, weights, levels, last_sweeps=_LAST_SWEEPS, progress=self.progress)[1], None

    def _rough_auction(self, problem: Problem, table: CostTable) -> Float:
        """A potential of the second cloud, from a rough auction."""
        provider, seen = self._seen(table)
        state = AuctionState.fresh(provider, whole_units(problem.weights0, problem.weights1))
        # Where the budget ends the run, whatever prices it reached are a start.
        budget = _ROUGH_BIDS_PER_SAMPLE * max(problem.shape)
        with suppress(TiesError):
            auction(provider, state, tolerance=_ROUGH, progress=self.progress, budget=budget)
        return table.moved(provider.offset - state.prices, seen.innermost)

    def _seen(self, table: CostTable) -> tuple[CostProvider, CostTable]:
        """Costs for a rough auction, and the table whose potentials its prices are."""
        if table.screen is not None:
            return product_provider(table.screen, self.memory), table.innermost
        return self._provider(table), table


def _on_all_pairs(problem: Problem) -> Solution | None:
    """The optimal permutation where all costs are soon at hand; ``None`` where whole numbers are too coarse."""
    n = problem.shape[0]
    found = assign_costs(np.ascontiguousarray(problem.cost_matrix()), problem.start)
    if not found.proven[0]:
        return None
    return Solution(np.arange(n), found.partner, np.full(n, 1.0 / n), found.u)


def _near(table: CostTable) -> NearTable | None:
    """The costs with trees of both clouds, where these serve."""
    return NearTable(table.innermost) if table.quick and min(table.shape) >= _NEAR_FROM else None


def _start(problem: Problem, table: CostTable) -> Float | None:
    """The potential to begin from, as one of the solver's table."""
    return None if problem.start is None else table.moved(problem.start, problem.table().innermost)


def _permutation(state: AuctionState, table: CostTable) -> Solution:
    n = len(state.partner)
    return Solution(np.arange(n), state.partner.astype(np.int64), np.full(n, 1.0 / n), table.potential0(state.u))

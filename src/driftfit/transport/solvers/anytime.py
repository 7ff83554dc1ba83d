"""Assignments whose gap falls until it is small enough or time is up: auctions at finer and finer epsilons.

After each phase the pairs found are completed to a plan, and prices give a bound on every plan: their
difference is known without a look at all pairs. The certificate forms the bound again over all of them, in float64.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.costs.near import NearTable
from driftfit.transport.costs.products import Products
from driftfit.transport.costs.squared import SquaredDistances
from driftfit.transport.costs.table import BLOCK_ENTRIES, row_parts
from driftfit.transport.plan import relative_gap
from driftfit.transport.problem import Problem
from driftfit.transport.solvers.auction import AuctionState, cost_spread, list_minima, product_provider, run_phase
from driftfit.transport.solvers.lists import BlockCosts, CandidateLists, CostProvider, TreeCosts
from driftfit.transport.solvers.parallel import ParallelAuction

Float = NDArray[np.float64]
Index = NDArray[np.int64]
Progress = Callable[[str, float], None]

# The first epsilon is this share of the costs' spread; each later one is smaller by the factor.
_FIRST_EPSILON, _FACTOR = 0.25, 4.0
# Rows that a phase may leave over, as a share of all: so much of its epsilon in units of the spread, or of the gap
# asked for. The last of them take longest, and cost little beyond their best beside what all others may.
_LEAVE_BY_EPSILON, _LEAVE_BY_GAP, _MOST_LEFT = 0.02, 0.05, 0.005
# Bytes that kept costs may take on the processor.
_MEMORY = 2.0**31


class Bidding(Protocol):
    """An auction between equally many samples of a table, at finer and finer epsilons."""

    @property
    def table(self) -> SquaredDistances: ...

    @property
    def spread(self) -> float:
        """How far costs lie apart; zero where that is rounding."""

    @property
    def finest(self) -> float:
        """The least epsilon that makes sense."""

    def phase(self, eps: float, *, leave: int, until: float) -> bool:
        """Pair all rows but ``leave`` within ``eps`` of their best; whether there was time."""

    def pairs(self) -> Index:
        """The column of each row, -1 where it has none."""

    def potentials(self, until: float) -> tuple[Float, Float] | None:
        """Feasible potentials of both clouds, up to rounding, once there are some."""


def bidding_for(problem: Problem) -> Bidding:
    """All rows at once where the samples are tensors, row after row with compiled loops where they are arrays."""
    table = problem.table(apart=True)
    if not isinstance(table, SquaredDistances):
        raise TypeError(f"an auction in linear memory needs squared distances, got {type(table).__name__}")
    return ParallelAuction(table) if problem.on_device else LoopedAuction(table)


def refine(
    problem: Problem,
    bidding: Bidding,
    complete: Callable[[Index], Index],
    *,
    gap: float,
    until: float = math.inf,
    start: Index | None = None,
    progress: Progress | None = None,
) -> tuple[Index, Float | None]:
    """The best column for each row and the best first potential that were found before a gap or a time was reached.

    Parameters
    ----------
    problem : Problem
        Of equal sizes and uniform weights.
    bidding : Bidding
    complete : callable
        Makes a plan of pairs, of which some rows have none yet (-1).
    gap : float
        Proven relative gap to stop at.
    until : float
        Time to stop at, of `time.monotonic`.
    start : int array, optional
        A plan to improve on.
    progress : callable, optional
    """
    n = problem.shape[0]
    found = _Best(problem, bidding.table)
    if start is not None:
        found.plan(start)
    first, last = _FIRST_EPSILON * bidding.spread, bidding.finest
    eps = max(first, last) if bidding.spread > 0 else 0.0
    while eps > 0:
        leave = min(max(_LEAVE_BY_EPSILON * eps / bidding.spread, _LEAVE_BY_GAP * gap), _MOST_LEFT)
        in_time = bidding.phase(eps, leave=int(n * leave), until=until)
        found.bound(bidding.potentials(until))
        if in_time or found.partner is None:
            found.plan(complete(bidding.pairs()))
        ended = found.gap <= gap or not in_time or eps <= last
        if progress is not None:
            progress("auction", 1.0 if ended else math.log(_FACTOR * first / eps) / math.log(_FACTOR * first / last))
        if ended:
            break
        eps = max(eps / _FACTOR, last)
    if found.partner is None:
        # Costs are a term for each row and one for each column: every plan is as good as any.
        return complete(np.full(n, -1)), bidding.table.potential0(np.zeros(n))
    return found.partner, None if found.u is None else bidding.table.potential0(found.u)


class _Best:
    """The cheapest plan and the largest bound so far."""

    def __init__(self, problem: Problem, table: SquaredDistances) -> None:
        self.problem = problem
        self.partner: Index | None = None
        self.u: Float | None = None
        self.cost, self.value = math.inf, -math.inf
        # What the cost itself has beyond that of the table, in the mean of every assignment.
        self._beyond = sum(float(term.mean()) for term in table.separable)

    @property
    def gap(self) -> float:
        return relative_gap(self.cost, self.value) if math.isfinite(self.cost - self.value) else math.inf

    def plan(self, partner: Index) -> None:
        cost = float(self.problem.pair_costs(np.arange(len(partner)), partner).mean())
        if cost < self.cost:
            self.partner, self.cost = partner, cost

    def bound(self, potentials: tuple[Float, Float] | None) -> None:
        if potentials is None:
            return
        value = float(potentials[0].mean() + potentials[1].mean()) + self._beyond
        if value > self.value:
            self.u, self.value = potentials[0], value


class LoopedAuction:
    """The auction of `auction.py`, row after row, with a look at the clock."""

    def __init__(self, table: SquaredDistances) -> None:
        self.table, self._terms = table, np.zeros(table.shape[0])
        if table.by_product:
            products = Products.of(table)
            self.table, self._terms = products.table, products.row_term
            self._provider = _Timed(product_provider(products, _MEMORY))
        elif table.quick:
            self._provider = _Timed(TreeCosts(NearTable(table)))
        else:
            self._provider = _Timed(BlockCosts(table.block, table.shape[0], np.zeros(table.shape[1])))
        self._state = AuctionState.fresh(self._provider)
        self.spread = cost_spread(self._provider)[0]

    @property
    def finest(self) -> float:
        return self.spread / (10.0 * self.table.shape[0])

    def phase(self, eps: float, *, leave: int, until: float) -> bool:
        self._provider.until = until
        try:
            if not self._listed:
                self._state.relist(self._provider, np.arange(self.table.shape[0]))
            run_phase(self._provider, self._state, eps, leave=leave / self.table.shape[0])
        except _TimeUpError:
            return False
        return True

    def pairs(self) -> Index:
        self._state.settle()
        return self._state.partner.astype(np.int64)

    def potentials(self, until: float) -> tuple[Float, Float] | None:
        if not self._listed:
            return None
        self._provider.until = until
        u, stale = list_minima(self._state)
        if len(stale):
            with suppress(_TimeUpError):
                self._state.relist(self._provider, stale)
            u, stale = list_minima(self._state)
        u[stale] = self._state.lists.tau[stale]
        return u + self._terms, self._provider.offset - self._state.prices

    @property
    def _listed(self) -> bool:
        return bool(np.isfinite(self._state.lists.tau).all())


class _TimeUpError(Exception):
    """No more rows are listed."""


@dataclass(eq=False)
class _Timed:
    """A provider that lists no more rows after a time, of `time.monotonic`."""

    provider: CostProvider
    until: float = math.inf

    @property
    def shape(self) -> tuple[int, int]:
        return self.provider.shape

    @property
    def offset(self) -> Float:
        return self.provider.offset

    @property
    def capacity(self) -> int:
        return self.provider.capacity

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        for part in row_parts((len(rows), self.shape[1]), 16 * BLOCK_ENTRIES):
            if time.monotonic() > self.until:
                raise _TimeUpError
            self.provider.k_best(rows[part], prices, lists)

    def dense(self, row: int) -> Float:
        return self.provider.dense(row)

    def sample(self, rows: Index) -> NDArray[Any]:
        return self.provider.sample(rows)

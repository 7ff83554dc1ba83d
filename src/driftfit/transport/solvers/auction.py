"""Exact assignment of two equally large clouds: an auction over short lists, then shortest paths.

The auction (Bertsekas, epsilon scaling) brings prices near the optimum; what it leaves is repaired exactly by shortest
augmenting paths. Both see the costs only through a `CostProvider`. Where costs are float32 products, what these leave
undecided is settled afterwards from differences in float64 (`RefinedCosts`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.costs.products import NO_CODES, PRODUCT_ENTRIES, Products
from driftfit.transport.costs.table import row_parts
from driftfit.transport.solvers.lists import BlockCosts, CandidateLists, CostProvider, Shares, StoredCosts

Float = NDArray[np.float64]
Index = NDArray[np.int64]
Progress = Callable[[str, float], None]

# The first epsilon is this share of the costs' spread; each later one is smaller by the factor.
_FIRST_EPSILON = 0.25
_FACTOR = 5.0
# The share of all weight that may be left by a phase but the last, and by every phase of a rough auction.
_LEAVE, _ROUGH_LEAVE = 1e-3, 3e-3
# Bids between two looks at the clock and at Ctrl-C.
_SLICE = 100_000
# Rows are scanned some 7 times, some 30 where samples lie on curves; where it takes more, prices creep up among ties.
_SCANS_PER_ROW = 40
# Rows that are listed without a second core.
_FEW_ROWS = 64
# Bids for each row, from given prices, after which they were poor.
_WARM_BIDS = 30
# Costs of so few different values are mass ties from the beginning.
_FEW_VALUES = 16
# Where most costs lie within this share of the spread, one epsilon does not serve all samples.
_UNEVEN = 0.05
# Rows from which prices to begin with and the costs' spread are learnt, and columns, about, for the spread.
_SAMPLED_ROWS, _SAMPLED_COLUMNS = 64, 1000
# Entries of lists looked at together.
_LIST_ENTRIES = 2**20
# Pairs this many rounding errors away from the best are refined from the start.
_MARGIN = 64.0
# Rows whose rounding errors are looked at, and values of them all together.
_LEAST_SAMPLED, _MOST_SAMPLED, _SAMPLED_VALUES = 64, 512, 2**21
# Where float32 leaves whole lists of more rows than this undecided, it was the wrong arithmetic.
_UNDECIDED = 0.02


class TiesError(Exception):
    """The auction made far more bids than it should: mass ties, better left to the simplex.

    ``prices`` are those it had reached, less the provider's offset.
    """

    def __init__(self, prices: Float) -> None:
        super().__init__()
        self.prices = prices


@dataclass(eq=False)
class AuctionState:
    """Prices, pairs and lists of a run; prices only rise.

    ``owner`` and ``partner`` are the pairs of an assignment; while rows bid, ``shares`` says who has what.
    """

    prices: Float
    owner: NDArray[np.int32]
    partner: NDArray[np.int32]
    lists: CandidateLists
    u: Float = field(default_factory=lambda: np.zeros(0))
    bids: int = 0
    scans: int = 0
    shares: Shares | None = None

    @classmethod
    def fresh(cls, provider: CostProvider, weights: tuple[Float, Float] | None = None) -> AuctionState:
        """Nothing is placed yet; an assignment problem where no weights are given."""
        n, m = provider.shape
        # Every column begins as attractive as any: one far sample starts no war of bids over all others.
        prices = provider.offset - sampled_costs(provider).min(axis=0)
        shares = Shares.of(*((np.ones(n), np.ones(m)) if weights is None else weights), prices)
        return cls(prices, *shares.owners(), CandidateLists.empty(n, m, provider.capacity), shares=shares)

    def begin(self, prices: Float) -> None:
        """Other prices, while nothing is placed."""
        self.prices[:] = prices
        if self.shares is not None:
            self.shares.begin(prices)

    def settle(self) -> None:
        """In an assignment problem: who has whom, from the shares."""
        if self.shares is not None:
            self.owner, self.partner = self.shares.owners()

    def relist(self, provider: CostProvider, rows: Index) -> None:
        self.scans += len(rows)
        provider.k_best(rows, self.prices, self.lists)


def assign(
    provider: CostProvider, v: Float | None = None, budget: float = np.inf, progress: Progress | None = None
) -> AuctionState:
    """Solve the assignment problem of a provider exactly, from a second potential where there is one.

    Raises `TiesError` when the auction needs more than ``budget`` bids.
    """
    state = None if v is None else _resumed(provider, provider.offset - v)
    if state is None:
        state = AuctionState.fresh(provider)
        auction(provider, state, progress=progress, budget=budget)
    state.settle()
    finish(provider, state, progress, budget=budget)
    # The paths raised some prices far above those that lists were made at. Whoever goes on from here, to
    # refine the costs, needs bounds that reach beyond the row's own best.
    reach = state.lists.tau - state.u
    state.relist(provider, np.flatnonzero(reach < 0.5 * np.median(reach)))
    return state


def auction(
    provider: CostProvider,
    state: AuctionState,
    *,
    tolerance: float = 0.0,
    progress: Progress | None = None,
    budget: float = np.inf,
) -> None:
    """Raise prices, and find pairs, that are nearly optimal.

    The last epsilon is ``tolerance`` times the spread of the costs, or so small that little
    is left for the exact finish.
    """
    n, _ = provider.shape
    if budget < np.inf and len(np.unique(sampled_costs(provider)[:8])) <= _FEW_VALUES:
        # The least costs of a few rows say nothing where all of them are tied.
        raise TiesError(np.zeros(len(state.prices)))
    spread, common = cost_spread(provider)
    if budget < np.inf and common < _UNEVEN * spread:
        raise TiesError(state.prices - provider.offset)
    if spread > 0:
        last = spread * max(tolerance, 0.1 / n)
        eps = spread * _FIRST_EPSILON
        state.relist(provider, np.arange(n))
        while True:
            # Behind the last phase there is only the finish, to which they would be its longest searches.
            share = 0.0 if tolerance == 0 and eps <= last else _ROUGH_LEAVE if tolerance > 0 else _LEAVE
            if tolerance == 0 and eps <= last:
                # Many bids are to come; and hardly a search of the finish asks for more than today's lists hold.
                state.relist(provider, np.arange(n))
            if state.shares is not None and not state.shares.whole:
                # The last crumbs of a weight are fought for as hard as whole ones.
                share = _ROUGH_LEAVE
            run_phase(provider, state, eps, leave=share, budget=budget)
            if progress is not None:
                progress("auction", min(1.0, np.log(spread * _FIRST_EPSILON / eps) / np.log(_FIRST_EPSILON * n * 10)))
            if eps <= last:
                break
            eps = max(eps / _FACTOR, last)


def _resumed(provider: CostProvider, prices: Float) -> AuctionState | None:
    """What bids from given prices end with; ``None`` where these are too poor to be of use.

    They are off by how far they could rise until each column is the best one of some row: the epsilon to begin with.
    """
    state, n = AuctionState.fresh(provider), len(prices)
    state.begin(prices)
    state.relist(provider, np.arange(n))
    lists, slack, spread = state.lists, np.full(n, np.inf), cost_spread(provider)[0]
    here = np.arange(lists.idx.shape[1]) < lists.length[:, None]
    values = np.where(here, lists.cost + prices[lists.idx], np.inf)
    np.minimum.at(slack, lists.idx[here], (values - values.min(axis=1)[:, None])[here])
    eps, last = float(slack.mean()), spread * 0.1 / n
    while eps <= spread * _FIRST_EPSILON:
        try:
            run_phase(provider, state, max(eps, last), leave=_LEAVE if eps > last else 0.0, budget=_WARM_BIDS * n)
        except TiesError:
            break
        if eps <= last:
            return state
        eps /= _FACTOR
    return None


def sampled_costs(provider: CostProvider) -> Float:
    """All costs of some rows."""
    n, _ = provider.shape
    rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED_ROWS)).astype(np.int64))
    return np.asarray(provider.sample(rows) + provider.offset)


def cost_spread(provider: CostProvider) -> tuple[float, float]:
    """How far costs lie apart at the prices to begin with: their standard deviation, a few far ones left out.

    And how far common ones do: much less where samples are of very different scale. Both are zero where that is
    rounding: costs are then a term for each row and one for each column, and there is nothing to fight for.
    """
    sample = sampled_costs(provider)
    sample = sample[:, :: max(1, sample.shape[1] // _SAMPLED_COLUMNS)]
    unit = np.finfo(provider.sample(np.zeros(1, np.int64)).dtype).eps
    rounding = 32.0 * float(unit * np.quantile(np.abs(sample), 0.98))
    sample = sample - sample.min(axis=0)
    low, middle, high = np.quantile(sample, [0.02, 0.5, 0.98])
    spread = float(np.sqrt(np.mean(np.clip(sample, low, high).var(axis=1))))
    return (spread, float(middle - low)) if spread > rounding else (0.0, 0.0)


def run_phase(
    provider: CostProvider,
    state: AuctionState,
    eps: float,
    *,
    leave: float = 0.0,
    budget: float = np.inf,
) -> None:
    """One auction at a fixed epsilon, from the pairs that are still good enough.

    The last few rows cost many small scans: the next phase, or the simplex, takes ``leave`` of all weight along.
    """
    from driftfit.transport.kernels.auction import bid_and_list, release  # numba is slow to import

    n, lists, shares = len(state.partner), state.lists, state.shares
    if shares is None:
        raise ValueError("an auction needs a state that AuctionState.fresh made")
    queue, parked = np.zeros(n, np.int32), np.zeros(n, np.int32)
    shares.leave(leave)
    read = *lists.arrays, state.prices
    counts = np.array([0, release(*read, shares.arrays, eps, queue), 0, 0, 0], np.int64)
    # A few lists are made faster than the way to the provider and back takes.
    kept: tuple[Any, float, Any, int] = np.zeros((0, 0), np.float32), 1.0, NO_CODES.arrays, 0
    if isinstance(provider, StoredCosts):
        kept = provider.matrix, provider.factor, provider.quantised.arrays, _FEW_ROWS
    while True:
        while bid_and_list(*kept, lists.wanted, queue, counts, parked, *read, shares.arrays, eps, _SLICE):
            _check(provider, state, counts, budget, np.inf)
        state.scans += int(counts[4])
        counts[4] = 0
        if counts[2] == 0:
            break
        _check(provider, state, counts, budget, _SCANS_PER_ROW)
        rows = parked[: counts[2]].astype(np.int64)
        state.relist(provider, rows)
        queue[: len(rows)] = rows
        counts[:3] = 0, len(rows), 0
    state.bids += int(counts[3])


def _check(provider: CostProvider, state: AuctionState, counts: Index, budget: float, scans: float) -> None:
    """Room for more shares; end a run that takes far more bids or scans than it should."""
    if state.shares is not None and state.shares.full:
        state.shares.grow()
    many = state.bids + counts[3] > budget or state.scans > scans * len(state.partner)
    if budget < np.inf and many:
        raise TiesError(state.prices - provider.offset)


def finish(
    provider: CostProvider, state: AuctionState, progress: Progress | None = None, *, budget: float = np.inf
) -> None:
    """Make the assignment exact: keep the tight pairs, match the other rows by shortest paths."""
    from driftfit.transport.kernels.auction import FINISHED, NEEDS_ROW, shortest_paths  # numba is slow to import

    n, m = provider.shape
    lists = state.lists
    _row_minima(provider, state)
    free = _release_slack(state)
    heap, place, key = np.zeros(n + m, np.int32), np.full(n + m, -1, np.int32), np.full(n + m, np.inf)
    pred, touched = np.zeros(m, np.int32), np.zeros(m, np.int32)
    rows, depth, best = np.zeros(n, np.int32), np.zeros(n), np.full(1, np.inf)
    wide_slot, wide = np.full(n, -1, np.int32), np.zeros((0, m))
    counts = np.zeros(6, np.int64)
    counts[4] = -1
    fresh: set[int] = set()
    widened: list[int] = []
    while True:
        searched = counts[0]
        code = shortest_paths(
            free, counts, heap, place, key, pred, touched, rows, depth, best, *lists.arrays, state.u,
            state.prices, state.owner, state.partner, wide_slot, wide, 2000,
        )  # fmt: skip
        if counts[0] != searched:
            fresh.clear()
            wide_slot[widened] = -1
            widened.clear()
        if code == FINISHED:
            return
        if code != NEEDS_ROW:
            if progress is not None:
                progress("paths", counts[0] / max(len(free), 1))
            continue
        row = int(counts[4])
        state.scans += 1
        if state.scans > _SCANS_PER_ROW * n and budget < np.inf:
            raise TiesError(state.prices - provider.offset)
        if row not in fresh:
            # The list was made at older, lower prices: a new one reaches further.
            provider.k_best(np.array([row]), state.prices, lists)
            fresh.add(row)
        else:
            if len(widened) == len(wide):
                wide = np.concatenate([wide, np.empty((max(4, len(wide)), m))])
            wide[len(widened)] = provider.dense(row)
            wide_slot[row] = len(widened)
            widened.append(row)


def _row_minima(provider: CostProvider, state: AuctionState) -> None:
    """``u``: each row's least cost + price, over lists that are lengthened where they may miss it."""
    state.u, stale = list_minima(state)
    if len(stale):
        state.relist(provider, stale)
        state.u, stale = list_minima(state)


def list_minima(state: AuctionState) -> tuple[Float, Index]:
    """Each row's least cost + price on its list, and the rows whose list may miss their best."""
    lists = state.lists
    u = np.empty(len(lists.tau))
    for part in row_parts(lists.idx.shape, _LIST_ENTRIES):
        values = lists.cost[part] + state.prices[lists.idx[part]]
        values[np.arange(values.shape[1]) >= lists.length[part, None]] = np.inf
        u[part] = values.min(axis=1)
    return u, np.flatnonzero(u > lists.tau)


def _release_slack(state: AuctionState) -> Index:
    lists = state.lists
    for part in row_parts(lists.idx.shape, _LIST_ENTRIES):
        here = np.arange(lists.idx.shape[1]) < lists.length[part, None]
        mine = here & (lists.idx[part] == state.partner[part, None])
        tight = mine & (lists.cost[part] + state.prices[lists.idx[part]] <= state.u[part, None])
        slack = ~tight.any(axis=1) & (state.partner[part] >= 0)
        loose = np.arange(part.start, part.stop)[slack]
        state.owner[state.partner[loose]] = -1
        state.partner[loose] = -1
    return np.flatnonzero(state.partner < 0).astype(np.int64)


class PrecisionError(Exception):
    """The points' scales differ so much that float32 products say nothing about the close pairs."""


def product_provider(products: Products, memory: float) -> CostProvider:
    """A product for the auction: kept where that fits into so many bytes, formed again in blocks else."""
    n, m = products.shape
    if 4.0 * n * m <= memory:
        return StoredCosts(products.keep(), products.column_term, products.factor, products.quantised)
    return BlockCosts(products.block, n, products.column_term, products.factor, entries=PRODUCT_ENTRIES)


@dataclass(eq=False)
class RefinedCosts:
    """Float64 costs of the few listed pairs that matter; asked again, more of them, at last a whole row."""

    form: Products
    rough: CandidateLists
    # The rough bounds, turned into bounds on refined values.
    bound: Float

    @property
    def capacity(self) -> int:
        return int(self.rough.idx.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return self.form.table.shape

    @property
    def offset(self) -> Float:
        return np.zeros(self.shape[1])

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        here = np.arange(lists.idx.shape[1]) < self.rough.length[rows, None]
        at_row, place = np.nonzero(here)
        lists.idx[rows] = self.rough.idx[rows]
        lists.length[rows] = self.rough.length[rows]
        costs = self.form.table.pairs(rows[at_row], self.rough.idx[rows[at_row], place].astype(np.int64))
        lists.cost[rows[at_row], place] = costs
        lists.tau[rows] = self.bound[rows]

    def dense(self, row: int) -> Float:
        m = self.shape[1]
        return self.form.table.pairs(np.full(m, row, np.int64), np.arange(m))

    def sample(self, rows: Index) -> NDArray[Any]:
        return np.stack([self.dense(int(row)) for row in rows])


def refine(form: Products, state: AuctionState) -> AuctionState:
    """Make a solution that is exact for the float32 costs exact for the float64 ones.

    The lists are thinned to the pairs within a margin of the best, whose costs are
    computed again from differences; the bounds give way by the largest rounding error
    seen. What the certificate then proves does not rest on that estimate.
    """
    rough = state.lists
    values = rough.cost + state.prices[rough.idx]
    values[np.arange(rough.idx.shape[1]) >= rough.length[:, None]] = np.inf
    n = len(values)
    count = min(n, max(_LEAST_SAMPLED, min(_MOST_SAMPLED, _SAMPLED_VALUES // form.table.features)))
    sample = np.unique(np.linspace(0, n - 1, count).astype(np.int64))
    error = _largest_error(form, state, sample)
    order, counts = _thinned(values, state.u, _MARGIN * error)
    if (counts == values.shape[1]).mean() > _UNDECIDED:
        raise PrecisionError
    lists = CandidateLists.empty(n, form.table.shape[1], rough.idx.shape[1])
    here = np.arange(rough.idx.shape[1]) < counts[:, None]
    at_row, place = np.nonzero(here)
    old_place = order[at_row, place]
    lists.idx[at_row, place] = rough.idx[at_row, old_place]
    costs = form.table.pairs(at_row, lists.idx[at_row, place].astype(np.int64))
    lists.cost[at_row, place] = costs
    lists.length[:] = counts
    rough_costs = rough.cost[at_row, old_place] + form.row_term[at_row] + form.column_term[rough.idx[at_row, old_place]]
    error = 3.0 * max(error, float(np.abs(costs - rough_costs).max()))
    left_out = np.where(here, np.inf, np.take_along_axis(values, order, axis=1)).min(axis=1)
    bound = rough.tau + form.row_term - error
    lists.tau[:] = np.minimum(bound, left_out + form.row_term - error)
    refined = AuctionState(state.prices - form.column_term, state.owner.copy(), state.partner.copy(), lists)
    try:
        finish(RefinedCosts(form, rough, bound), refined, budget=1.0)
    except TiesError:
        raise PrecisionError from None
    refined.bids, refined.scans = state.bids, state.scans + refined.scans
    return refined


def _largest_error(form: Products, state: AuctionState, rows: Index) -> float:
    cols = state.partner[rows].astype(np.int64)
    floor = 4e-16 * float((form.row_term[rows] + form.column_term[cols]).max())
    here = state.lists.idx[rows] == cols[:, None]
    listed = state.lists.cost[rows, here.argmax(axis=1)]
    missing = np.flatnonzero(~here.any(axis=1))
    pairs = form.left[rows[missing]], form.right[cols[missing]]
    listed[missing] = form.factor * np.einsum("ij,ij->i", *pairs, dtype=np.float64)
    exact = form.table.pairs(rows, cols)
    return max(floor, float(np.abs(listed + form.row_term[rows] + form.column_term[cols] - exact).max()))


def _thinned(values: Float, u: Float, margin: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row's places in order of value, and how many of them lie within the margin of the best."""
    order = np.argsort(values, axis=1)
    counts = (values <= u[:, None] + margin).sum(axis=1)
    return order, np.maximum(counts, 1)

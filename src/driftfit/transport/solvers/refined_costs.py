"""The auction over a float32 product of squared distances, and its exact refinement.

What float32 leaves undecided is settled afterwards by `RefinedCosts`, from differences in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.problem.float32_products import PRODUCT_ENTRIES, Products
from driftfit.transport.solvers.auction import AuctionState, TiesError, finish
from driftfit.transport.solvers.candidate_lists import BlockCosts, CandidateLists, CostProvider, StoredCosts

__all__ = ["PrecisionError", "RefinedCosts", "product_provider", "refine"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Pairs this many rounding errors away from the best are refined from the start.
_MARGIN = 64.0
# Rows whose rounding errors are looked at, and values of them all together.
_LEAST_SAMPLED, _MOST_SAMPLED, _SAMPLED_VALUES = 64, 512, 2**21
# Where float32 leaves whole lists of more rows than this undecided, it was the wrong arithmetic.
_UNDECIDED = 0.02


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

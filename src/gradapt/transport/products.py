"""Squared Euclidean costs as one matrix product, and their exact refinement.

``|x - y|^2 = |x|^2 + |y|^2 - 2 x.y``: the first two terms only shift potentials, so the
solver needs the float32 product alone. Centring each cloud at its own mean changes the
cost by such terms too, and keeps the product's rounding small. What float32 leaves
undecided is settled afterwards by `RefinedCosts`, from differences in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.transport.assignment import AuctionState, TiesError, finish
from gradapt.transport.lists import BlockCosts, CandidateLists, StoredCosts, in_threads

__all__ = ["PrecisionError", "ProductForm", "RefinedCosts", "refine"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Values of a block of rows that is copied to float64.
_PART_VALUES = 2**18
# Clouds above this size are not copied for centring where their means are no trouble.
_COPY_BYTES = 2**28
# Largest magnitudes whose products stay well inside the range of float32.
_SMALLEST, _LARGEST = 1e-12, 1e12
# Share of the squared length that the mean may have before clouds are centred.
_FAR = 0.97
# Pairs this many rounding errors away from the best are refined from the start.
_MARGIN = 64.0
# Where float32 leaves whole lists of more rows than this undecided, it was the wrong arithmetic.
_UNDECIDED = 0.02


class PrecisionError(Exception):
    """The points' scales differ so much that float32 products say nothing about the close pairs."""


@dataclass(eq=False)
class ProductForm:
    """``cost(i, j) = row_term[i] + column_term[j] + factor * left[i] . right[j]``, up to float32 rounding.

    ``cost`` is the squared length of ``x0[i] - x1[j] - shift``.
    """

    x0: NDArray[Any]
    x1: NDArray[Any]
    left: NDArray[np.float32]
    right: NDArray[np.float32]
    factor: float
    row_term: Float
    column_term: Float
    shift: Float

    @classmethod
    def of(cls, x0: NDArray[Any], x1: NDArray[Any]) -> ProductForm:
        """Decide on centring and scaling, and form the separable terms."""
        if x0.dtype == x1.dtype == np.float32 and x0.nbytes + x1.nbytes > _COPY_BYTES:
            form = cls._without_copies(x0, x1)
            if form is not None:
                return form
        mean0, mean1 = x0.mean(axis=0, dtype=np.float64), x1.mean(axis=0, dtype=np.float64)
        largest = max(_largest(x0, mean0), _largest(x1, mean1)) or 1.0
        scale = 2.0 ** round(math.log2(largest))
        left, norms0 = _centred(x0, mean0, scale)
        right, norms1 = _centred(x1, mean1, scale)
        return cls(x0, x1, left, right, -2.0 * scale * scale, norms0, norms1, mean0 - mean1)

    @classmethod
    def _without_copies(cls, x0: NDArray[np.float32], x1: NDArray[np.float32]) -> ProductForm | None:
        x0, x1 = np.ascontiguousarray(x0), np.ascontiguousarray(x1)
        norms0, norms1 = square_norms(x0), square_norms(x1)
        for x, norms in ((x0, norms0), (x1, norms1)):
            mean = (np.full(len(x), 1.0 / len(x), np.float32) @ x).astype(np.float64)
            largest = float(norms.max())
            # Far from the origin, or out of float32's comfort: the product would lose too much.
            if mean @ mean > _FAR * norms.mean() or not _SMALLEST < largest < _LARGEST:
                return None
        return cls(x0, x1, x0, x1, -2.0, norms0, norms1, np.zeros(x0.shape[1]))

    def stored(self) -> StoredCosts:
        """The whole product, kept."""
        return StoredCosts(self.left @ self.right.T, self.column_term, self.factor)

    def blocks(self) -> BlockCosts:
        """Blocks of the product, formed when asked for, in memory that is used again and again."""
        room = np.empty(0, np.float32)

        def block(rows: Index) -> NDArray[np.float32]:
            nonlocal room
            size = len(rows) * len(self.right)
            if room.size < size:
                room = np.empty(size, np.float32)
            return np.matmul(self.left[rows], self.right.T, out=room[:size].reshape(len(rows), len(self.right)))

        return BlockCosts(block, len(self.left), self.column_term, self.factor)

    def pair_costs(self, rows: Index, cols: Index) -> Float:
        """Costs of single pairs from differences in float64."""
        from gradapt.transport.kernels import pair_costs  # numba is slow to import

        out = np.empty(len(rows))

        def part(piece: slice) -> None:
            pair_costs(self.x0, self.x1, self.shift, rows[piece], cols[piece], out[piece])

        in_threads(part, len(rows), small=len(rows) * self.x0.shape[1] < 1_000_000)
        return out

    def potential0(self, u: Float) -> Float:
        """From potentials of the shifted cost to potentials of the squared distance itself."""
        return np.asarray(u + 2.0 * _along(self.x0, self.shift) + self.shift @ self.shift)

    def column_shift(self) -> Float:
        """What prices of the shifted cost lack to be prices of the squared distance."""
        return 2.0 * _along(self.x1, self.shift)


def _row_parts(x: NDArray[Any]) -> list[slice]:
    """Blocks of rows whose float64 copies stay in the processor's cache."""
    step = max(1, _PART_VALUES // x.shape[1])
    return [slice(start, min(start + step, len(x))) for start in range(0, len(x), step)]


def _largest(x: NDArray[Any], mean: Float) -> float:
    return max(float(np.abs(x[part] - mean).max()) for part in _row_parts(x))


def _centred(x: NDArray[Any], mean: Float, scale: float) -> tuple[NDArray[np.float32], Float]:
    """``(x - mean) / scale`` in float32, and the squared lengths of ``x - mean``."""
    out, norms = np.empty(x.shape, np.float32), np.empty(len(x))
    for part in _row_parts(x):
        centred = x[part] - mean
        norms[part] = np.einsum("ij,ij->i", centred, centred)
        np.multiply(centred, 1.0 / scale, out=out[part], casting="same_kind")
    return out, norms


def _along(x: NDArray[Any], direction: Float) -> Float:
    """``(x - mean) . direction`` for every row, in float64."""
    if not direction.any():
        return np.zeros(len(x))
    values = np.concatenate([x[part].astype(np.float64) @ direction for part in _row_parts(x)])
    return np.asarray(values - values.mean())


def square_norms(x: NDArray[Any]) -> Float:
    """Squared length of every row, in float64."""
    from gradapt.transport.kernels import row_norms  # numba is slow to import

    out = np.empty(len(x))
    in_threads(lambda piece: row_norms(x, out, piece.start, piece.stop), len(x), small=x.size < 1_000_000)
    return out


@dataclass(eq=False)
class RefinedCosts:
    """Float64 costs of the few listed pairs that matter; asked again, more of them, at last a whole row."""

    form: ProductForm
    rough: CandidateLists
    # The rough bounds, turned into bounds on refined values.
    bound: Float

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.form.x0), len(self.form.x1)

    @property
    def offset(self) -> Float:
        return np.zeros(self.shape[1])

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        here = np.arange(lists.idx.shape[1]) < self.rough.length[rows, None]
        at_row, place = np.nonzero(here)
        lists.idx[rows] = self.rough.idx[rows]
        lists.length[rows] = self.rough.length[rows]
        costs = self.form.pair_costs(rows[at_row], self.rough.idx[rows[at_row], place].astype(np.int64))
        lists.cost[rows[at_row], place] = costs
        lists.tau[rows] = self.bound[rows]

    def dense(self, row: int) -> Float:
        m = self.shape[1]
        return self.form.pair_costs(np.full(m, row, np.int64), np.arange(m))

    def sample(self, rows: Index) -> NDArray[Any]:
        return np.stack([self.dense(int(row)) for row in rows])


def refine(form: ProductForm, state: AuctionState) -> AuctionState:
    """Make a solution that is exact for the float32 costs exact for the float64 ones.

    The lists are thinned to the pairs within a margin of the best, whose costs are
    computed again from differences; the bounds give way by the largest rounding error
    seen. What the certificate then proves does not rest on that estimate.
    """
    rough = state.lists
    values = rough.cost + state.prices[rough.idx]
    values[np.arange(rough.idx.shape[1]) >= rough.length[:, None]] = np.inf
    n = len(values)
    sample = np.unique(np.linspace(0, n - 1, min(n, 512)).astype(np.int64))
    error = _largest_error(form, state, sample)
    order, counts = _thinned(values, state.u, _MARGIN * error)
    if (counts == values.shape[1]).mean() > _UNDECIDED:
        raise PrecisionError
    lists = CandidateLists.empty(n, form.x1.shape[0], rough.idx.shape[1])
    here = np.arange(rough.idx.shape[1]) < counts[:, None]
    at_row, place = np.nonzero(here)
    old_place = order[at_row, place]
    lists.idx[at_row, place] = rough.idx[at_row, old_place]
    costs = form.pair_costs(at_row, lists.idx[at_row, place].astype(np.int64))
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


def _largest_error(form: ProductForm, state: AuctionState, rows: Index) -> float:
    cols = state.partner[rows].astype(np.int64)
    product = np.einsum("ij,ij->i", form.left[rows], form.right[cols], dtype=np.float64)
    floor = 4e-16 * float((form.row_term[rows] + form.column_term[cols]).max())
    here = state.lists.idx[rows] == cols[:, None]
    listed = np.where(here.any(axis=1), state.lists.cost[rows, here.argmax(axis=1)], form.factor * product)
    exact = form.pair_costs(rows, cols)
    return max(floor, float(np.abs(listed + form.row_term[rows] + form.column_term[cols] - exact).max()))


def _thinned(values: Float, u: Float, margin: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row's places in order of value, and how many of them lie within the margin of the best."""
    order = np.argsort(values, axis=1)
    counts = (values <= u[:, None] + margin).sum(axis=1)
    return order, np.maximum(counts, 1)

"""Short lists of candidate columns per row, the providers that fill them, and who holds which share of a column.

A provider answers one question, `k_best`: which columns have the least ``cost + price``
for these rows? `StoredCosts` reads a matrix that is kept, `BlockCosts` forms blocks of
it, by matrix products for instance, and forgets them, `TreeCosts` searches a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.arrays import THREADED, in_threads
from driftfit.transport.costs.near import NearTable
from driftfit.transport.costs.products import NO_CODES, Quantised
from driftfit.transport.costs.table import BLOCK_ENTRIES, QUICK_ENTRIES, row_parts

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Lists hold between half this many columns and this many; fewer where costs are kept, more where a look at all columns
# takes long.
LIST_CAPACITY, _SHORT_LIST, _LONG_LIST = 64, 32, 256
# A search takes about as long as a look at so many prices.
_LOOK_EACH = 64
# Searches until a tree is asked whether it pays.
_TRIED = 1000
# Bids between two looks at the clock and at Ctrl-C.
_SLICE = 100_000
# Weight that is a rounding, as a share of the mean, where weights are not all one.
_DUST = 1e-9
# Places for more shares to begin with, for each sample.
_PLACES = 2


@dataclass(eq=False)
class CandidateLists:
    """Columns, costs and bounds of every row's list; the compiled loops fill and read them.

    ``floor`` has the values ``cost + price`` of a list when it was made, in their order, or something below them:
    prices only rise, so that a look at a list can end where they are larger than what was found.
    """

    idx: NDArray[np.int32]
    cost: Float
    floor: Float
    length: NDArray[np.int32]
    tau: Float

    @classmethod
    def empty(cls, n: int, m: int, capacity: int = LIST_CAPACITY) -> CandidateLists:
        capacity = min(capacity, m)
        return cls(
            np.zeros((n, capacity), np.int32),
            np.zeros((n, capacity)),
            np.full((n, capacity), -np.inf),
            np.zeros(n, np.int32),
            np.full(n, -np.inf),
        )

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        """What compiled loops need."""
        return self.idx, self.cost, self.floor, self.length, self.tau

    @property
    def wanted(self) -> int:
        return max(1, int(self.idx.shape[1]) // 2)


class CostProvider(Protocol):
    """Costs of an assignment problem up to a term per row; ``offset`` is the term per column."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def offset(self) -> Float: ...

    @property
    def capacity(self) -> int:
        """Columns that a list of its costs should hold, at most."""

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        """Fill the lists of ``rows`` with the columns of least cost at these prices."""

    def dense(self, row: int) -> Float:
        """All costs of one row."""

    def sample(self, rows: Index) -> NDArray[Any]:
        """All costs of some rows."""


@dataclass(frozen=True, eq=False)
class StoredCosts:
    """Costs kept in memory, float32 or float64."""

    matrix: NDArray[Any]
    offset: Float
    factor: float = 1.0
    given: Quantised | None = None
    capacity = _SHORT_LIST

    @cached_property
    def quantised(self) -> Quantised:
        """The codes of the costs, formed with the first lists where they are not given; rows may be given up."""
        codes = Quantised.of(self.matrix, self.factor) if self.given is None else self.given
        return replace(codes, step=codes.step.copy())

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        fill_lists(self.matrix, self.factor, rows, rows, prices, lists, self.quantised)

    def dense(self, row: int) -> Float:
        return np.asarray(self.factor * self.matrix[row].astype(np.float64))

    def sample(self, rows: Index) -> NDArray[Any]:
        return np.asarray(self.factor * self.matrix[rows])


@dataclass(frozen=True, eq=False)
class BlockCosts:
    """Costs formed for a few rows at a time by ``block(rows)`` and never kept.

    ``quick`` ones are formed so fast that every core forms its own; others ``entries`` at a time.
    """

    block: Callable[[Index], NDArray[Any]]
    n: int
    offset: Float
    factor: float = 1.0
    quick: bool = False
    entries: int = BLOCK_ENTRIES

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, len(self.offset)

    @property
    def capacity(self) -> int:
        return LIST_CAPACITY if self.quick else _LONG_LIST

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        m = len(self.offset)

        def work(piece: slice) -> None:
            mine = rows[piece]
            for part in row_parts((len(mine), m), QUICK_ENTRIES if self.quick else self.entries):
                some = mine[part]
                fill_lists(self.block(some), self.factor, np.arange(len(some)), some, prices, lists)

        in_threads(work, len(rows), small=not self.quick or len(rows) * m < THREADED)

    def dense(self, row: int) -> Float:
        return np.asarray(self.factor * self.block(np.array([row]))[0].astype(np.float64))

    def sample(self, rows: Index) -> NDArray[Any]:
        return np.asarray(self.factor * self.block(rows))


@dataclass(eq=False)
class TreeCosts:
    """Squared distances of few features, of which a tree finds the least; prices only rise from call to call."""

    table: NearTable
    _since: float = np.inf
    capacity = LIST_CAPACITY

    @property
    def shape(self) -> tuple[int, int]:
        return self.table.shape

    @property
    def offset(self) -> Float:
        return np.zeros(self.shape[1])

    @property
    def pays(self) -> bool:
        """Whether searches leave most samples out."""
        return self.table.columns.pays

    def k_best(self, rows: Index, prices: Float, lists: CandidateLists) -> None:
        if not self.pays:
            BlockCosts(self.table.block, self.shape[0], prices, quick=True).k_best(rows, prices, lists)
            return
        tree = self.table.columns
        for start in range(0, len(rows), _TRIED):
            piece = rows[start : start + _TRIED]
            self._since += _LOOK_EACH * len(piece)
            if self._since >= self.shape[1]:
                tree.look(prices)
                self._since = 0
            tree.list_nearest(self.table.first, piece, prices, lists.wanted, lists.arrays)

    def dense(self, row: int) -> Float:
        return np.asarray(self.table.block(np.array([row]))[0])

    def sample(self, rows: Index) -> NDArray[Any]:
        return np.asarray(self.table.block(rows))


def fill_lists(
    matrix: NDArray[Any],
    factor: float,
    sources: Index,
    targets: Index,
    prices: Float,
    lists: CandidateLists,
    quantised: Quantised = NO_CODES,
) -> None:
    """List rows ``sources`` of ``matrix`` as rows ``targets``, on all cores."""
    from driftfit.transport.kernels.lists import list_rows  # numba is slow to import

    def part(piece: slice) -> None:
        list_rows(matrix, factor, quantised.arrays, sources[piece], targets[piece], prices, lists.wanted, *lists.arrays)

    # Threads only where the rows cost more than starting them.
    in_threads(part, len(sources), small=len(sources) * matrix.shape[1] < THREADED)


@dataclass(eq=False)
class Shares:
    """Shares of all columns, in a list for each, the cheapest first.

    >>> shares = Shares.of(np.ones(2), np.ones(2), np.zeros(2))
    >>> shares.owners()
    (array([-1, -1], dtype=int32), array([-1, -1], dtype=int32))
    """

    free: Float
    waiting: NDArray[np.bool_]
    first: Index
    following: Index
    holder: Index
    mass: Float
    ask: Float
    unused: Index
    # The weight that is not placed, what may stay so, and what is a rounding.
    left: Float
    total: float

    @classmethod
    def of(cls, weights0: Float, weights1: Float, prices: Float) -> Shares:
        """Nothing is placed yet, and every column is one share."""
        n, m = len(weights0), len(weights1)
        whole = n == m and bool((weights0 == 1.0).all() and (weights1 == 1.0).all())
        places = m + 2 + (0 if whole else _PLACES * (n + m))
        pad = np.zeros(places - m)
        return cls(
            weights0.astype(np.float64),
            np.zeros(n, np.bool_),
            np.arange(m),
            np.full(places, -1),
            np.full(places, -1),
            np.concatenate([weights1 * (weights0.sum() / weights1.sum()), pad]),
            np.concatenate([prices, pad]),
            np.concatenate([[places - m], np.arange(m, places), np.zeros(m + 1, np.int64)]),
            np.array([0.0, 0.0, 0.0 if whole else _DUST * float(weights0.sum()) / n]),
            float(weights0.sum()),
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops need."""
        return (
            self.free, self.waiting, self.first, self.following, self.holder, self.mass, self.ask, self.unused,
            self.left,
        )  # fmt: skip

    @property
    def whole(self) -> bool:
        """Whether this is an assignment problem."""
        return bool(self.left[2] == 0.0)

    def leave(self, share: float) -> None:
        """How much of all weight need not be placed."""
        self.left[1] = share * self.total

    def begin(self, prices: Float) -> None:
        """Other prices, while nothing is placed."""
        self.ask[: len(prices)] = prices

    @property
    def full(self) -> bool:
        """Whether there is no place for another share."""
        return bool(self.unused[0] <= 1)

    def grow(self) -> None:
        """Twice the places."""
        old = len(self.holder)
        self.following, self.holder = (np.concatenate([x, np.full(old, -1)]) for x in (self.following, self.holder))
        self.mass, self.ask = (np.concatenate([x, np.zeros(old)]) for x in (self.mass, self.ask))
        left = self.unused[1 : self.unused[0] + 1]
        more = np.concatenate([left, np.arange(old, 2 * old)])
        self.unused = np.concatenate([[len(more)], more, np.zeros(2 * old + 1 - len(more), np.int64)])

    def owners(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """In an assignment problem: the row that has each column and the column that each row has, -1 for none."""
        owner = self.holder[self.first].astype(np.int32)
        partner = np.full(len(self.free), -1, np.int32)
        placed = np.flatnonzero(owner >= 0)
        partner[owner[placed]] = placed
        return owner, partner

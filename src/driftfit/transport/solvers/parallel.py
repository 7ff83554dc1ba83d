"""An auction in which all free rows bid at once, with torch: made for a GPU and millions of samples.

The auction is Bertsekas', in its Jacobi form. As in `auction.py` every row keeps a short list of columns and a
bound on all others; prices only rise, so the bounds stay true. Costs are float32 products, formed in blocks when rows
are listed and forgotten: memory is linear. What comes of it is judged by others, in float64.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.arrays import concatenated, to_numpy
from driftfit.transport.costs.squared import SquaredDistances, about
from driftfit.transport.costs.table import row_parts
from driftfit.transport.solvers.auction import cost_spread
from driftfit.transport.solvers.lists import StoredCosts

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Columns of a list.
_LISTED = 32
# Columns that are ranked by the least of them first: sorting is slow, and most of them are not near.
_BLOCK = 64
# Costs formed at once: on a GPU 2 GiB, elsewhere what a cache may hold in part.
_DEVICE_ENTRIES, _HOST_ENTRIES = 2**29, 2**22
# Entries of lists looked at together.
_LIST_ENTRIES = 2**27
# Rows from which prices to begin with are learnt, and columns beside them from which the costs' spread is.
_SAMPLED_ROWS, _SAMPLED_COLUMNS = 64, 4096
# No epsilon is below so many roundings of the largest value.
_ROUNDINGS = 32.0 * 2.0**-24


@dataclass(eq=False)
class ParallelAuction:
    """Prices, pairs and lists of an assignment between the samples of a table of tensors.

    Costs and prices are kept in units of ``unit``: costs without the squared length of their row, prices with that of
    their column.

    >>> import torch
    >>> x0, x1 = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[2.5], [0.5], [1.5]])
    >>> auction = ParallelAuction(SquaredDistances.of(x0, x1, apart=True))
    >>> auction.phase(0.01, leave=0)
    True
    >>> auction.pairs().tolist()
    [1, 2, 0]
    """

    table: SquaredDistances
    unit: float = field(init=False)
    spread: float = field(init=False)
    scans: int = field(default=0, init=False)
    rounds: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        table = self.table
        n, m = table.shape
        largest = max(float(table.norms0.max()), float(table.norms1.max())) or 1.0
        # A power of two: nothing is lost, and float32 holds whatever size the samples have.
        scale = 2.0 ** round(0.5 * math.log2(largest))
        self.unit = scale * scale
        self._left = (about(table.x0, table.centre0, slice(None)) / scale).float()
        right = (about(table.x1, table.centre1, slice(None)) / scale).float()
        # Columns without a sample fill the last block; their price keeps everybody away.
        fill = -m % _BLOCK
        self._right = -2.0 * right.new_zeros((m + fill, table.features)).index_copy_(0, self._count(m), right).T
        self._price = right.new_full((m + fill,), math.inf)
        self._price[:m] = (table.norms1 / self.unit).float()
        self._look_at_some()
        listed = min(_LISTED, m)
        whole = self._count(0)
        self._columns, self._costs = whole.new_zeros((n, listed)), right.new_zeros((n, listed))
        self._bound = right.new_full((n,), -math.inf)
        self._partner, self._owner = whole.new_full((n,), -1), whole.new_full((m,), -1)
        self._paid = right.new_zeros(n)

    @property
    def finest(self) -> float:
        """The least epsilon that float32 can tell from rounding."""
        finite = self._price[: self.table.shape[1]]
        return _ROUNDINGS * (1.0 + float(finite.abs().max())) * self.unit

    def phase(self, eps: float, *, leave: int, until: float = math.inf) -> bool:
        """Raise prices until all rows but ``leave`` have a pair within ``eps`` of their best; whether there was time.

        ``until`` is a time of `time.monotonic`.
        """
        eps /= self.unit
        if not bool(self._bound.isfinite().all()) and not self._relist(self._count(self.table.shape[0]), until):
            return False
        free = self._released(eps)
        parked: list[Any] = []
        waiting = 0
        while len(free) + waiting > leave:
            if time.monotonic() > until:
                return False
            if len(free) == 0:
                free = concatenated(parked)
                parked, waiting = [], 0
                if not self._relist(free, until):
                    return False
            free, stale = self._round(free, eps)
            if len(stale):
                parked.append(stale)
                waiting += len(stale)
        return True

    def pairs(self) -> Index:
        """The column of each row, -1 where it has none."""
        return to_numpy(self._partner)

    def potentials(self, until: float = math.inf) -> tuple[Float, Float] | None:
        """Potentials of both clouds, feasible up to float32 rounding; ``None`` where not all rows were ever listed."""
        if not bool(self._bound.isfinite().all()):
            return None
        stale = (self._least() > self._bound).nonzero()[:, 0]
        if len(stale):
            # New lists also serve the next phase.
            self._relist(stale, until)
        least = self._least().minimum(self._bound).double()
        m = self.table.shape[1]
        u = least * self.unit + self.table.norms0
        v = self.table.norms1 - self._price[:m].double() * self.unit
        return to_numpy(u), to_numpy(v)

    def _count(self, n: int) -> Any:
        import torch  # slow to import

        return torch.arange(n, device=self.table.x0.device)

    def _look_at_some(self) -> None:
        """Prices at which every column is as attractive as any, and how far costs lie apart at them."""
        n, m = self.table.shape
        rows = self._count(n)[:: max(1, n // _SAMPLED_ROWS)]
        columns = self._count(m)[:: max(1, m // _SAMPLED_COLUMNS)]
        lengths = (self.table.norms0[rows] / self.unit).float()
        costs = self._left[rows] @ self._right[:, :m] + lengths[:, None]
        offset = to_numpy(self._price[columns].double())
        self.spread = cost_spread(StoredCosts(to_numpy(costs[:, columns]), offset))[0] * self.unit
        self._price[:m] = -costs.amin(0)

    def _relist(self, rows: Any, until: float) -> bool:
        """List the columns of least cost and price anew for some rows; whether there was time for all."""
        entries = _DEVICE_ENTRIES if rows.is_cuda else _HOST_ENTRIES
        for part in row_parts((len(rows), len(self._price)), entries):
            if time.monotonic() > until:
                return False
            some = rows[part]
            values, columns = _least_of(self._price.addmm(self._left[some], self._right), self._costs.shape[1])
            self._columns[some] = columns
            self._costs[some] = values - self._price[columns]
            self._bound[some] = values.amax(1)
            self.scans += len(some)
        return True

    def _least(self) -> Any:
        """The least cost and price on each row's list."""
        parts = row_parts(tuple(self._costs.shape), _LIST_ENTRIES)
        return concatenated([(self._costs[part] + self._price[self._columns[part]]).amin(1) for part in parts])

    def _released(self, eps: float) -> Any:
        """Part pairs that are no longer within ``eps`` of the row's best; all rows without one."""
        best = self._least().minimum(self._bound)
        paired = (self._partner >= 0).nonzero()[:, 0]
        columns = self._partner[paired]
        # What float32 rounds off is no reason to part.
        loose = self._paid[paired] + self._price[columns] > best[paired] + eps * (1.0 + 1e-4)
        self._owner[columns[loose]] = -1
        self._partner[paired[loose]] = -1
        return (self._partner < 0).nonzero()[:, 0]

    def _round(self, free: Any, eps: float) -> tuple[Any, Any]:
        """One bid of each free row; the rows that are free then, and those whose list has come to its end."""
        self.rounds += 1
        columns, costs = self._columns[free], self._costs[free]
        values = costs + self._price[columns]
        first, place = values.min(1, keepdim=True)
        bound = self._bound[free]
        ended = first[:, 0] > bound
        values.scatter_(1, place, math.inf)
        second = values.amin(1).minimum(bound)
        column, cost = columns.gather(1, place)[:, 0], costs.gather(1, place)[:, 0]
        stale = free[ended]
        if len(stale):
            going = ~ended
            free, column, cost, second = free[going], column[going], cost[going], second[going]
        offer = second - cost + eps
        highest = offer.new_full(self._price.shape, -math.inf).scatter_reduce_(0, column, offer, "amax")
        wins = offer == highest[column]
        # Of equal offers the first row's is taken, so that a run can be repeated.
        taker = free.new_full(self._owner.shape, len(self._left)).scatter_reduce_(0, column[wins], free[wins], "amin")
        wins &= taker[column] == free
        rows, won = free[wins], column[wins]
        former = self._owner[won]
        former = former[former >= 0]
        self._partner[former] = -1
        self._partner[rows], self._owner[won] = won, rows
        self._price[won], self._paid[rows] = offer[wins], cost[wins]
        return concatenated([free[~wins], former]), stale


def _least_of(values: Any, count: int) -> tuple[Any, Any]:
    """The ``count`` least values of each row and their columns, in no order."""
    rows, width = values.shape
    blocks = width // _BLOCK
    if blocks <= 2 * count:
        found = values.topk(count, dim=1, largest=False, sorted=False)
        return found.values, found.indices
    # Each of the least lies in one of the blocks with the least minima. Columns of a block lie far apart: so the
    # minima are read in one pass over neighbouring values.
    near = values.view(rows, _BLOCK, blocks).amin(1).topk(count, dim=1, largest=False, sorted=False).indices
    steps = near.new_ones(_BLOCK).cumsum(0) - 1
    columns = (near[:, None, :] + blocks * steps[None, :, None]).reshape(rows, -1)
    found = values.gather(1, columns).topk(count, dim=1, largest=False, sorted=False)
    return found.values, columns.gather(1, found.indices)

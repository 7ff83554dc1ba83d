"""The costs between two clouds, in blocks and as single pairs, each with a bound on its rounding.

A `CostTable` is what solvers and the certificate see of a problem. Its blocks live where the
samples live: NumPy arrays on the processor, tensors on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import beside, is_tensor, to_numpy

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Unit roundoff of float64.
UNIT = 2.0**-53
# Costs of a block: 16 MiB on a processor, which the allocator hands out again and again, 1 GiB on a GPU.
BLOCK_ENTRIES, DEVICE_BLOCK_ENTRIES = 2**21, 2**27
# Costs that are quick to form stay in the processor's cache from block to block.
QUICK_ENTRIES = 2**16
# From so many values on, single pairs of a device are read from the costs that are held.
HELD_VALUES = 2**30
# Single pairs are gathered so that their features stay in the processor's cache.
PAIR_VALUES = 2**18


def gamma(k: float, unit: float = UNIT) -> float:
    """Relative rounding error of a sum of ``k`` products (Higham, *Accuracy and Stability*, chapter 3).

    >>> gamma(10) < 1.2e-15
    True
    """
    return k * unit / (1.0 - k * unit)


@dataclass(frozen=True, eq=False)
class Rounding:
    """How far a computed cost may be from the true one.

    ``|computed - true| <= relative * |computed| + rows[i] + columns[j]``; ``None`` for no such term.
    Where potentials are subtracted on the way, ``potential`` times their size comes to it.
    """

    relative: float = 0.0
    rows: Any = None
    columns: Any = None
    potential: float = 0.0


class CostTable(Protocol):
    """Costs of all pairs of a problem."""

    @property
    def kept(self) -> bool:
        """Whether all costs are at hand, in `home`."""
        return False

    @property
    def quick(self) -> bool:
        """Whether a block is formed faster than one that is kept could be read."""
        return False

    @property
    def trees(self) -> Any:
        """Trees of both clouds, where searches in them leave most pairs out."""
        return None

    @property
    def screen(self) -> Any:
        """Float32 products, where pairs are to be told apart by these first."""
        return None

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def home(self) -> Any:
        """An array or tensor beside which the blocks live."""

    @property
    def rounding(self) -> Rounding:
        """Of the costs in blocks."""

    @property
    def pair_rounding(self) -> Rounding:
        """Of the costs of single pairs."""

    def block(self, rows: slice | Index) -> Any:
        """Costs of some rows with all columns, where the samples live."""

    def reduced(self, rows: slice | Index, u: Any = None, v: Any = None) -> Any:
        """Costs of some rows less potentials: ``u`` one of each of the rows, ``v`` one of each column; a new array."""
        return less(self.block(rows), u, v)

    def pairs(self, rows: Index, cols: Index) -> Float:
        """Costs of single pairs, as NumPy array."""

    def potential0(self, u: Float) -> Float:
        """From a first potential of these costs to one of the cost itself: they may differ by separable terms."""
        return u

    def mean(self) -> float:
        """The mean size of the cost itself, over all pairs."""
        return mean_cost(self)

    @property
    def innermost(self) -> Any:
        """The table that forms the costs."""
        return self

    def moved(self, v: Float, other: Any) -> Float:
        """A second potential of an innermost table of the same samples as one of this one: centres may differ."""
        return v

    def precise(self) -> CostTable:
        """The same costs in float64."""
        return self

    def raw(self) -> tuple[Callable[[slice], Any], float, tuple[Any, Any]]:
        """Blocks for compiled loops: a cost is the factor times an entry, a term for its row and one for its column."""
        return self.block, 1.0, (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class BlockTable(CostTable):
    """Costs from the ``block`` and ``pairs`` of a cost value."""

    cost: Any
    x0: Any
    x1: Any
    relative: float
    absolute: float = 0.0
    # Single pairs are no better than those of a block.
    alike = True

    @property
    def home(self) -> Any:
        return self.x1

    @property
    def shape(self) -> tuple[int, int]:
        return self.x0.shape[0], self.x1.shape[0]

    @property
    def rounding(self) -> Rounding:
        return Rounding(self.relative, None, self.absolute)

    @property
    def pair_rounding(self) -> Rounding:
        return self.rounding

    def block(self, rows: slice | Index) -> Any:
        return checked(self.cost.block(self.x0[rows], self.x1))

    def pairs(self, rows: Index, cols: Index) -> Float:
        costs = np.empty(len(rows))
        for part in row_parts((len(rows), self.x0.shape[1]), PAIR_VALUES):
            costs[part] = self.cost.pairs(self.x0[rows[part]], self.x1[cols[part]])
        return np.asarray(checked(costs))


@dataclass(frozen=True, eq=False)
class OtherTable(CostTable):
    """A `CostTable` with the costs of another one; a kind of it says what it does otherwise."""

    table: CostTable

    @property
    def innermost(self) -> Any:
        return self.table.innermost

    def moved(self, v: Float, other: Any) -> Float:
        return self.table.moved(v, other)

    @property
    def home(self) -> Any:
        return self.table.home

    @property
    def shape(self) -> tuple[int, int]:
        return self.table.shape

    @property
    def rounding(self) -> Rounding:
        return self.table.rounding

    @property
    def pair_rounding(self) -> Rounding:
        return self.table.pair_rounding

    def block(self, rows: slice | Index) -> Any:
        return self.table.block(rows)

    def reduced(self, rows: slice | Index, u: Any = None, v: Any = None) -> Any:
        return self.table.reduced(rows, u, v)

    def pairs(self, rows: Index, cols: Index) -> Float:
        return self.table.pairs(rows, cols)

    def potential0(self, u: Float) -> Float:
        return self.table.potential0(u)

    def mean(self) -> float:
        return self.table.mean()


@dataclass(frozen=True, eq=False)
class HeldTable(OtherTable):
    """All costs of a table, kept."""

    matrix: Any
    kept = True

    @classmethod
    def of(cls, table: CostTable) -> HeldTable:
        if isinstance(table, HeldTable):
            return table
        matrix: Any = None
        for part in table_parts(table):
            block = table.block(part)
            if matrix is None and len(block) == table.shape[0]:
                return cls(table, block)
            if matrix is None:
                matrix = block.new_empty(table.shape) if is_tensor(block) else np.empty(table.shape)
            matrix[part] = block
        return cls(table, matrix)

    @property
    def home(self) -> Any:
        return self.matrix

    @property
    def pair_rounding(self) -> Rounding:
        return self.rounding if is_tensor(self.matrix) else self.table.pair_rounding

    def block(self, rows: slice | Index) -> Any:
        return self.matrix[rows]

    def reduced(self, rows: slice | Index, u: Any = None, v: Any = None) -> Any:
        return less(self.block(rows), u, v)

    def pairs(self, rows: Index, cols: Index) -> Float:
        if not is_tensor(self.matrix):
            return np.asarray(self.matrix[rows, cols]) if self.alike else self.table.pairs(rows, cols)
        if len(rows) * self._features < HELD_VALUES:
            return self.table.pairs(rows, cols)
        # To form those of all candidates from many features would take as long as the product of all samples did.
        # So a solver sees one cost of a pair everywhere; the certificate forms those of the plan anew.
        return np.asarray(to_numpy(self.matrix[beside(self.matrix, rows), beside(self.matrix, cols)]))

    @property
    def alike(self) -> bool:
        """Whether single pairs are no better than these."""
        return bool(getattr(self.table, "alike", False))

    @property
    def _features(self) -> int:
        return int(getattr(self.table, "features", 0))


def less(block: Any, u: Any, v: Any) -> Any:
    """A block of costs less potentials; the block itself is not touched."""
    if u is None:
        return block - v
    block = block - u[:, None]
    if v is not None:
        block -= v
    return block


def mean_cost(table: CostTable) -> float:
    """The mean size of all costs, in one pass."""
    n, m = table.shape
    return sum(float(abs(table.block(part)).sum()) for part in table_parts(table)) / n / m


def table_parts(table: CostTable) -> Iterator[slice]:
    """Row slices of a table in blocks of the size that suits where its samples live."""
    host = min(QUICK_ENTRIES, BLOCK_ENTRIES) if table.quick else BLOCK_ENTRIES
    return row_parts(table.shape, DEVICE_BLOCK_ENTRIES if is_tensor(table.home) else host)


def row_parts(shape: tuple[int, ...], entries: int) -> Iterator[slice]:
    """Rows of a matrix in blocks of about so many entries."""
    n, m = shape
    step = max(1, entries // m)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def checked(costs: Any) -> Any:
    """The costs, unless one of them is not a finite number."""
    if not np.isfinite(float(costs.sum())) and not bool(np.isfinite(costs).all()):
        raise InputError(
            "a transport cost overflowed; rescale the features, for instance with StandardScaler, or choose a smaller p"
        )
    return costs

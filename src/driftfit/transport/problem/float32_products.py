"""Squared distances as one float32 matrix product, with a proven bound on its rounding.

``|x - y|^2 = |x|^2 + |y|^2 - 2 x.y``: the first two terms only shift potentials, so that a solver
needs the product alone. Centring each cloud by itself changes the cost by such terms too, and keeps the
product's rounding small. A product that is kept serves the solver and the certificate alike: it belongs to the problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels import has_numba
from driftfit.transport.problem.cost_table import PAIR_VALUES, CostTable, HeldTable, Rounding, gamma, less, row_parts
from driftfit.transport.problem.quantised import NO_CODES, Quantised
from driftfit.transport.problem.squared_distances import SquaredDistances

__all__ = ["PRODUCT_ENTRIES", "ProductTable", "Products"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Unit roundoff of float32, and terms of a float32 sum that is trusted: longer ones are added up from several.
_UNIT32, _FEATURES32 = 2.0**-24, 2048
# Entries of a block of a product: in smaller ones the columns are read as often as they are used.
PRODUCT_ENTRIES = 2**24
# Clouds above this size are not copied for centring where their means are no trouble.
_COPY_BYTES = 2**27
# Largest magnitudes whose products stay well inside the range of float32.
_SMALLEST, _LARGEST = 1e-12, 1e12
# Share of the squared length that the mean may have before clouds are centred.
_FAR = 0.97


@dataclass(eq=False)
class Products:
    """``cost(i, j) = row_term[i] + column_term[j] + factor * left[i] . right[j]``, up to float32 rounding.

    The costs are those of ``table``, which settles single pairs. ``matrix`` is the whole product and
    ``quantised`` its codes, once it is kept.

    >>> table = SquaredDistances(np.array([[0.0], [3.0]]), np.array([[1.0], [5.0]]), 0.0, 0.0, False)
    >>> products = Products.of(table)
    >>> (products.factor * products.block(slice(0, 2)) + products.row_term[:, None] + products.column_term).tolist()
    [[1.0, 25.0], [4.0, 4.0]]
    """

    table: SquaredDistances
    left: NDArray[np.float32]
    right: NDArray[np.float32]
    factor: float
    matrix: NDArray[np.float32] | None = field(default=None, init=False)
    quantised: Quantised | None = field(default=None, init=False)

    @classmethod
    def of(cls, table: SquaredDistances) -> Products:
        """Decide on scaling, and whether copies of large clouds can be saved."""
        x0, x1 = table.x0, table.x1
        if x0.dtype == x1.dtype == np.float32 and x0.nbytes + x1.nbytes > _COPY_BYTES:
            plain = SquaredDistances(np.ascontiguousarray(x0), np.ascontiguousarray(x1), 0.0, 0.0, False)
            if _near_the_origin(plain):
                return cls(plain, plain.x0, plain.x1, -2.0)
        # No feature is larger than the length of its sample.
        largest = math.sqrt(max(float(table.norms0.max()), float(table.norms1.max()))) or 1.0
        scale = 2.0 ** round(math.log2(largest))
        left, right = (_in_float32(x, c, scale) for x, c in ((x0, table.centre0), (x1, table.centre1)))
        return cls(table, left, right, -2.0 * scale * scale)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    @property
    def row_term(self) -> Float:
        return np.asarray(self.table.norms0)

    @property
    def column_term(self) -> Float:
        return np.asarray(self.table.norms1)

    @property
    def errors(self) -> tuple[Float, Float]:
        """How far a cost may be from the true one: a term for its row and one for its column.

        A product of ``k`` terms is off by at most ``gamma(k)`` times the sum of their sizes, which is at most half
        of both norms; so are the norms themselves, in float64. What float32 loses below its range is counted too.
        """
        size = self.table.features
        terms = min(size, _FEATURES32) + -(-size // _FEATURES32) + 32
        relative = gamma(terms, _UNIT32) + 8.0 * gamma(size + 32)
        lost = abs(self.factor) * size * 2.0**-100
        return relative * self.row_term + lost, relative * self.column_term + lost

    def keep(self) -> NDArray[np.float32]:
        """The whole product, formed once, with its codes where compiled loops can read them."""
        if self.matrix is None:
            matrix, codes = np.empty(self.shape, np.float32), Quantised.empty(*self.shape) if has_numba() else None
            for part in self.parts():
                self._fill(part, matrix[part])
                if codes is not None:
                    codes.fill(part, matrix[part], self.factor)
            matrix.flags.writeable = False
            self.matrix, self.quantised = matrix, codes
        return self.matrix

    def block(self, rows: slice | Index) -> NDArray[np.float32]:
        """The product of some rows with all columns."""
        if self.matrix is not None:
            return self.matrix[rows]
        out = np.empty((len(self.left[rows]), len(self.right)), np.float32)
        return self._fill(rows, out)

    def _fill(self, rows: slice | Index, out: NDArray[np.float32]) -> NDArray[np.float32]:
        size, some = self.table.features, self.left[rows]
        np.matmul(some[:, :_FEATURES32], self.right[:, :_FEATURES32].T, out=out)
        for start in range(_FEATURES32, size, _FEATURES32):
            part = slice(start, start + _FEATURES32)
            out += some[:, part] @ self.right[:, part].T
        return out

    def parts(self) -> Any:
        """Rows in blocks of a size that suits."""
        return row_parts(self.shape, PRODUCT_ENTRIES)

    def codes(self, rows: slice) -> Quantised:
        """The codes of some rows, none where the product is not kept."""
        return NO_CODES if self.quantised is None else self.quantised[rows]


@dataclass(frozen=True, eq=False)
class ProductTable:
    """Costs of blocks from a float32 product, those of single pairs from differences: a `CostTable` for compiled loops.

    ``memory`` is what a kept matrix of float64 costs may take, where float32 turns out too coarse.
    """

    products: Products
    memory: float
    quick = False

    @property
    def home(self) -> Any:
        return self.products.table.x1

    @property
    def shape(self) -> tuple[int, int]:
        return self.products.shape

    @property
    def rounding(self) -> Rounding:
        return Rounding(0.0, *self.products.errors)

    @property
    def pair_rounding(self) -> Rounding:
        return self.products.table.pair_rounding

    def block(self, rows: slice | Index) -> Float:
        costs = np.multiply(self.products.block(rows), self.products.factor, dtype=np.float64)
        costs += self.products.column_term
        costs += self.products.row_term[rows, None]
        return costs

    def reduced(self, rows: slice | Index, u: Any = None, v: Any = None) -> Float:
        return np.asarray(less(self.block(rows), u, v))

    def pairs(self, rows: Index, cols: Index) -> Float:
        return self.products.table.pairs(rows, cols)

    def potential0(self, u: Float) -> Float:
        return self.products.table.potential0(u)

    def mean(self) -> float:
        return self.products.table.mean()

    def precise(self) -> CostTable:
        """The same costs in float64, kept where they fit."""
        n, m = self.shape
        table = self.products.table
        return HeldTable.of(table) if 8.0 * n * m <= self.memory else table


def _near_the_origin(table: SquaredDistances) -> bool:
    """Whether float32 products of the samples as they are lose little."""
    for x, norms in ((table.x0, table.norms0), (table.x1, table.norms1)):
        mean = (np.full(len(x), 1.0 / len(x), np.float32) @ x).astype(np.float64)
        if mean @ mean > _FAR * norms.mean() or not _SMALLEST < float(norms.max()) < _LARGEST:
            return False
    return True


def _in_float32(x: NDArray[Any], centre: Float, scale: float) -> NDArray[np.float32]:
    """``(x - centre) / scale``, a few rows at a time."""
    out = np.empty(x.shape, np.float32)
    for part in row_parts(x.shape, PAIR_VALUES):
        np.multiply(x[part] - centre, 1.0 / scale, out=out[part], casting="same_kind")
    return out

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

from driftfit.transport.arrays import THREADED, has_numba, in_threads
from driftfit.transport.costs.squared import SquaredDistances
from driftfit.transport.costs.table import PAIR_VALUES, CostTable, HeldTable, Rounding, gamma, row_parts

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
# Where more than this share of pairs stays undecided, or so many for each column, the way does not pay.
_UNDECIDED, _UNDECIDED_EACH = 0.02, 64


@dataclass(frozen=True, eq=False)
class Quantised:
    """Bounds from below on the costs of a matrix, of which each row has a least one and a step of its own.

    ``low + step * code`` is at most the cost, which is less than ``1 + 2**-5`` steps above it.
    """

    codes: NDArray[np.uint8]
    low: NDArray[np.float64]
    step: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int, m: int) -> Quantised:
        """Codes that are to be filled."""
        return cls(np.empty((n, m), np.uint8), np.empty(n), np.empty(n))

    @classmethod
    def of(cls, matrix: NDArray[Any], factor: float) -> Quantised:
        """The codes of ``factor`` times a matrix.

        >>> found = Quantised.of(np.array([[0.0, 2.55, 1.0]]), 1.0)
        >>> found.codes.tolist(), found.step.round(9).tolist()
        ([[0, 255, 100]], [0.01])
        """
        found = cls.empty(*matrix.shape)
        found.fill(slice(0, len(matrix)), matrix, factor)
        return found

    def fill(self, rows: slice, matrix: NDArray[Any], factor: float) -> None:
        """Codes of some rows, given the matrix of these."""
        from driftfit.transport.kernels.lists import quantise_rows  # numba is slow to import

        into = self.codes[rows], self.low[rows], self.step[rows]

        def work(piece: slice) -> None:
            quantise_rows(matrix[piece], factor, *(part[piece] for part in into))

        in_threads(work, len(matrix), small=matrix.size < THREADED)

    def __getitem__(self, rows: slice) -> Quantised:
        """The codes of some rows."""
        return Quantised(self.codes[rows], self.low[rows], self.step[rows])

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops need."""
        return self.codes, self.low, self.step


# For costs that have none.
NO_CODES = Quantised.empty(0, 0)


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
class ProductTable(CostTable):
    """Costs of blocks from a float32 product, those of single pairs from differences: a `CostTable` for compiled loops.

    ``memory`` is what a kept matrix of float64 costs may take, where float32 turns out too coarse.
    """

    products: Products
    memory: float

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

    def pairs(self, rows: Index, cols: Index) -> Float:
        return self.products.table.pairs(rows, cols)

    def potential0(self, u: Float) -> Float:
        return self.products.table.potential0(u)

    def mean(self) -> float:
        return self.products.table.mean()

    @property
    def screen(self) -> Any:
        return self.products

    @property
    def innermost(self) -> Any:
        return self.products.table

    def moved(self, v: Float, other: Any) -> Float:
        return self.products.table.moved(v, other)

    def raw(self) -> Any:
        return self.products.block, self.products.factor, (self.products.row_term, self.products.column_term)

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


def suspects(products: Products, u: Float, v: Float) -> tuple[Index, Index] | None:
    """Pairs that may cost less than ``u + v``, potentials of the table's cost: all that do and some others.

    ``None`` where rounding leaves too many. A row with ``u`` of minus infinity is not looked at.

    >>> from driftfit.transport.costs.squared import SquaredDistances
    >>> table = SquaredDistances(np.array([[0.0], [3.0]]), np.array([[1.0], [5.0]]), 0.0, 0.0, False)
    >>> [side.tolist() for side in suspects(Products.of(table), np.zeros(2), np.array([2.0, 3.0]))]
    [[0], [0]]
    """
    m = len(v)
    # What rounding may have done to a cost and to these sums goes to both potentials: then what is positive is so.
    a, b = (
        norms - w - error - gamma(8) * np.abs(w)
        for norms, w, error in zip((products.row_term, products.column_term), (u, v), products.errors, strict=True)
    )
    looked_at, found, at_rows, at_cols = 0, 0, [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in products.parts():
        looked_at += (part.stop - part.start) * m
        most = int(_UNDECIDED * looked_at + _UNDECIDED_EACH * m) - found
        r, c = _below(products.block(part), products.factor, products.codes(part), a[part], b, most)
        found += len(r)
        if len(r) > most:
            return None
        at_rows.append(part.start + r)
        at_cols.append(c)
    return np.concatenate(at_rows), np.concatenate(at_cols)


def turned(products: Products, u: Float, v: Float) -> tuple[Float, Float]:
    """Potentials of the cost itself as those of the products' table, raised by what the turn may round."""
    table = products.table
    terms0, terms1 = table.separable
    relative, squared = 4.0 * gamma(table.features + 32), float(np.sum(np.square(table.shift)))
    return (
        u - terms0 + relative * (squared + products.row_term + np.abs(terms0)) + gamma(4) * np.abs(u),
        v - terms1 + relative * (squared + products.column_term + np.abs(terms1)) + gamma(4) * np.abs(v),
    )


def _below(
    product: NDArray[np.float32], factor: float, codes: Quantised, a: Float, b: Float, most: int
) -> tuple[Index, Index]:
    """Places where ``factor * product + a + b`` is not positive; where they are more than ``most``, some of them."""
    if not has_numba():
        value = np.multiply(product, factor, dtype=np.float64)
        value += b
        r, c = np.nonzero(value <= -a[:, None])
        return r, c
    from driftfit.transport.kernels.pricing import places_below  # numba is slow to import

    def places(piece: slice) -> tuple[Index, Index]:
        room = 4 * len(b)
        while True:
            r, c = np.empty(room, np.int64), np.empty(room, np.int64)
            count = places_below(product[piece], factor, codes[piece].arrays, a[piece], b, r, c)
            if count <= room or count > most:
                return piece.start + r[:count], c[:count]
            room = most + 1

    parts = in_threads(places, len(product), small=product.size < THREADED)
    return np.concatenate([r for r, _ in parts]), np.concatenate([c for _, c in parts])

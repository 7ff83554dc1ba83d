"""Squared Euclidean distances: all of their arithmetic, for dense, sparse and tensor input.

Few multiplications are done as differences, which lose nothing to cancellation. Many are one
matrix product, ``|x|^2 + |y|^2 - 2 x.y``, of samples about a centre, which keeps the rounding
small. Each way says how far it can be off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftfit.transport.arrays import (
    as_double,
    beside,
    has_numba,
    in_threads,
    is_tensor,
    least,
    subtract_product,
    to_numpy,
)
from driftfit.transport.costs.table import (
    DEVICE_BLOCK_ENTRIES,
    PAIR_VALUES,
    CostTable,
    HeldTable,
    Rounding,
    checked,
    gamma,
    less,
    mean_cost,
    row_parts,
)

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Below this many multiplications the differences are quick.
DIRECT_WORK = 1e8
# Up to this many features they are quicker than anything else, and than reading what was formed before.
QUICK_FEATURES = 8
# Below this many multiplications compiled loops are not worth their import.
COMPILED_WORK = 2**18
# Up to this many of so many features where some samples are this much longer, squared, than most.
_FAR_WORK, _FAR_FEATURES, _FAR = 1e11, 512, 1e8
# Up to this many values the second cloud is kept as the matrix product takes it; features in one product else.
_KEPT_VALUES, _FEATURES = 2**27, 4096
# Bits of a centre beyond the spread: few, so that whole numbers stay whole about it.
_CENTRE_BITS, _CENTRE_SAMPLES, _CENTRE_VALUES = 8, 256, 2**17
# Values of samples from which a second core is worth the call.
THREADED_VALUES = 1_000_000


@dataclass(eq=False)
class SquaredDistances(CostTable):
    """``|x0[i] - centre0 - (x1[j] - centre1)|^2``: a `CostTable`.

    With one centre for both clouds these are the distances themselves. With a centre for
    each they differ by separable terms, which `potential0` adds again: solvers see smaller numbers.

    >>> table = SquaredDistances.of(np.array([[0.0], [3.0]]), np.array([[1.0], [2.0]]))
    >>> table.block(slice(0, 2)).tolist(), table.pairs(np.array([1]), np.array([0])).tolist()
    ([[1.0, 4.0], [4.0, 1.0]], [4.0])
    """

    x0: Any
    x1: Any
    centre0: Any
    centre1: Any
    direct: bool
    sparse: bool = field(init=False)

    def __post_init__(self) -> None:
        self.sparse = sp.issparse(self.x0) or sp.issparse(self.x1)

    @classmethod
    def of(cls, x0: Any, x1: Any, *, apart: bool = False) -> SquaredDistances:
        """Decide on the arithmetic; ``apart`` gives each cloud a centre of its own."""
        if sp.issparse(x0) or sp.issparse(x1):
            return cls(x0, x1, 0.0, 0.0, False)
        work = x0.shape[0] * x1.shape[0] * x0.shape[1]
        direct = not is_tensor(x0) and (work <= DIRECT_WORK or _quick(x0))
        centre1 = _centre(x1) if apart or not direct else 0.0
        centre0 = _centre(x0) if apart else centre1
        table = cls(x0, x1, centre0, centre1, direct)
        looked_for = not direct and not is_tensor(x0) and work <= _FAR_WORK and x0.shape[1] <= _FAR_FEATURES
        if looked_for and _has_far_samples(table):
            return cls(x0, x1, centre0 if apart else 0.0, centre1 if apart else 0.0, True)
        return table

    @property
    def home(self) -> Any:
        return self.x1

    @property
    def shape(self) -> tuple[int, int]:
        return self.x0.shape[0], self.x1.shape[0]

    @property
    def by_product(self) -> bool:
        """Whether blocks are dense matrix products, for which float32 may stand first."""
        return not self.direct and not self.sparse

    @property
    def quick(self) -> bool:
        return self.direct and _quick(self.x0)

    @property
    def features(self) -> int:
        return int(self.x0.shape[1])

    @property
    def shift(self) -> Any:
        """From the second centre to the first."""
        return self.centre0 - self.centre1

    @property
    def apart(self) -> bool:
        return bool((np.abs(to_numpy(self.shift)) > 0).any())

    @cached_property
    def norms0(self) -> Any:
        return self.x0_norms(slice(None))

    @cached_property
    def norms1(self) -> Any:
        return square_norms(self.x1, self.centre1)

    def x0_norms(self, rows: slice | Index) -> Any:
        return square_norms(self.x0[rows], self.centre0)

    @property
    def rounding(self) -> Rounding:
        # A term for each feature, and a few for the differences, the norms and whoever subtracts a potential.
        g = gamma(self.features + 16)
        if self.direct:
            return Rounding(g, None, self._lost)
        # The product is off by g times a sum that is at most twice both norms; so are the norms, by g.
        return Rounding(0.0, 4.0 * g * self.norms0, 4.0 * g * self.norms1 + self._lost, 2.0 * g)

    @property
    def _lost(self) -> float:
        """Squares below the range of float64 vanish."""
        return 4.0 * self.features * float(np.finfo(np.float64).tiny)

    @property
    def pair_rounding(self) -> Rounding:
        return Rounding(gamma(self.features + 8), None, self._lost)

    def block(self, rows: slice | Index) -> Any:
        # Samples of a problem are finite and of a safe size: nothing overflows here.
        if self.sparse:
            return self._sparse_block(rows)
        if self.direct:
            return self._differences(about(self.x0[rows], self.centre0, slice(None)))
        costs = self._product_block(rows)
        return costs.clamp_min_(0.0) if is_tensor(costs) else np.maximum(costs, 0.0, out=costs)

    def reduced(self, rows: slice | Index, u: Any = None, v: Any = None) -> Any:
        return less(self.block(rows), u, v) if self.sparse or self.direct else self._product_block(rows, u, v)

    def _sparse_block(self, rows: slice | Index) -> Float:
        product = self.x0[rows] @ self.x1.T
        product = np.asarray(product.toarray() if sp.issparse(product) else product, dtype=np.float64)
        product *= -2.0
        product += self.norms0[rows, None]
        product += self.norms1
        return np.asarray(np.maximum(product, 0.0, out=product))

    def _product_block(self, rows: slice | Index, u: Any = None, v: Any = None) -> Any:
        """Products of ``(-2 x, |x|^2 - u, 1)`` with ``(y, 1, |y|^2 - v)``, some features at a time."""
        first = self.x0[beside(self.x0, rows)]
        norms = self.norms0[beside(self.x0, rows)]
        whole = self.features * self.shape[1] <= _KEPT_VALUES
        # The norms go along with the first features.
        right = self._kept_second if whole else self._second(slice(0, _FEATURES))
        if v is not None:
            # The last row is the columns' own: it is written anew each time.
            right[-1] = self.norms1 - v
        elif whole:
            right[-1] = self.norms1
        left = self._wide(first, self.centre0, slice(0, right.shape[0] - 2), norms if u is None else norms - u, -2.0)
        costs = left @ right
        for start in range(right.shape[0] - 2, self.features, _FEATURES):
            part = slice(start, start + _FEATURES)
            subtract_product(costs, about(first, self.centre0, part), about(self.x1, self.centre1, part).T, 2.0)
        return costs

    def _wide(self, x: Any, centre: Any, part: slice, norms: Any, factor: float) -> Any:
        """Some features about the centre, times a factor, the norms and ones."""
        centred = about(x, centre, part)
        size = centred.shape[1]
        shape = (centred.shape[0], size + 2)
        wide = centred.new_empty(shape) if is_tensor(centred) else np.empty(shape)
        wide[:, :size] = centred
        if factor != 1.0:
            wide[:, :size] *= factor
        wide[:, size], wide[:, size + 1] = (norms, 1.0) if factor != 1.0 else (1.0, norms)
        return wide

    def _second(self, part: slice) -> Any:
        return self._wide(self.x1, self.centre1, part, self.norms1, 1.0).T

    @cached_property
    def _kept_second(self) -> Any:
        """The second cloud as blocks are formed with it, a row for each feature."""
        if self.direct:
            return np.ascontiguousarray(about(self.x1, self.centre1, slice(None)).T)
        return self._second(slice(None))

    def _differences(self, first: Float) -> Float:
        if not has_numba() or self.shape[0] * self.shape[1] * self.features < COMPILED_WORK:
            return np.asarray(cdist(first, self._kept_second.T, "sqeuclidean"))
        from driftfit.transport.kernels.lists import squared_differences  # numba is slow to import

        out = np.empty((len(first), self.shape[1]))
        squared_differences(first, self._kept_second, out)
        return out

    def pairs(self, rows: Index, cols: Index) -> Float:
        """From differences, in float64."""
        if is_tensor(self.x0):
            return self._tensor_pairs(rows, cols)
        costs = np.empty(len(rows))
        if has_numba() and not self.sparse and len(rows) * self.features >= COMPILED_WORK:
            squared_lengths(self.x0, self.x1, rows, cols, self.shift, costs)
            return np.asarray(checked(costs))
        step = max(1, PAIR_VALUES // self.features)
        shift = self.shift if self.apart else None

        def work(piece: slice) -> None:
            for start in range(piece.start, piece.stop, step):
                part = slice(start, min(start + step, piece.stop))
                a, b = self.x0[rows[part]], self.x1[cols[part]]
                difference = a - b if self.sparse else np.subtract(a, b, dtype=np.float64)
                if shift is not None:
                    difference -= shift
                costs[part] = square_norms(difference, 0.0)

        in_threads(work, len(rows), small=len(rows) * self.features < THREADED_VALUES)
        return np.asarray(checked(costs))

    def _tensor_pairs(self, rows: Index, cols: Index) -> Float:
        r, c = beside(self.x0, rows), beside(self.x0, cols)
        costs, apart = np.empty(len(rows)), self.apart
        for part in row_parts((len(rows), self.features), DEVICE_BLOCK_ENTRIES):
            difference = as_double(self.x0[r[part]]).sub_(self.x1[c[part]])
            costs[part] = to_numpy(square_norms(difference.sub_(self.shift) if apart else difference))
        return np.asarray(checked(costs))

    def potential0(self, u: Float) -> Float:
        return np.asarray(u + self.separable[0]) if self.apart else u

    @cached_property
    def separable(self) -> tuple[Float, Float]:
        """What the cost itself has beyond this one: a term for each row and one for each column."""
        if not self.apart:
            return np.zeros(self.shape[0]), np.zeros(self.shape[1])
        first, second = (_along(x, c, 2.0 * self.shift) for x, c in ((self.x0, self.centre0), (self.x1, self.centre1)))
        return first + float(self.shift @ self.shift), -second

    def moved(self, v: Float, other: SquaredDistances) -> Float:
        """A second potential of a table of the same samples about other centres, as one of this table."""
        turn = self.shift - other.shift
        return v if isinstance(turn, float) else np.asarray(v + 2.0 * _along(self.x1, self.centre1, turn))

    def mean(self) -> float:
        if self.sparse:
            return mean_cost(self)
        # About the means the cross terms cancel: no pass over all pairs is needed.
        offset = to_numpy(_mean(self.x0) - _mean(self.x1))
        spread = [float(square_norms(x, _mean(x)).mean()) for x in (self.x0, self.x1)]
        return float(sum(spread) + offset @ offset)


def _quick(x: Any) -> bool:
    return not is_tensor(x) and not sp.issparse(x) and x.shape[1] <= QUICK_FEATURES and has_numba()


def _has_far_samples(table: SquaredDistances) -> bool:
    """Whether some samples lie so far out that products with them drown the costs between the others."""
    norms = np.concatenate([table.norms0, table.norms1])
    return bool(norms.max() > _FAR * np.median(norms))


def square_norms(x: Any, centre: Any = 0.0) -> Any:
    """Squared length of every row about a centre, in float64; a norm reads a tensor once, and writes no squares.

    >>> square_norms(np.array([[3.0, 4.0]])).tolist()
    [25.0]
    """
    if sp.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    if is_tensor(x):
        entries, out = DEVICE_BLOCK_ENTRIES, x.new_empty(x.shape[0], dtype=x.new_empty(0).double().dtype)
    else:
        entries, out = PAIR_VALUES, np.empty(x.shape[0])
    if not is_tensor(x) and has_numba() and x.size >= COMPILED_WORK:
        # The distance from nothing at all.
        nothing, every = np.zeros((1, x.shape[1]), x.dtype), np.arange(x.shape[0])
        squared_lengths(x, nothing, every, np.zeros_like(every), centre, out)
        return out
    for part in row_parts(x.shape, entries):
        centred = about(x[part], centre, slice(None))
        out[part] = centred.norm(dim=1).square() if is_tensor(x) else np.einsum("ij,ij->i", centred, centred)
    return out


def about(x: Any, centre: Any, part: slice) -> Any:
    """Some features of the samples about a centre, in float64."""
    if isinstance(centre, float):
        return as_double(x[:, part])
    # A tensor less a centre in float64 is in float64, without a copy on the way.
    return (x[:, part] if is_tensor(x) else as_double(x[:, part])) - centre[part]


def _along(x: Any, centre: Any, direction: Any) -> Float:
    """``(x - centre) . direction`` for every row."""
    parts = row_parts(x.shape, DEVICE_BLOCK_ENTRIES if is_tensor(x) else PAIR_VALUES)
    return np.concatenate([to_numpy(about(x[part], centre, slice(None)) @ direction) for part in parts])


def _mean(x: Any) -> Any:
    if not is_tensor(x):
        return x.mean(axis=0, dtype=np.float64)
    import torch  # slow to import

    return x.mean(dim=0, dtype=torch.float64)


def _centre(x: Any) -> Any:
    """The median of some samples, rounded to a few bits of their spread: a far sample does not move it."""
    count = min(x.shape[0], _CENTRE_SAMPLES, max(16, _CENTRE_VALUES // x.shape[1]))
    rows = np.unique(np.linspace(0, x.shape[0] - 1, count).astype(np.int64))
    some = as_double(x[beside(x, rows)])
    middle = _median(some)
    away = to_numpy(-least(-abs(some - middle), 1))
    spread = float(np.median(away)) or float(away.max())
    if spread > 0.0:
        quantum = 2.0 ** (math.frexp(spread)[1] - _CENTRE_BITS)
        middle = (middle / quantum).round() * quantum
    return middle


def _median(some: Any) -> Any:
    """The median of each column, where the samples are; of two middle ones a tensor takes the lower."""
    return some.median(dim=0).values if is_tensor(some) else np.median(some, axis=0)


def squared_lengths(
    x0: NDArray[Any], x1: NDArray[Any], rows: Index, cols: Index, shift: Any, out: NDArray[np.float64]
) -> None:
    """Squared lengths of ``x0[rows] - x1[cols] - shift``, in float64.

    >>> found = np.empty(1)
    >>> squared_lengths(np.array([[3.0, 4.0]]), np.zeros((1, 2)), np.array([0]), np.array([0]), 0.0, found)
    >>> found.tolist()
    [25.0]
    """
    from driftfit.transport.kernels.lists import pair_differences  # numba is slow to import

    every = np.zeros(x0.shape[1]) + shift

    def work(piece: slice) -> None:
        pair_differences(x0, x1, rows[piece], cols[piece], every, out[piece])

    in_threads(work, len(rows), small=len(rows) * x0.shape[1] < THREADED_VALUES)


@dataclass(eq=False)
class MovedTable(CostTable):
    """The costs of ``plain`` without its matrix product, which ``held`` has: a `CostTable` for tensors.

    With ``s`` from the second centre to the first, ``|x - y|^2`` is ``|(x - c0) - (y - c1)|^2``, which is held, plus
    ``2 s.(x - c0) + |s|^2`` for the row, less ``2 s.(y - c1)`` for the column.

    >>> import torch
    >>> x0, x1 = torch.tensor([[0.0], [3.0]]).double(), torch.tensor([[5.0], [6.0]]).double()
    >>> held = HeldTable.of(SquaredDistances.of(x0, x1, apart=True))
    >>> MovedTable(SquaredDistances.of(x0, x1), held).block(slice(0, 2)).tolist()
    [[25.0, 36.0], [4.0, 9.0]]
    """

    plain: SquaredDistances
    held: HeldTable

    @property
    def apart(self) -> SquaredDistances:
        table = self.held.table
        if not isinstance(table, SquaredDistances):
            raise TypeError(f"the costs that are held must be squared distances, got {type(table).__name__}")
        return table

    @property
    def shape(self) -> tuple[int, int]:
        return self.plain.shape

    @property
    def home(self) -> Any:
        return self.held.matrix

    @cached_property
    def _between(self) -> float:
        """Squared distance of the centres."""
        return float(self.apart.shift @ self.apart.shift)

    @cached_property
    def _terms0(self) -> Any:
        return beside(self.home, self.apart.separable[0])

    @cached_property
    def _terms1(self) -> Any:
        return beside(self.home, self.apart.separable[1])

    @property
    def rounding(self) -> Rounding:
        # With g for a sum over the features, a term is off by g times both squared lengths, of which twice the product
        # is no more, and a row's by g times the distance of the centres; adding them up by 9 units of all these.
        g, table, held = 2.0 * gamma(self.plain.features + 16), self.apart, self.apart.rounding
        rows = held.rows + g * (table.norms0 + 2.0 * self._between)
        return Rounding(0.0, rows, held.columns + g * (table.norms1 + 2.0 * self._between), gamma(8))

    @property
    def pair_rounding(self) -> Rounding:
        return self.plain.pair_rounding

    def block(self, rows: slice | Index) -> Any:
        return self.reduced(rows)

    def reduced(self, rows: slice | Index, u: Any = None, v: Any = None) -> Any:
        some = beside(self.home, rows)
        first = self._terms0[some] if u is None else self._terms0[some] - u
        costs = self.held.matrix[some] + first[:, None]
        costs += self._terms1 if v is None else self._terms1 - v
        return costs

    def pairs(self, rows: Index, cols: Index) -> Float:
        return self.plain.pairs(rows, cols)

    def mean(self) -> float:
        return self.plain.mean()

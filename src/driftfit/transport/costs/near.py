"""Squared distances of few features with trees of both clouds: who is near is found without a look at all pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.arrays import in_threads
from driftfit.transport.costs.squared import SquaredDistances, about
from driftfit.transport.costs.table import OtherTable

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Samples of a leaf of a search, at most, and of a box whose mean stands for them.
_LEAF, _GROUP = 24, 4
# Where searches look at more than this share of the samples, a pass over all of them is quicker; searches to try.
_LOOKED_AT, _TRIED = 0.15, 1000
# Searches from which a second core is worth its start.
_THREADED = 2000


@dataclass(eq=False)
class SampleTree:
    """A cloud cut into boxes; needs numba.

    >>> tree = SampleTree(np.array([[0.0], [1.0], [5.0]]))
    >>> columns, values = tree.nearest(np.array([[4.0]]), np.zeros(3), 1)
    >>> columns.tolist(), values.tolist()
    ([[2]], [[1.0]])
    """

    samples: Float
    # What a step along each feature is worth: costs differ by the product of both sides.
    scale: Float | None = None
    searches: int = field(default=0, init=False)
    looks: int = field(default=0, init=False)
    # Where the samples of a group begin in the order of the tree.
    _groups: Index = field(init=False, repr=False)
    _boxes: tuple[Any, ...] = field(init=False, repr=False)
    _slope: Float = field(init=False, repr=False)
    _least: Float = field(init=False, repr=False)
    _ordered: Float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from driftfit.transport.kernels.pricing import cut_boxes  # numba is slow to import

        depth, searched = (max(0, int(np.ceil(np.log2(len(self.samples) / size)))) for size in (_GROUP, _LEAF))
        order, *boxes = cut_boxes(
            self.samples, depth, np.ones(self.samples.shape[1]) if self.scale is None else self.scale
        )
        self._groups = boxes[0][2**depth - 1 :]
        self._boxes = order, *(side[: 2 ** (searched + 1) - 1] for side in boxes)
        self._ordered = np.ascontiguousarray(self.samples[self._boxes[0]].T)
        self._slope = np.zeros((len(self._boxes[1]), self.samples.shape[1]))
        self._least = np.full(len(self._boxes[1]), -np.inf)

    def means(self, values: Float, weights: Float) -> tuple[Float, Float]:
        """The means of values, a row for each sample, over small groups that lie together; weights of the groups."""
        order = self._boxes[0]
        ordered = weights[order]
        mass = np.add.reduceat(ordered, self._groups)
        means = np.add.reduceat(ordered * values[order].T, self._groups, axis=1) / mass
        return np.ascontiguousarray(means.T), mass

    @property
    def order(self) -> Index:
        """The samples, those of a group together."""
        return np.asarray(self._boxes[0])

    @property
    def most_looks(self) -> float:
        """Samples that a search may look at before a pass over all of them is quicker."""
        return _LOOKED_AT * len(self.samples)

    @property
    def pays(self) -> bool:
        """Whether searches leave most samples out."""
        return self.looks <= self.most_looks * (self.searches + _TRIED)

    def look(self, prices: Float) -> None:
        """Learn the prices. Searches at higher ones are right too, and take a little longer."""
        from driftfit.transport.kernels.pricing import lean_prices  # numba is slow to import

        lean_prices(prices, self._boxes, self._ordered, self._slope, self._least)

    def list_nearest(
        self, queries: Float, rows: Index, prices: Float, wanted: int, into: tuple[Any, ...], most: Float | None = None
    ) -> None:
        """For some rows of the queries, the samples of least squared distance plus price, after `look`.

        Only those below ``most`` of the query, where it is given.
        ``into`` gets their numbers, their distances, their values, how many they are, and the largest value among them.
        """
        from driftfit.transport.kernels.pricing import nearest  # numba is slow to import

        below = np.full(len(queries), np.inf) if most is None else most

        search: Any = nearest

        def part(piece: slice) -> int:
            return int(search(queries, rows[piece], prices, *self.arrays, wanted, below, *into))

        looks = in_threads(part, len(rows), small=len(rows) < _THREADED)
        self.searches, self.looks = self.searches + len(rows), self.looks + sum(looks)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops need of it."""
        return self._boxes, self._ordered, self._slope, self._least

    def nearest(self, queries: Float, prices: Float, wanted: int, most: Float | None = None) -> tuple[Index, Float]:
        """For each query the samples of least ``|x - y|^2 + price``, in order of that value, and the values.

        Those of samples that are not below ``most`` of the query are infinite.
        """
        n, wanted = len(queries), min(wanted, len(self.samples))
        idx, value = np.zeros((n, wanted), np.int32), np.full((n, wanted), np.inf)
        self.look(prices)
        into = idx, np.empty((n, wanted)), value, np.zeros(n, np.int32), np.empty(n)
        self.list_nearest(queries, np.arange(n), prices, wanted, into, most)
        return idx.astype(np.int64), value


@dataclass(frozen=True, eq=False)
class NearTable(OtherTable):
    """A `CostTable` of few features whose least costs are found by trees."""

    table: SquaredDistances
    quick = True

    @cached_property
    def first(self) -> Float:
        return np.ascontiguousarray(about(self.table.x0, self.table.centre0, slice(None)))

    @cached_property
    def second(self) -> Float:
        return np.ascontiguousarray(about(self.table.x1, self.table.centre1, slice(None)))

    @cached_property
    def rows(self) -> SampleTree:
        return SampleTree(self.first, self.second.std(axis=0))

    @cached_property
    def columns(self) -> SampleTree:
        return SampleTree(self.second, self.first.std(axis=0))

    @property
    def trees(self) -> Any:
        return self if self.columns.pays and self.rows.pays else None

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

# Samples of a leaf, at most.
_LEAF = 12
# Where searches look at more than this share of the samples, a pass over all of them is quicker; searches to try.
_LOOKED_AT, _TRIED = 0.15, 1000
# Searches from which a second core is worth its start.
_THREADED = 2000


@dataclass(eq=False)
class SampleTree:
    """A cloud cut into boxes; needs numba.

    >>> tree = SampleTree(np.array([[0.0], [1.0], [5.0]]))
    >>> columns, costs, _ = tree.nearest(np.array([[4.0]]), np.zeros(3), 1)
    >>> columns.tolist(), costs.tolist()
    ([[2]], [[1.0]])
    """

    samples: Float
    depth: int = field(init=False)
    searches: int = field(default=0, init=False)
    looks: int = field(default=0, init=False)
    _boxes: tuple[Any, ...] = field(init=False, repr=False)
    _slope: Float = field(init=False, repr=False)
    _least: Float = field(init=False, repr=False)
    _ordered: Float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from driftfit.transport.kernels.pricing import cut_boxes  # numba is slow to import

        self.depth = max(0, int(np.ceil(np.log2(len(self.samples) / _LEAF))))
        self._boxes = cut_boxes(self.samples, self.depth)
        self._ordered = np.ascontiguousarray(self.samples[self._boxes[0]].T)
        self._slope = np.zeros((len(self._boxes[1]), self.samples.shape[1]))
        self._least = np.full(len(self._boxes[1]), -np.inf)

    def means(self, weights: Float) -> tuple[Float, float, Float]:
        """The means of the smallest boxes, the mean squared distance of the samples from theirs, the boxes' weights."""
        order, start = self._boxes[:2]
        first = start[2**self.depth - 1 :]
        counts = np.diff(np.append(first, len(order)))
        ordered = weights[order]
        mass = np.add.reduceat(ordered, first)
        # Samples of a box without weight count alike.
        ordered = np.where(np.repeat(mass, counts) > 0, ordered, 1.0)
        means = np.add.reduceat(ordered * self._ordered, first, axis=1) / np.add.reduceat(ordered, first)
        apart = np.square(self._ordered - np.repeat(means, counts, axis=1)).sum(axis=0)
        return np.ascontiguousarray(means.T), float(weights[order] @ apart / weights.sum()), mass

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

    def list_nearest(self, queries: Float, rows: Index, prices: Float, wanted: int, into: tuple[Any, ...]) -> None:
        """For some rows of the queries, the samples of least squared distance plus price, after `look`.

        ``into`` gets their numbers, their distances, their values, how many they are, and the largest value among them.
        """
        from driftfit.transport.kernels.pricing import nearest  # numba is slow to import

        def part(piece: slice) -> int:
            return int(
                nearest(
                    queries, rows[piece], prices, self._boxes, self._ordered, self._slope, self._least, wanted, *into
                )
            )

        looks = in_threads(part, len(rows), small=len(rows) < _THREADED)
        self.searches, self.looks = self.searches + len(rows), self.looks + sum(looks)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops need of it."""
        return self._boxes, self._ordered, self._slope, self._least

    def nearest(self, queries: Float, prices: Float, wanted: int) -> tuple[Index, Float, Float]:
        """For each query: numbers and distances of the samples of least value, and the largest value listed."""
        n, wanted = len(queries), min(wanted, len(self.samples))
        idx, cost, tau = np.zeros((n, wanted), np.int32), np.zeros((n, wanted)), np.empty(n)
        into = idx, cost, np.empty((n, wanted)), np.zeros(n, np.int32), tau
        self.look(prices)
        self.list_nearest(queries, np.arange(n), prices, wanted, into)
        return idx.astype(np.int64), cost, tau


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
        return SampleTree(self.first)

    @cached_property
    def columns(self) -> SampleTree:
        return SampleTree(self.second)

    @property
    def pays(self) -> bool:
        """Whether searches in both trees leave most samples out."""
        return self.columns.pays and self.rows.pays

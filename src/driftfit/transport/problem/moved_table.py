"""`MovedTable`: squared distances from those about other centres, by a term of each row and each column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels.arrays import beside
from driftfit.transport.problem.cost_table import HeldTable, Rounding, gamma
from driftfit.transport.problem.squared_distances import SquaredDistances

__all__ = ["MovedTable"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(eq=False)
class MovedTable:
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

    quick = False

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

    def potential0(self, u: Float) -> Float:
        return u

    def mean(self) -> float:
        return self.plain.mean()

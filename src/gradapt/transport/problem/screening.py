"""Which pairs may cost less than two potentials allow: a float32 product says, and counts its own rounding.

For squared distances of many features, where a float64 product of all pairs would take several times as long. No
pair that costs less is missed; the few that float32 leaves undecided are for the caller to compute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.transport.problem.cost_table import BLOCK_ENTRIES, gamma, row_parts
from gradapt.transport.problem.squared_distances import SquaredDistances, about

__all__ = ["suspects"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Unit roundoff of float32, and features of a float32 product that is trusted.
_UNIT32, _FEATURES32 = 2.0**-24, 2048
# Entries of a block that is summed over several products.
_WIDE_ENTRIES = 2**24
# Where more than this share of pairs stays undecided, or so many for each column, the way does not pay.
_UNDECIDED, _UNDECIDED_EACH = 0.02, 64


def suspects(table: SquaredDistances, rows: Index, u: Float, v: Float) -> tuple[Index, Index] | None:
    """Pairs of ``rows`` with all columns that may cost less than ``u + v``: all that do and some others.

    ``None`` where rounding leaves too many. ``u`` has an entry for each of ``rows``. A product of ``k`` terms is off
    by at most ``gamma(k)`` times the sum of their sizes; that is added to both potentials, so that what
    float32 then shows as positive is positive.

    Examples
    --------
    >>> table = SquaredDistances(np.array([[0.0], [3.0]]), np.array([[1.0], [5.0]]), 0.0, 0.0, False)
    >>> [side.tolist() for side in suspects(table, np.arange(2), np.zeros(2), np.array([2.0, 3.0]))]
    [[0], [0]]
    """
    size, norms0, norms1 = table.features, table.norms0[rows], table.norms1
    g = 2.5 * gamma(min(size, _FEATURES32) + 32, _UNIT32)
    largest = max(float(np.abs(values).max()) for values in (norms0, norms1, u, v)) or 1.0
    scale = 2.0 ** (math.frexp(largest)[1] // 2)
    # What float32 loses below its range is counted too.
    a, b = (
        (norms - w - g * (norms + np.abs(w))) / scale**2 - size * 2.0**-120 for norms, w in ((norms0, u), (norms1, v))
    )
    parts = [slice(at, min(at + _FEATURES32, size)) for at in range(0, size, _FEATURES32)]
    kept = _side(about(table.x1, table.centre1, parts[0]), scale, b, 1.0) if len(parts) == 1 else None
    looked_at, at_rows, at_cols = 0, [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for block in row_parts((len(a), len(b)), BLOCK_ENTRIES if kept is not None else _WIDE_ENTRIES):
        first, total = table.x0[rows[block]], _Sum()
        for part in parts:
            # The terms of rows and columns go along with the last features.
            terms = (a[block], b) if part.stop == size else (None, None)
            right = _side(about(table.x1, table.centre1, part), scale, terms[1], 1.0) if kept is None else kept
            total.add(_side(about(first, table.centre0, part), scale, terms[0], -2.0) @ right.T)
        r, c = np.nonzero(total.value <= 0.0)
        at_rows.append(rows[block][r])
        at_cols.append(c)
        looked_at += (block.stop - block.start) * len(b)
        if sum(map(len, at_rows)) > _UNDECIDED * looked_at + _UNDECIDED_EACH * len(b):
            return None
    return np.concatenate(at_rows), np.concatenate(at_cols)


class _Sum:
    """One float32 product as it is, several added in float64."""

    value: Any = None

    def add(self, product: NDArray[np.float32]) -> None:
        self.value = product if self.value is None else np.add(self.value, product, dtype=np.float64)


def _side(x: Float, scale: float, term: Float | None, factor: float) -> NDArray[np.float32]:
    """Features, scaled; with a term for each sample and ones, in the order that the side of the product wants."""
    size = x.shape[1]
    out = np.ones((len(x), size + (0 if term is None else 2)), np.float32)
    np.multiply(x, factor / scale, out=out[:, :size], casting="same_kind")
    if term is not None:
        out[:, size if factor < 0 else size + 1] = term
    return out

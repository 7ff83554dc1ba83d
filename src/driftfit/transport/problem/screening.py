"""Which pairs may cost less than two potentials allow: a float32 product says, and counts its own rounding.

For squared distances of many features, where a float64 product of all pairs would take several times as long. No
pair that costs less is missed; the few that float32 leaves undecided are for the caller to compute.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels import has_numba
from driftfit.transport.kernels.threads import THREADED, in_threads
from driftfit.transport.problem.cost_table import gamma
from driftfit.transport.problem.float32_products import Products
from driftfit.transport.problem.quantised import Quantised

__all__ = ["suspects", "turned"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Where more than this share of pairs stays undecided, or so many for each column, the way does not pay.
_UNDECIDED, _UNDECIDED_EACH = 0.02, 64


def suspects(products: Products, u: Float, v: Float) -> tuple[Index, Index] | None:
    """Pairs that may cost less than ``u + v``, potentials of the table's cost: all that do and some others.

    ``None`` where rounding leaves too many. A row with ``u`` of minus infinity is not looked at.

    Examples
    --------
    >>> from driftfit.transport.problem.squared_distances import SquaredDistances
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
    from driftfit.transport.kernels.pricing_loops import places_below  # numba is slow to import

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

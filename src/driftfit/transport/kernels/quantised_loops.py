"""Compiled loops over costs of one byte: bounds from below that take a fraction of the memory's time to read.

A row's costs are ``low + step * code``, rounded down to a code of 0 to 255. Sums of codes and prices are in float32,
and whoever compares them counts their rounding.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from driftfit.transport.kernels import UNCOUNTED

__all__ = ["CODE", "ROUNDING", "code_minima", "count_below", "in_range", "quantise_rows", "too_coarse"]

# A code is off by this share of a step at most: a float32 quotient below 256 is off by far less.
_MARGIN = 2.0**-6
# Costs that differ by less than this share of their size are too close for their steps to be told apart.
_ALIKE = 1e-12
_LANES = 256
# Codes leave a step of a cost open, and a bit; their sums with prices are off by less than this share of their terms.
CODE, ROUNDING = 1.0 + 2.0**-4, 2.0**-20
# Where codes leave more than one lane of so many, they are too coarse: a look at the costs themselves is quicker.
_MOST_LANES = 16


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"}, **UNCOUNTED)
def _ends(costs, least, most):  # type: ignore[no-untyped-def]
    """The least and the largest of some costs, lane by lane."""
    for q in range(least.size):
        least[q] = most[q] = costs[0]
    for first in range(0, costs.size, least.size):
        some = costs[first : first + least.size]
        for q in range(some.size):
            least[q] = some[q] if some[q] < least[q] else least[q]
            most[q] = some[q] if some[q] > most[q] else most[q]


@njit(cache=True, nogil=True, **UNCOUNTED)
def in_range(step):  # type: ignore[no-untyped-def]
    """Whether sums of codes of this step are well inside the range of float32; others are not to be read."""
    return 1e-30 < step < 1e30


@njit(cache=True, nogil=True, **UNCOUNTED)
def _encode(costs, base, scale, codes):  # type: ignore[no-untyped-def]
    for j in range(costs.size):
        codes[j] = np.uint8(np.int32(np.float32(costs[j] - base) * scale))


@njit(cache=True, nogil=True)
def quantise_rows(matrix, factor, codes, low, step):  # type: ignore[no-untyped-def]
    """Codes of ``factor`` times a matrix: a cost is ``low + step * code`` and at most a step and a bit more."""
    least, most = np.empty(_LANES, matrix.dtype), np.empty(_LANES, matrix.dtype)
    for i in range(matrix.shape[0]):
        _ends(matrix[i], least, most)
        smallest, largest = least.min(), most.max()
        base = smallest if factor > 0.0 else largest
        each = (np.float64(largest) - np.float64(smallest)) / 255.0
        size = max(abs(np.float64(smallest)), abs(np.float64(largest)))
        if not (in_range(each) and in_range(abs(factor) * each) and each > _ALIKE * size):
            # Out of the range of float32, or all but alike: one code for all, that says next to nothing.
            codes[i], low[i], step[i] = 0, min(factor * smallest, factor * largest), abs(factor) * 255.0 * each
            continue
        _encode(matrix[i], base, np.float32(np.copysign(1.0 / each, factor)), codes[i])
        low[i], step[i] = factor * base - _MARGIN * abs(factor) * each, abs(factor) * each


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"}, **UNCOUNTED)
def code_minima(codes, step, price, minima):  # type: ignore[no-untyped-def]
    """``minima[q]``: the least ``step * code + price`` of columns ``q``, ``q + w``, ...; ``w`` lanes, in float32."""
    m, w = price.size, minima.size
    for q in range(w):
        minima[q] = np.float32(np.inf)
    for first in range(0, m, w):
        some, prices = codes[first : first + w], price[first : first + w]
        for q in range(some.size):
            value = step * np.float32(some[q]) + prices[q]
            minima[q] = value if value < minima[q] else minima[q]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"}, **UNCOUNTED)
def count_below(values, most):  # type: ignore[no-untyped-def]
    """How many values are not above the largest that is meant."""
    count = np.int32(0)
    for k in range(values.size):
        count += np.int32(values[k] <= most)
    return count


@njit(cache=True, nogil=True, **UNCOUNTED)
def too_coarse(minima, gate):  # type: ignore[no-untyped-def]
    """Whether so many lanes may hold something below the gate that codes do not help."""
    return _MOST_LANES * count_below(minima, gate) > minima.size

"""Wasserstein distances of laws from samples: noise taken out, with an interval, over all samples or class by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.selection.weighted import Weights
from driftfit.transport import wasserstein

_FEWEST = 10
_RESAMPLES = 20
_MOST_ROWS = 400

Halved = tuple[NDArray[np.float64], NDArray[np.float64]]
HalvedWeights = tuple[Weights, Weights]
_EVEN: tuple[HalvedWeights, HalvedWeights] = ((None, None), (None, None))


@dataclass(frozen=True)
class DistanceEstimate:
    """``W_2`` of two laws, estimated from a sample of each.

    Attributes
    ----------
    value : float
        The distance of the samples with that between halves of one sample taken out.
    low, high : float
        A 95 % interval by resampling: a heuristic, for `driftfit.theory.wasserstein_upper` a proven upper bound.
    plug_in : float
        The distance of the samples as it is: about 6 for two samples of 20 standard normal variables, whose laws are
        one.
    """

    value: float
    low: float
    high: float
    plug_in: float


def debiased_wasserstein(x: Any, y: Any, *, n_resamples: int = _RESAMPLES, seed: int = 0) -> DistanceEstimate:
    """``W_2`` of two laws: ``W^2`` between halves of the two samples, less the mean of ``W^2`` between halves of each.

    Parameters
    ----------
    x, y : arrays with one row per sample
        At most 400 rows of a half are used.
    n_resamples : int
    seed : int

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 200, 20))
    >>> found = debiased_wasserstein(x, y)
    >>> found.plug_in > 4, found.value < 1, found.low
    (True, True, 0.0)
    """
    a, b = (np.asarray(part, dtype=np.float64).reshape(len(part), -1) for part in (x, y))
    if min(len(a), len(b)) < 2 * _FEWEST:
        raise InputError(f"debiased_wasserstein needs {2 * _FEWEST} rows of each sample, got {len(a)} and {len(b)}")
    rng = np.random.default_rng(derive_seed(seed, "debiased"))
    squares = []
    for number in range(n_resamples + 1):
        halves = [_halves(part, rng) for part in (a, b)]
        if number:
            # Rows are drawn again within their half, so that no row is compared with itself.
            halves = [_again(pair, rng) for pair in halves]
        squares.append(excess_square(halves[0], halves[1]))
    # The first is left out of the interval: it is not resampled.
    low, high = np.quantile(squares[1:], [0.025, 0.975])
    centre = float(np.mean(squares[1:]))
    value, low, high = (float(np.sqrt(max(square, 0.0))) for square in (centre, low, high))
    size = min(len(a), len(b), _MOST_ROWS)
    plug_in = wasserstein(rng.permutation(a)[:size], rng.permutation(b)[:size], 2.0)
    return DistanceEstimate(value, low, high, plug_in)


def class_distances(
    x: Any, x_codes: NDArray[np.int64], y: Any, y_codes: NDArray[np.int64], *, seed: int = 0
) -> dict[int, DistanceEstimate]:
    """`debiased_wasserstein` of each class that has enough samples on both sides; no class counts as the next one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, codes = rng.normal(size=(200, 2)), np.arange(200) % 2
    >>> found = class_distances(x, codes, x + np.outer(codes, [3.0, 0.0]), codes)
    >>> round(found[1].value), found[0].low
    (3, 0.0)
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    found = {}
    for code in np.intersect1d(x_codes, y_codes).tolist():
        one, other = a[x_codes == code], b[y_codes == code]
        if min(len(one), len(other)) >= 2 * _FEWEST:
            found[int(code)] = debiased_wasserstein(one, other, seed=seed)
    return found


def _again(halves: Halved, rng: np.random.Generator) -> Halved:
    one, other = (half[rng.integers(len(half), size=len(half))] for half in halves)
    return one, other


def _halves(rows: NDArray[np.float64], rng: np.random.Generator) -> Halved:
    order = rng.permutation(len(rows))
    middle = len(rows) // 2
    return rows[order[:middle]][:_MOST_ROWS], rows[order[middle : 2 * middle]][:_MOST_ROWS]


def excess_square(a: Halved, b: Halved, weights: tuple[HalvedWeights, HalvedWeights] = _EVEN) -> float:
    """Mean ``W_2^2`` between halves of two samples less that between the halves of each: noise taken out.

    All halves are cut to the size of the smallest, because noise depends on it.

    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> round(excess_square((x[::2], x[1::2]), (x[::2] + 3.0, x[1::2] + 3.0)), 3)
    9.0
    """
    size = min(len(half) for half in (*a, *b))
    (a0, a1), (b0, b1) = ([half[:size] for half in pair] for pair in (a, b))
    (u0, u1), (v0, v1) = ([None if w is None else w[:size] for w in pair] for pair in weights)
    noise = wasserstein(a0, a1, 2.0, u0, u1) ** 2 + wasserstein(b0, b1, 2.0, v0, v1) ** 2
    return float(0.5 * (wasserstein(a0, b1, 2.0, u0, v1) ** 2 + wasserstein(b0, a1, 2.0, v0, u1) ** 2 - noise))

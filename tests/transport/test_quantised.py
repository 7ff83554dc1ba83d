"""Costs of one byte: bounds that hold, and passes that find with them what they find without."""

from __future__ import annotations

import numpy as np
import pytest

from driftfit.transport.costs.products import NO_CODES, Quantised
from driftfit.transport.kernels.pricing import places_below
from driftfit.transport.solvers.lists import CandidateLists, StoredCosts, fill_lists

KINDS = ["normal", "a far column", "alike", "all but alike", "ties", "tiny", "huge"]


def costs_of(kind: str, n: int = 40, m: int = 700) -> np.ndarray:
    rng = np.random.default_rng(0)
    costs = rng.standard_normal((n, m))
    if kind == "a far column":
        costs[:, 5] = 1e9
    elif kind == "alike":
        costs[:] = 3.5
    elif kind == "all but alike":
        costs = 1.0 + 1e-15 * costs
    elif kind == "ties":
        costs = costs.round()
    elif kind == "tiny":
        costs *= 1e-300
    elif kind == "huge":
        costs *= 1e300
    return costs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1.0, -2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_bound_their_costs(kind: str, factor: float, dtype: type) -> None:
    with np.errstate(over="ignore"):
        matrix = costs_of(kind).astype(dtype)
    matrix[~np.isfinite(matrix)] = 0.0
    found = Quantised.of(matrix, factor)
    costs = factor * matrix.astype(np.float64)
    low, step = found.low[:, None], found.step[:, None]
    assert (low + step * found.codes <= costs).all()
    assert (costs <= low + step * (found.codes + 1.0 + 2.0**-5)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1.0, -2.0])
def test_lists_hold_all_that_is_below_their_bound(kind: str, factor: float) -> None:
    matrix, rng = costs_of(kind), np.random.default_rng(1)
    provider = StoredCosts(matrix, np.zeros(matrix.shape[1]), factor)
    lists, rows = CandidateLists.empty(*matrix.shape, 32), np.arange(len(matrix))
    for prices in (np.zeros(matrix.shape[1]), rng.random(matrix.shape[1]), 1e9 * rng.random(matrix.shape[1])):
        provider.k_best(rows, prices, lists)
        values = factor * matrix + prices
        for row in rows:
            idx = lists.idx[row, : lists.length[row]]
            assert len(set(idx.tolist())) == len(idx) >= lists.wanted
            np.testing.assert_array_equal(lists.cost[row, : len(idx)], factor * matrix[row, idx])
            np.testing.assert_array_equal(lists.floor[row, : len(idx)], np.sort(values[row, idx]))
            assert np.delete(values[row], idx).min() >= lists.tau[row] >= lists.floor[row, len(idx) - 1]


def test_lists_with_codes_are_those_without() -> None:
    # Where both bounds agree, so do the columns below them.
    matrix, prices = costs_of("normal"), np.random.default_rng(2).random(700)
    rows, found = np.arange(len(matrix)), []
    for codes in (NO_CODES, Quantised.of(matrix, 1.0)):
        lists = CandidateLists.empty(*matrix.shape, 32)
        fill_lists(matrix, 1.0, rows, rows, prices, lists, codes)
        found.append(lists)
    for row in rows:
        common = int(min(lists.length[row] for lists in found))
        np.testing.assert_array_equal(*(lists.idx[row, : min(common, lists.wanted)] for lists in found))


@pytest.mark.parametrize("kind", KINDS[:5])
def test_no_place_below_is_missed(kind: str) -> None:
    matrix, rng = costs_of(kind).astype(np.float32), np.random.default_rng(3)
    codes = Quantised.of(matrix, -2.0)
    a, b = 3.0 * rng.random(len(matrix)), 3.0 * rng.random(matrix.shape[1])
    a[7] = np.inf
    values = -2.0 * matrix.astype(np.float64) + b
    for shift in (0.0, np.quantile(values, 0.01)):
        wanted = np.nonzero(values - shift <= -a[:, None])
        for given in (NO_CODES, codes):
            rows, cols = np.empty(matrix.size, np.int64), np.empty(matrix.size, np.int64)
            count = places_below(matrix, -2.0, given.arrays, a, b - shift, rows, cols)
            order = np.lexsort((cols[:count], rows[:count]))
            np.testing.assert_array_equal(rows[:count][order], wanted[0])
            np.testing.assert_array_equal(cols[:count][order], wanted[1])


def test_rows_whose_codes_are_too_coarse_are_given_up() -> None:
    # One far column takes all codes of a row for itself; what is given belongs to others and stays as it is.
    matrix = costs_of("a far column")
    given = Quantised.of(matrix, 1.0)
    provider = StoredCosts(matrix, np.zeros(matrix.shape[1]), given=given)
    provider.k_best(np.arange(3), np.zeros(matrix.shape[1]), CandidateLists.empty(*matrix.shape, 32))
    assert np.isinf(provider.quantised.step).nonzero()[0].tolist() == [0, 1, 2]
    assert np.isfinite(given.step).all()

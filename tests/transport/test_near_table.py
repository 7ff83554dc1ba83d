"""Searches in trees find what a look at all samples finds, at any prices."""

from __future__ import annotations

import numpy as np
import pytest

from driftfit.transport import Exact, Problem, solve
from driftfit.transport.costs import near as near_table
from driftfit.transport.costs.near import NearTable, SampleTree
from driftfit.transport.costs.passes import least_pairs, tighten
from driftfit.transport.costs.squared import SquaredDistances
from driftfit.transport.solvers import exact
from driftfit.transport.solvers.lists import CandidateLists, TreeCosts

PRICES = ["none", "random", "steep", "with a far one"]


def clouds(n: int = 500, m: int = 400, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((m, d)) * [5.0, 1.0, 1e-9][:d]


def prices_of(kind: str, x: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(5)
    if kind == "none":
        return np.zeros(len(x))
    prices = rng.standard_normal(len(x)) if kind != "steep" else x @ rng.standard_normal(x.shape[1]) * 20
    if kind == "with a far one":
        prices[3] = 1e9
    return prices


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("wanted", [1, 7, 400])
def test_nearest_is_what_a_look_at_all_finds(kind: str, wanted: int) -> None:
    x0, x1 = clouds()
    prices = prices_of(kind, x1)
    values = np.square(x0[:, None] - x1).sum(axis=2) + prices
    tree, best = SampleTree(x1), np.sort(values, axis=1)[:, :wanted]
    found, least = tree.nearest(x0, prices, wanted)
    np.testing.assert_allclose(least, best, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(values, found, axis=1), best, rtol=1e-12, atol=1e-12)
    assert all(len(set(row)) == wanted for row in found.tolist())
    # A search that ends at a bound finds what is below it, and nothing else.
    most = best[:, wanted // 2] + 1e-9 * np.abs(best[:, wanted // 2])
    _, below = tree.nearest(x0, prices, wanted, most)
    np.testing.assert_allclose(below, np.where(least < most[:, None], least, np.inf), rtol=1e-12, atol=1e-12)


def test_prices_may_rise_between_searches() -> None:
    x0, x1 = clouds()
    provider = TreeCosts(NearTable(SquaredDistances(x0, x1, 0.0, 0.0, True)))
    lists, prices = CandidateLists.empty(500, 400, 16), prices_of("random", x1)
    for _ in range(5):
        rows = np.random.default_rng(1).integers(0, 500, 3)
        provider.k_best(rows, prices, lists)
        values = np.sort(np.square(x0[rows, None] - x1).sum(axis=2) + prices, axis=1)
        np.testing.assert_allclose(lists.tau[rows], values[:, lists.wanted - 1], rtol=1e-12)
        prices += np.random.default_rng(2).random(400)


def test_transforms_and_pairs_are_those_of_all_pairs() -> None:
    x0, x1 = clouds()
    plain = SquaredDistances(x0, x1, 0.0, 0.0, True)
    v = prices_of("random", x1)
    for ours, reference in zip(tighten(NearTable(plain), v), tighten(plain, v), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-12, atol=1e-12)
    # Loose potentials: tight pairs would be tied.
    u, v = tighten(plain, v)[0] - np.random.default_rng(3).random(500), v - np.random.default_rng(4).random(400)
    for limit in (None, 0.5):
        (found, lowest), (pairs, least) = (least_pairs(table, u, v, 4, limit) for table in (NearTable(plain), plain))
        assert found.tolist() == pairs.tolist()
        np.testing.assert_allclose(np.minimum(lowest, limit or np.inf), np.minimum(least, limit or np.inf), atol=1e-12)


def test_trees_that_look_at_most_samples_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_table, "_TRIED", 0)
    x0, x1 = clouds()
    tree = SampleTree(x1)
    tree.nearest(x0, np.zeros(400), 400)
    assert not tree.pays
    tree = SampleTree(x1)
    tree.nearest(x0, np.zeros(400), 1)
    assert tree.pays


@pytest.mark.parametrize("kind", ["circles", "stretched", "weighted", "unequal"])
def test_whole_problems_by_trees(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, m, weights = 1500, 1400 if kind == "unequal" else 1500, None
    x0, x1 = rng.standard_normal((n, 2)), rng.standard_normal((m, 2))
    if kind == "circles":
        x0, x1 = (r * x / np.linalg.norm(x, axis=1, keepdims=True) for r, x in ((1, x0), (2, x1)))
    elif kind == "stretched":
        x0, x1 = x0 * [100, 1], x1 * [1, 100]
    elif kind == "weighted":
        weights = rng.random(n) + 0.01
    problem = Problem.of(x0, x1, weights)
    plan = solve(problem, Exact(device="cpu"))
    monkeypatch.setattr(exact, "_NEAR_FROM", 10_000)
    plain = solve(problem, Exact(device="cpu"))
    assert plan.certificate.proves_optimal()
    assert plan.cost == pytest.approx(plain.cost, rel=1e-12)

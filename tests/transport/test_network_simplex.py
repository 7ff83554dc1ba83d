"""The network simplex on its own: optimal, whatever the order it begins with and however pairs are added."""

from __future__ import annotations

import numpy as np
import ot
import pytest

from driftfit.errors import SolverError

pytest.importorskip("numba")
network_simplex = pytest.importorskip("driftfit.transport.solvers.simplex")


def costs_of(kind: str, n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "ties":
        return rng.integers(0, 3, (n, m)).astype(float)
    if kind == "zero":
        return np.zeros((n, m))
    if kind == "negative":
        return rng.random((n, m)) - 5.0
    return rng.random((n, m)) * (1e8 if kind == "huge" else 1.0)


def check(tree, costs: np.ndarray, w0: np.ndarray, w1: np.ndarray) -> None:
    rows, cols, mass = tree.entries()
    plan = np.zeros_like(costs)
    plan[rows, cols] = mass
    u, v = tree.potentials
    size = np.abs(costs).max() or 1.0
    assert np.abs(plan.sum(1) - w0).max() < 1e-12
    assert np.abs(plan.sum(0) - w1).max() < 1e-12
    # POT's simplex takes no negative costs; a constant changes no plan.
    best = ot.emd2(w0, w1, costs - costs.min()) + costs.min()
    assert (plan * costs).sum() == pytest.approx(best, abs=1e-12 * size)
    assert (costs - u[:, None] - v).min() > -1e-11 * size
    assert len(mass) <= sum(costs.shape) - 1


@pytest.mark.parametrize("kind", ["plain", "ties", "zero", "negative", "huge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_optimal_from_any_start(kind: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    for number in range(40):
        n, m = rng.integers(1, 40, 2)
        costs = costs_of(kind, n, m, rng)
        w0 = rng.random(n) + 1e-3 if weighted else np.ones(n)
        w1 = rng.random(m) + 1e-3 if weighted else np.ones(m)
        w0, w1 = w0 / w0.sum(), w1 / w1.sum()
        tree = network_simplex.TransportTree(w0, w1)
        rows, cols = np.divmod(np.arange(n * m), m)
        tree.add(rows, cols, costs.ravel())
        if number % 2:
            tree.begin(rng.standard_normal(n), rng.standard_normal(m))
        else:
            tree.begin(costs.min(axis=1), np.zeros(m))
        tree.improve()
        check(tree, costs, w0, w1)


@pytest.mark.parametrize("looks", [0, 1, 1000])
def test_optimal_however_long_paths_are_searched(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_simplex, "_LOOKS_EACH", looks)
    rng = np.random.default_rng(3)
    for kind in ("plain", "ties"):
        costs, w0, w1 = costs_of(kind, 60, 50, rng), rng.random(60) + 1e-3, rng.random(50) + 1e-3
        w0, w1 = w0 / w0.sum(), w1 / w1.sum()
        tree = network_simplex.TransportTree(w0, w1)
        tree.add(*np.divmod(np.arange(3000), 50), costs.ravel())
        tree.begin(costs.min(axis=1), np.zeros(50))
        pivots = tree.improve()
        check(tree, costs, w0, w1)
        # Paths that send everything leave nothing to do.
        assert looks < 1000 or pivots == 0


def test_paths_that_send_everything_keep_potentials_of_all_pairs() -> None:
    # Zeros are enough for a plan. A tree of a few of them says little about pairs that are no candidates.
    rng = np.random.default_rng(4)
    costs, n = (rng.random((300, 300)) < 0.9).astype(float), 300
    rows, cols = np.nonzero((rng.random((n, n)) < 0.5) & ((costs == 0.0) | (rng.random((n, n)) < 0.02)))
    tree = network_simplex.TransportTree(np.ones(n), np.ones(n))
    tree.add(rows, cols, costs[rows, cols])
    tree.begin(np.zeros(n), np.zeros(n))
    assert tree.improve() == 0
    u, v = tree.potentials
    assert (costs - u[:, None] - v).min() >= 0.0
    tree.add(np.array([0]), np.array([1]), costs[:1, 1])
    u, v = tree.potentials
    assert (costs[rows, cols] - u[rows] - v[cols]).min() >= -1e-12


def test_pairs_added_later_are_used_from_where_the_tree_is() -> None:
    rng = np.random.default_rng(1)
    n, m = 60, 45
    costs, w0, w1 = rng.random((n, m)), np.full(n, 1 / n), np.full(m, 1 / m)
    pairs = rng.permutation(n * m)
    half = np.concatenate([pairs[:800], np.arange(n) * m, np.arange(m)])
    half = np.unique(half)
    rest = np.setdiff1d(np.arange(n * m), half)
    tree = network_simplex.TransportTree(w0, w1)
    tree.add(half // m, half % m, costs.ravel()[half])
    tree.begin(rng.random(n), rng.random(m))
    first = tree.improve()
    tree.add(rest // m, rest % m, costs.ravel()[rest])
    second = tree.improve()
    check(tree, costs, w0, w1)
    assert tree.improve() == 0
    assert first > 0
    assert second > 0


def test_candidates_that_admit_no_plan_are_an_error() -> None:
    tree = network_simplex.TransportTree(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    tree.add(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 2.0]))
    tree.begin(np.zeros(2), np.zeros(2))
    with pytest.raises(SolverError, match="admit no plan"):
        tree.improve()


def test_pivots_in_small_portions_reach_the_same_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    costs = rng.random((40, 30))
    rows, cols = (index.ravel() for index in np.indices(costs.shape))
    w0, w1 = np.full(40, 1 / 40), np.full(30, 1 / 30)
    monkeypatch.setattr(network_simplex, "_PIVOTS_AT_ONCE", 3)
    tree = network_simplex.TransportTree(w0, w1)
    tree.add(rows, cols, costs.ravel())
    tree.begin(rng.random(40), rng.random(30))
    assert tree.improve() > 3
    check(tree, costs, w0, w1)


def test_too_many_pivots_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    costs = rng.random((40, 30))
    rows, cols = (index.ravel() for index in np.indices(costs.shape))
    monkeypatch.setattr(network_simplex, "_PIVOTS_AT_ONCE", 3)
    monkeypatch.setattr(network_simplex, "_PIVOTS_PER_NODE", 0)
    tree = network_simplex.TransportTree(np.full(40, 1 / 40), np.full(30, 1 / 30))
    tree.add(rows, cols, costs.ravel())
    tree.begin(rng.random(40), rng.random(30))
    with pytest.raises(SolverError, match="did not end in 3 pivots"):
        tree.improve()

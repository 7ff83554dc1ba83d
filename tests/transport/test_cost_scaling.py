"""Flows by cost scaling, and the network simplex that begins with them."""

from __future__ import annotations

import numpy as np
import pytest

from driftfit.transport import Exact, Problem, solve
from driftfit.transport.solvers import pricing as pricing_module
from driftfit.transport.solvers import simplex as network_simplex
from driftfit.transport.solvers.simplex import scaled_flow

pytest.importorskip("numba")


def all_arcs(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, m = costs.shape
    return np.arange(n + 1) * m, np.tile(np.arange(m, dtype=np.int32), n), costs.ravel()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m"), [(40, 30), (25, 60), (1, 5), (5, 1)])
def test_the_flow_is_nearly_optimal_and_the_potentials_show_it(n: int, m: int, weighted: bool, rng) -> None:
    weights = [rng.random(size) + 0.1 if weighted else np.ones(size) for size in (n, m)]
    weights = [side / side.sum() for side in weights]
    costs = rng.random((n, m))
    flow, u, v, left = np.zeros(n * m), rng.random(n), rng.random(m), (weights[0].copy(), weights[1].copy())
    scaled_flow(*all_arcs(costs), flow, (u, v), left, 1e-18)
    table = flow.reshape(n, m)
    assert flow.min() >= 0
    np.testing.assert_allclose(table.sum(axis=1) + left[0], weights[0], atol=1e-14)
    np.testing.assert_allclose(table.sum(axis=0) + left[1], weights[1], atol=1e-14)
    assert left[1].min() >= 0
    assert left[0].sum() <= 1e-3
    reduced = costs - u[:, None] - v
    eps = 2e-5 * costs.mean()
    assert reduced.min() >= -eps
    assert (reduced[table > 0] <= eps).all()
    best = solve(Problem.from_costs(costs, *weights), Exact()).cost
    # The way of what is left over goes over a few pairs at most.
    assert abs(flow @ costs.ravel() - best) <= eps + 3 * left[0].sum() * costs.max()


def test_a_flow_that_is_there_is_kept_where_it_is_good(rng) -> None:
    costs = rng.random((30, 30))
    flow, u, v = np.zeros(900), np.zeros(30), np.zeros(30)
    scaled_flow(*all_arcs(costs), flow, (u, v), (np.ones(30), np.ones(30)), 1e-15)
    again, left = flow.copy(), (np.zeros(30), np.zeros(30))
    scaled_flow(*all_arcs(costs), again, (u, v), left, 1e-15)
    assert again @ costs.ravel() == pytest.approx(flow @ costs.ravel(), rel=1e-3)
    assert left[0].sum() == pytest.approx(0, abs=0.01)


def test_candidates_that_admit_no_plan_end_it() -> None:
    """Two rows share one column; potentials would rise for ever."""
    arcs = np.array([0, 1, 2, 2]), np.array([0, 0], np.int32), np.array([1.0, 2.0])
    flow, left = np.zeros(2), (np.ones(3), np.array([1.0, 1.0]))
    scaled_flow(*arcs, flow, (np.zeros(3), np.zeros(2)), left, 1e-15)
    assert flow.sum() == pytest.approx(1.0)
    assert left[0].sum() == pytest.approx(2.0)
    assert left[1].tolist() == [0.0, 1.0]


def test_potentials_may_have_to_go_far(rng) -> None:
    """Nine in ten rows like the same few columns; the others are a hundred times as dear."""
    n = 600
    costs = rng.random((n, n)) + 100.0
    costs[: n * 9 // 10, : n // 10] -= 99.5
    flow, left = np.zeros(n * n), (np.ones(n), np.ones(n))
    scaled_flow(*all_arcs(costs), flow, (np.zeros(n), np.zeros(n)), left, 1e-15)
    assert left[0].sum() <= 1e-4 * n + 1
    assert flow.sum() == pytest.approx(n, abs=1e-4 * n + 1)


def test_what_is_left_and_the_flow_are_the_weights_to_their_last_digits(rng) -> None:
    n, m = 300, 200
    supply, demand = (10.0 ** (6 * rng.random(size)) for size in (n, m))
    supply, demand = supply / supply.sum(), demand / demand.sum()
    flow, left = np.zeros(n * m), (supply.copy(), demand.copy())
    costs = all_arcs(rng.random((n, m)))
    scaled_flow(*costs, flow, (np.zeros(n), np.zeros(m)), left, 1e-18)
    sent = flow.reshape(n, m)
    assert np.abs(sent.sum(axis=1) + left[0] - supply).max() < 1e-16
    assert np.abs(sent.sum(axis=0) + left[1] - demand).max() < 1e-16
    assert min(flow.min(), left[0].min(), left[1].min()) >= 0.0


def test_a_tree_that_was_swept_is_not_planted_again(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_simplex, "_SCALED_FROM", 1)
    tree = network_simplex.TransportTree(np.full(6, 1 / 6), np.full(5, 1 / 5))
    x0, x1 = rng.random((6, 2)), rng.random((5, 2))
    problem = Problem.of(x0, x1)
    table, (rows, cols) = problem.table(apart=True), np.divmod(np.arange(30), 5)
    tree.add(rows, cols, table.pairs(rows, cols))
    tree.begin(np.zeros(6), np.zeros(5))
    tree.improve()
    assert tree.sweep(table)
    tree.add(rows, cols, table.pairs(rows, cols))
    tree.improve()
    found = tree.entries()
    assert found[2] @ problem.pair_costs(*found[:2]) == pytest.approx(
        solve(problem, Exact(device="cpu")).cost, rel=1e-12
    )


def test_costs_of_nothing_but_zeros() -> None:
    flow, left = np.zeros(4), (np.ones(2), np.ones(2))
    scaled_flow(*all_arcs(np.zeros((2, 2))), flow, (np.zeros(2), np.zeros(2)), left, 1e-15)
    assert flow.sum() + left[0].sum() == 2


@pytest.mark.parametrize("kind", ["plain", "weighted", "decades", "ties", "far", "copies"])
@pytest.mark.parametrize("often", ["many pairs", "many pivots"])
def test_the_simplex_finds_the_same_optimum(kind: str, often: str, rng, monkeypatch: pytest.MonkeyPatch) -> None:
    n, m = 420, 300
    x0, x1 = rng.standard_normal((n, 4)), rng.standard_normal((m, 4)) + 0.5
    weights = None
    if kind == "weighted":
        weights = rng.random(n)
    elif kind == "decades":
        weights = 10.0 ** (6 * rng.random(n))
    elif kind == "ties":
        x0, x1 = x0.round(), x1.round()
    elif kind == "far":
        x0[0], x1[0] = 1e9, -1e9
    elif kind == "copies":
        x0 = x0[rng.integers(0, 380, n)]
    problem = Problem.of(x0, x1, weights)
    reference = solve(problem, Exact(device="cpu"))
    planted, plant = [], network_simplex.TransportTree._plant
    monkeypatch.setattr(network_simplex.TransportTree, "_plant", lambda *args: planted.append(1) or plant(*args))
    monkeypatch.setattr(network_simplex, "_SCALED_FROM", 1)
    # It is planted anew whenever pairs join, or after every few pivots.
    monkeypatch.setattr(network_simplex, "_MANY", 0.0 if often == "many pairs" else np.inf)
    monkeypatch.setattr(network_simplex, "_PATIENCE", np.inf if often == "many pairs" else 0.0)
    monkeypatch.setattr(network_simplex, "_PIVOTS_AT_ONCE", 5)
    # So few pairs to begin with that pricing finds more.
    monkeypatch.setattr(pricing_module, "_CANDIDATES", 1)
    plan = solve(problem, Exact(device="cpu"))
    assert plan.cost == pytest.approx(reference.cost, rel=1e-12)
    assert plan.certificate.proves_optimal(), plan.certificate
    assert plan.certificate.marginal_error < 1e-13
    assert len(planted) >= (2 if kind == "plain" or often == "many pivots" else 1)

"""`Exact` against POT on many random and hostile problems; every certificate must hold."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftfit.transport import Exact, Precomputed, Problem, solve, transport
from driftfit.transport.costs import squared as squared_distances
from driftfit.transport.solvers import exact as exact_module
from driftfit.transport.solvers import levels as levels_module
from driftfit.transport.solvers import pricing as pricing_module
from driftfit.transport.solvers.auction import assign
from driftfit.transport.solvers.lists import BlockCosts, StoredCosts


def examples(count: int) -> settings:
    """The same problems in every run, and no clock."""
    return settings(
        max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
    )


@st.composite
def clouds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Two clouds with ties, copies, hostile scales, collinear points, unequal sizes and zero weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, features = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    m = draw(st.one_of(st.just(n), st.integers(1, 24)))
    kind = draw(st.sampled_from(["plain", "grid", "copies", "collinear", "constant", "mixed scales", "same"]))
    x0, x1 = rng.standard_normal((n, features)), rng.standard_normal((m, features)) + rng.normal()
    if kind == "grid":
        x0, x1 = np.round(x0), np.round(x1)
    elif kind == "copies":
        x0, x1 = x0[rng.integers(0, max(1, n // 3), n)], x1[rng.integers(0, max(1, m // 3), m)]
    elif kind == "collinear":
        x0, x1 = x0[:, :1] * np.ones(features), x1[:, :1] * np.ones(features)
    elif kind == "constant":
        x0, x1 = np.full((n, features), 3.0), np.full((m, features), draw(st.sampled_from([3.0, -1.0])))
    elif kind == "mixed scales":
        x0, x1 = x0 * 10.0 ** rng.uniform(-6, 6, (n, 1)), x1 * 10.0 ** rng.uniform(-6, 6, (m, 1))
    elif kind == "same" and n == m:
        x1 = x0[rng.permutation(n)]
    scale = 10.0 ** draw(st.integers(-12, 12))
    return x0 * scale, x1 * scale, _weights(draw, rng, n), _weights(draw, rng, m)


def _weights(draw: st.DrawFn, rng: np.random.Generator, n: int) -> np.ndarray | None:
    kind = draw(st.sampled_from(["uniform", "uniform", "random", "zeros", "uneven"]))
    if kind == "uniform":
        return None
    weights = rng.random(n) + 0.01
    if kind == "zeros":
        weights *= rng.random(n) < 0.5
        weights[rng.integers(n)] = 1.0
    return weights**8 if kind == "uneven" else weights


def assert_optimal(problem: Problem, plan) -> None:
    costs = problem.cost_matrix()
    reference = ot.emd2(problem.weights0, problem.weights1, costs / (costs.max() or 1.0), numItermax=10**9)
    reference *= costs.max() or 1.0
    assert plan.cost == pytest.approx(reference, rel=1e-9, abs=1e-13 * costs.max())
    certificate = plan.certificate
    assert certificate.proves_optimal(), certificate
    assert certificate.dual <= certificate.primal + certificate.resolution
    np.testing.assert_allclose(plan.row_mass(), problem.weights0, atol=1e-12)
    np.testing.assert_allclose(plan.column_mass(), problem.weights1, atol=1e-12)


@examples(1000)
@given(clouds())
def test_small_problems_match_pot(case) -> None:
    problem = Problem.of(*case)
    assert_optimal(problem, solve(problem, Exact()))


@pytest.fixture
def no_small_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send even the smallest problem through the large problems' methods."""
    for module in (exact_module, pricing_module):
        monkeypatch.setattr(module, "SMALL_PAIRS", 0)
    monkeypatch.setattr(exact_module, "DENSE", 0)


@pytest.mark.usefixtures("no_small_problems")
@examples(700)
@given(clouds())
def test_large_methods_match_pot_on_small_problems(case) -> None:
    problem = Problem.of(*case)
    assert_optimal(problem, solve(problem, Exact()))


@pytest.mark.usefixtures("no_small_problems")
@examples(300)
@given(clouds())
def test_float32_products_are_refined_to_the_exact_optimum(case) -> None:
    problem = Problem.of(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(squared_distances, "DIRECT_WORK", -1.0)
        patch.setattr(squared_distances, "QUICK_FEATURES", 0)
        plan = solve(problem, Exact())
    assert_optimal(problem, plan)


@pytest.mark.usefixtures("no_small_problems")
@examples(300)
@given(clouds())
def test_trees_find_the_exact_optimum(case) -> None:
    problem = Problem.of(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_module, "_NEAR_FROM", 1)
        patch.setattr(levels_module, "SMALL_PAIRS", 16)
        plan = solve(problem, Exact())
    assert_optimal(problem, plan)


HOSTILE = ["ones", "binary", "row terms", "column terms", "one huge", "negative", "gaussian"]


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", [1, 2, 40, 350])
def test_cost_matrices(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    costs = {
        "ones": np.ones((n, n)),
        "binary": (rng.random((n, n)) < 0.5).astype(float),
        "row terms": np.tile(rng.random((n, 1)), (1, n)),
        "column terms": np.tile(rng.random((1, n)), (n, 1)),
        "one huge": rng.random((n, n)) + 1e9 * np.eye(n),
        "negative": -rng.random((n, n)),
        "gaussian": rng.standard_normal((n, n)),
    }[kind]
    problem = Problem.from_costs(costs)
    plan = solve(problem, Exact())
    reference = ot.emd2(problem.weights0, problem.weights1, costs, numItermax=10**9)
    assert plan.cost == pytest.approx(reference, rel=1e-9, abs=1e-12 * np.abs(costs).max())
    assert plan.certificate.proves_optimal()


@pytest.mark.parametrize("d", [2, 40])
def test_blocks_and_stored_costs_agree(d: int) -> None:
    rng = np.random.default_rng(d)
    costs = ((rng.standard_normal((600, 1, d)) - rng.standard_normal((1, 600, d))) ** 2).sum(axis=2)
    stored = assign(StoredCosts(costs, np.zeros(600)))
    blocked = assign(BlockCosts(lambda rows: costs[rows], 600, np.zeros(600)))
    np.testing.assert_array_equal(stored.partner, blocked.partner)
    reference = ot.emd2([], [], costs, numItermax=10**9)
    assert costs[np.arange(600), stored.partner].mean() == pytest.approx(reference, rel=1e-12)


@pytest.mark.parametrize("memory", [0.0, 2.0**31])
def test_a_thousand_points(memory: float) -> None:
    rng = np.random.default_rng(3)
    x0, x1 = rng.standard_normal((1100, 100)), rng.standard_normal((1100, 100)) + 0.3
    problem = Problem.of(x0, x1)
    plan = solve(problem, Exact(memory=memory))
    assert_optimal(problem, plan)
    assert sorted(plan.cols) == list(range(1100))


@pytest.mark.slow
def test_candidates_with_pricing_on_unequal_clouds() -> None:
    rng = np.random.default_rng(4)
    problem = Problem.of(rng.standard_normal((1900, 30)), rng.standard_normal((1300, 30)) + 0.4, rng.random(1900))
    assert_optimal(problem, solve(problem, Exact()))


@pytest.mark.slow
def test_copies_are_merged_and_shared_out_again() -> None:
    rng = np.random.default_rng(5)
    x0 = np.repeat(rng.standard_normal((30, 8)), 40, axis=0)
    problem = Problem.of(x0, rng.standard_normal((1200, 8)))
    plan = solve(problem, Exact())
    assert_optimal(problem, plan)
    assert len(plan) == 1200
    assert len(np.unique(plan.rows)) == len(np.unique(plan.cols)) == 1200


def test_progress_is_reported_and_an_interrupt_passes_through() -> None:
    rng = np.random.default_rng(6)
    x0, x1 = rng.standard_normal((500, 3)), rng.standard_normal((500, 3))
    seen = []
    transport(x0, x1, solver=Exact(progress=lambda stage, share: seen.append((stage, share))))
    assert {stage for stage, _ in seen} >= {"auction"}
    assert all(0 <= share <= 1 for _, share in seen)

    def stop(stage: str, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        transport(x0, x1, solver=Exact(progress=stop))


def test_precomputed_matches_samples() -> None:
    rng = np.random.default_rng(7)
    x0, x1 = rng.standard_normal((400, 5)), rng.standard_normal((400, 5))
    problem = Problem.of(x0, x1)
    by_matrix = transport(np.arange(400)[:, None], np.arange(400)[:, None], cost=Precomputed(problem.cost_matrix()))
    assert by_matrix.cost == pytest.approx(transport(x0, x1).cost, rel=1e-12)

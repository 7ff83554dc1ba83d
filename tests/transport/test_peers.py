"""`Exact` against POT's network simplex and SciPy's assignment solver."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from driftfit.transport import Exact, Plan, PowerMetric, Problem, Solution, SquaredEuclidean, solve, transport
from driftfit.transport.certificate import certify


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 6))
@settings(max_examples=100)
def test_equal_sizes_agree_with_the_assignment_solver(seed, n, d):
    rng = np.random.default_rng(seed)
    x0, x1 = rng.normal(size=(n, d)), rng.normal(size=(n, d)) + rng.normal(size=d)
    costs = SquaredEuclidean().block(x0, x1)
    plan = transport(x0, x1, solver=Exact())
    assert plan.cost == pytest.approx(costs[linear_sum_assignment(costs)].mean(), rel=1e-9)
    assert len(plan) == n
    assert plan.certificate.gap < 1e-9
    assert plan.certificate.proves_optimal()


@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 25), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_any_sizes_and_weights_agree_with_pot(seed, n, m, weighted0, weighted1):
    rng = np.random.default_rng(seed)
    x0, x1 = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    w0 = rng.random(n) + 0.01 if weighted0 else np.ones(n)
    w1 = rng.random(m) + 0.01 if weighted1 else np.ones(m)
    plan = transport(x0, x1, w0, w1, Exact())
    expected = ot.emd2(w0 / w0.sum(), w1 / w1.sum(), ot.dist(x0, x1))
    assert plan.cost == pytest.approx(expected, rel=1e-9)
    assert len(plan) <= n + m - 1
    assert plan.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert plan.certificate.proves_optimal()


@pytest.mark.parametrize("cost", [PowerMetric("cityblock", 1), PowerMetric("euclidean", 3), PowerMetric("cosine", 1)])
def test_other_costs_agree_with_pot(rng, cost):
    x0, x1 = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    plan = transport(x0, x1, cost=cost)
    assert plan.cost == pytest.approx(ot.emd2([], [], cost.block(x0, x1)), rel=1e-9)
    assert plan.certificate.proves_optimal()


def test_a_function_as_cost_and_a_given_matrix(rng):
    x0, x1 = rng.normal(size=(9, 2)), rng.normal(size=(7, 2))

    def hinge(a, b):
        return np.maximum(np.abs(a[:, None] - b[None]).max(axis=2) - 0.5, 0)

    expected = ot.emd2([], [], hinge(x0, x1))
    assert transport(x0, x1, cost=hinge).cost == pytest.approx(expected, rel=1e-9)
    assert solve(Problem.from_costs(hinge(x0, x1))).cost == pytest.approx(expected, rel=1e-9)


def test_negative_costs_are_fine():
    plan = solve(Problem.from_costs([[-1.0, -2.0], [-3.0, -5.0]]))
    assert plan.cost == pytest.approx(-3.0)
    assert plan.certificate.proves_optimal()


class TestAWrongPlanIsCaught:
    """The certificate must fail for plans that are not optimal or do not couple the domains."""

    @pytest.fixture
    def problem(self, rng):
        return Problem.of(rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + 2)

    @pytest.fixture
    def solution(self, problem):
        return Exact().solve(problem)

    def test_the_true_one_passes(self, problem, solution):
        assert certify(problem, solution, 0.0).proves_optimal()

    def test_swapped_targets(self, problem, solution):
        cols = solution.cols.copy()
        cols[[0, 1]] = cols[[1, 0]]
        wrong = certify(problem, Solution(solution.rows, cols, solution.mass, solution.potential0), 0.0)
        assert wrong.gap > 1e-6
        assert not wrong.proves_optimal()

    def test_mass_moved_between_entries(self, problem, solution):
        mass = solution.mass.copy()
        mass[0] += 0.01
        mass[1] -= 0.01
        wrong = certify(problem, Solution(solution.rows, solution.cols, mass, solution.potential0), 0.0)
        assert wrong.marginal_error > 1e-3
        assert not wrong.proves_optimal()

    def test_a_boastful_potential_cannot_raise_the_bound(self, problem, solution):
        optimum = certify(problem, solution, 0.0).dual
        for boast in (solution.potential0 + 100.0, solution.potential0 * 2, np.full(12, 1e6)):
            claimed = certify(problem, Solution(solution.rows, solution.cols, solution.mass, boast), 0.0)
            assert claimed.dual <= optimum * (1 + 1e-9) + 1e-9

    def test_a_spoiled_potential_shows_as_a_gap(self, problem, solution, rng):
        spoiled = Solution(solution.rows, solution.cols, solution.mass, solution.potential0 + rng.normal(size=12))
        assert not certify(problem, spoiled, 0.0).proves_optimal()


def test_the_plan_says_what_it_is(rng):
    plan = transport(rng.normal(size=(5, 2)), rng.normal(size=(5, 2)))
    assert isinstance(plan, Plan)
    assert "5 x 5, 5 entries" in repr(plan)
    assert plan.todense() == pytest.approx(plan.tosparse().toarray())
    assert isinstance(plan.solver, Exact)
    assert plan.certificate.seconds > 0

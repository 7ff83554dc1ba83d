"""The certificate accepts what is optimal and nothing else, and its bound is proven for the arithmetic used."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from driftfit.transport import Exact, Problem, Solution, solve
from driftfit.transport.certificate import certify, dual_bound, moment_bound, transform_bound
from driftfit.transport.costs import squared as squared_distances
from driftfit.transport.costs.table import gamma


@pytest.fixture(params=[3, 60])
def solved(request: pytest.FixtureRequest) -> tuple[Problem, Solution]:
    rng = np.random.default_rng(request.param)
    problem = Problem.of(rng.standard_normal((90, request.param)), rng.standard_normal((90, request.param)) + 1)
    return problem, Exact().solve(problem)


def accepted(problem: Problem, solution: Solution) -> bool:
    return certify(problem, solution, 0.0).proves_optimal()


def test_the_true_solution_is_accepted(solved: tuple[Problem, Solution]) -> None:
    assert accepted(*solved)


@pytest.mark.parametrize("seed", range(20))
def test_a_corrupted_plan_is_rejected(solved: tuple[Problem, Solution], seed: int) -> None:
    problem, solution = solved
    rng = np.random.default_rng(seed)
    i, j = rng.choice(len(solution.mass), 2, replace=False)
    cols, mass = solution.cols.copy(), solution.mass.copy()
    corruption = seed % 5
    if corruption == 0:
        cols[i], cols[j] = cols[j], cols[i]
    elif corruption == 1:
        cols[i] = cols[j]
    elif corruption == 2:
        mass[i] *= 1.001
    elif corruption == 3:
        mass[[i, j]] = 0.0, mass[i] + mass[j]
    else:
        mass[i] = np.nan
    assert not accepted(problem, replace(solution, cols=cols, mass=mass))


def test_negative_mass_is_rejected(solved: tuple[Problem, Solution]) -> None:
    problem, solution = solved
    # Adds mass around a cycle of four pairs: all marginals stay, one entry is negative.
    rows, cols = solution.rows, solution.cols
    extra_rows = np.array([rows[0], rows[1], rows[0], rows[1]])
    extra_cols = np.array([cols[0], cols[1], cols[1], cols[0]])
    extra_mass = np.array([1e-3, 1e-3, -1e-3, -1e-3])
    forged = Solution(
        np.concatenate([rows, extra_rows]),
        np.concatenate([cols, extra_cols]),
        np.concatenate([solution.mass, extra_mass]),
        solution.potential0,
    )
    assert not accepted(problem, forged)


@pytest.mark.parametrize("seed", range(10))
def test_a_corrupted_potential_is_rejected(solved: tuple[Problem, Solution], seed: int) -> None:
    problem, solution = solved
    rng = np.random.default_rng(seed)
    potential = solution.potential0 + rng.standard_normal(90) * 10.0 ** rng.integers(-3, 3)
    assert not accepted(problem, replace(solution, potential0=potential))
    certificate = certify(problem, replace(solution, potential0=potential), 0.0)
    assert certificate.dual < certificate.primal


def test_huge_potentials_do_not_blur_the_difference_from_a_wrong_plan() -> None:
    # A third sample of hardly any mass, at any price: the plan costs 2, the optimum 1.
    problem = Problem.from_costs(np.array([[1.0, 2.0], [2.0, 1.0], [5.0, 5.0]]), np.array([0.5, 0.5, 1e-17]))
    rows, cols = np.arange(3), np.array([1, 0, 0])
    wrong = Solution(rows, cols, np.array([0.5, 0.5, 8e-16]), np.array([0.0, 0.0, -2.5e15]))
    certificate = certify(problem, wrong, 0.0)
    assert certificate.dual < 1.0 < certificate.primal
    assert not certificate.proves_optimal()


@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_a_plan_whose_costs_cancel_is_accepted(scale: float, rng: np.random.Generator) -> None:
    a, b, w = rng.normal(size=50), scale * rng.normal(size=50), np.full(50, 0.02)
    costs = a[:, None] + b - (a @ w + b @ w) + rng.random((50, 50)) * (1 - np.eye(50))
    problem = Problem.from_costs(costs)
    certificate = solve(problem, Exact()).certificate
    assert abs(certificate.primal) < 1e-12 * scale
    assert certificate.proves_optimal()


def test_any_potential_gives_a_lower_bound(solved: tuple[Problem, Solution]) -> None:
    problem, solution = solved
    optimum = certify(problem, solution, 0.0).primal
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e6):
        assert dual_bound(problem, rng.standard_normal(90) * scale) <= optimum


@pytest.mark.parametrize("wanted", [np.inf, 0.0])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_products_bound_the_exact_transform_from_below(
    monkeypatch: pytest.MonkeyPatch, wanted: float, offset: float
) -> None:
    """Compared in rational arithmetic: the bound never exceeds the truth and hardly falls below it."""
    monkeypatch.setattr(squared_distances, "DIRECT_WORK", 0.0)
    monkeypatch.setattr(squared_distances, "QUICK_FEATURES", 0)
    rng = np.random.default_rng(1)
    x0, x1 = rng.standard_normal((12, 5)) + offset, rng.standard_normal((9, 5)) + offset
    u = rng.standard_normal(12)
    weights = np.full(12, 1 / 12), np.full(9, 1 / 9)
    lowered, bound = transform_bound(Problem.of(x0, x1).table(), np.arange(12), u, weights, wanted)
    assert (lowered <= u).all()
    for j in range(9):
        costs = [sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, x1[j], strict=True)) for x in x0]
        assert Fraction(bound[j]) <= min(cost - Fraction(ui) for cost, ui in zip(costs, lowered, strict=True))
        true = min(cost - Fraction(ui) for cost, ui in zip(costs, u, strict=True))
        assert abs(float(true - Fraction(bound[j]))) < 1e-12


def test_close_pairs_sharpen_the_bound_of_nearly_equal_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squared_distances, "DIRECT_WORK", 0.0)
    monkeypatch.setattr(squared_distances, "QUICK_FEATURES", 0)
    rng = np.random.default_rng(2)
    x0 = rng.standard_normal((80, 10))
    problem = Problem.of(x0, x0[::-1] + 1e-9 * rng.standard_normal((80, 10)))
    certificate = solve(problem, Exact()).certificate
    assert certificate.primal < 1e-15
    assert certificate.proves_optimal()


def test_no_bound_from_moments_exceeds_the_cost_of_nearly_equal_clouds(rng: np.random.Generator) -> None:
    for offset in (0.0, 1e6):
        x0 = rng.standard_normal((80, 10)) + offset
        problem = Problem.of(x0, x0[::-1] + 1e-9 * rng.standard_normal((80, 10)))
        assert moment_bound(problem) <= solve(problem, Exact()).cost


def test_gamma_grows_with_the_number_of_terms() -> None:
    assert 0 < gamma(1) < gamma(1000) < 1e-12


def test_the_certificate_can_be_left_out() -> None:
    problem = Problem.of([[0.0], [1.0]], [[1.0], [2.0]])
    assert solve(problem, certified=False).certificate is None

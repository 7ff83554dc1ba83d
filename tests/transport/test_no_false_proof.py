"""Small hostile problems against all permutations in rational arithmetic: what is called proven is true."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from driftfit.transport import Exact, Problem, solve
from driftfit.transport.certificate import certify
from driftfit.transport.costs import squared as squared_distances
from driftfit.transport.solvers import exact, pricing

KINDS = ["plain", "offset", "duplicated", "collinear", "whole numbers", "mixed scales", "nearly equal"]


def hostile(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x0, x1 = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    if kind == "offset":
        x0, x1 = x0 + 10.0 ** (seed % 7), x1 + 10.0 ** (seed % 7)
    elif kind == "duplicated":
        x0, x1 = x0[rng.integers(0, 2, 5)], x1[rng.integers(0, 3, 5)]
    elif kind == "collinear":
        x0, x1 = x0[:, :1] * [1.0, 2.0, -3.0], x1[:, :1] * [1.0, 2.0, -3.0]
    elif kind == "whole numbers":
        x0, x1 = np.round(2 * x0), np.round(2 * x1)
    elif kind == "mixed scales":
        x0, x1 = (x * 10.0 ** rng.uniform(-8, 8, (5, 1)) for x in (x0, x1))
    elif kind == "nearly equal":
        x1 = x0[::-1] + 1e-12 * x1
    scale = 10.0 ** rng.choice([-300, -170, -162, -100, -8, 0, 8, 100, 140])
    return scale * x0, scale * x1


def true_costs(x0: np.ndarray, x1: np.ndarray) -> list[list[Fraction]]:
    a, b = ([[Fraction(float(value)) for value in row] for row in x] for x in (x0, x1))
    return [[sum((p - q) ** 2 for p, q in zip(r, s, strict=True)) for s in b] for r in a]


@pytest.mark.parametrize("way", ["dense", "compiled", "products", "sparse", "large methods", "tensors"])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_and_proofs_are_true(kind: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way in ("products", "large methods"):
        monkeypatch.setattr(squared_distances, "DIRECT_WORK", -1.0)
        monkeypatch.setattr(squared_distances, "QUICK_FEATURES", 0)
    if way == "compiled":
        monkeypatch.setattr(squared_distances, "COMPILED_WORK", 0)
    if way in ("compiled", "large methods"):
        for module in (exact, pricing):
            monkeypatch.setattr(module, "SMALL_PAIRS", 0)
        monkeypatch.setattr(exact, "DENSE", 0)
    for seed in range(12):
        x0, x1 = hostile(kind, seed)
        samples: list[Any] = [sp.csr_array(x) for x in (x0, x1)] if way == "sparse" else [x0, x1]
        problem = Problem.of(*samples)
        if way == "tensors":
            pytest.importorskip("torch")
            problem = problem.to_device("cpu")
        # The problem counts in units of its own scale, where nothing is out of range.
        unit = Fraction(4) ** problem.exponent
        costs = [[cost / unit for cost in row] for row in true_costs(x0, x1)]
        optimum = min(sum(costs[i][j] for i, j in enumerate(order)) for order in permutations(range(5))) / 5
        solution = Exact().solve(problem)
        plain = Problem(*(getattr(problem, name) for name in ("x0", "x1", "weights0", "weights1", "cost", "uniform")))
        certificate = certify(plain, solution, 0.0)
        assert Fraction(certificate.dual) <= optimum
        paid = sum(Fraction(m) * costs[i][j] for i, j, m in zip(*_entries(solution), strict=True))
        shown = solve(problem, Exact()).certificate
        if shown.proves_optimal():
            assert paid <= optimum * (1 + Fraction(2, 10**9)) + Fraction(2 * certificate.resolution)
        assert np.abs(np.bincount(solution.rows, solution.mass, 5) - 0.2).max() < 1e-15
        assert np.abs(np.bincount(solution.cols, solution.mass, 5) - 0.2).max() < 1e-15


@pytest.mark.parametrize("scale", [2.0**-1074, 2.0**-1060, 1e-300, 2.0**900, 2.0**1010])
@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_of_given_costs_at_the_ends_of_the_range(scale: float, sign: int, rng: np.random.Generator) -> None:
    cases = [np.array([[3223.0, 1143.0]])] + [rng.integers(0, 200, rng.integers(1, 5, 2)) for _ in range(20)]
    for costs in cases:
        given = sign * costs * scale
        a, b = (np.full(k, 1.0 / k) for k in costs.shape)
        certificate = solve(Problem.from_costs(given), Exact()).certificate
        programme = solve(Problem.from_costs(sign * costs, a, b), Exact()).certificate
        optimum = Fraction(scale) * Fraction(programme.primal)
        least = Fraction(2) ** -1074
        assert Fraction(certificate.dual) <= optimum + abs(optimum) / 10**14
        assert abs(Fraction(certificate.primal) - optimum) <= abs(optimum) / 10**12 + least
        assert abs(certificate.gap) < 1e-9


def test_bound_of_one_row_of_subnormal_costs_is_true() -> None:
    # One row has one plan: its cost is known without any arithmetic of ours.
    for numbers in ([3223, 1143], [1, 2, 2], [7, 0, 0, 0]):
        costs = np.array([numbers]) * 2.0**-1074
        certificate = solve(Problem.from_costs(costs), Exact()).certificate
        assert Fraction(certificate.dual) <= Fraction(sum(numbers), len(numbers)) * Fraction(2) ** -1074


def test_bound_of_costs_beside_far_larger_ones_is_true(rng: np.random.Generator) -> None:
    # Where the larger ones are brought into range, the smaller ones lose digits.
    for own in rng.random((20, 2)) * 1e-14:
        certificate = solve(Problem.from_costs(np.where(np.eye(2), own, 1e297)), Exact()).certificate
        assert Fraction(certificate.dual) <= sum(map(Fraction, own.tolist())) / 2


def test_costs_far_below_the_largest_do_not_become_zero() -> None:
    plan = solve(Problem.from_costs(np.where(np.eye(2), 1e-76, 1e300)), Exact())
    assert plan.cost == pytest.approx(1e-76, rel=1e-12)
    assert plan.certificate.proves_optimal()


def _entries(solution: Any) -> tuple[list[int], list[int], list[float]]:
    return solution.rows.tolist(), solution.cols.tolist(), solution.mass.tolist()


def test_the_check_finds_a_false_bound() -> None:
    x0, x1 = hostile("plain", 3)
    problem = Problem.of(x0, x1)
    costs = true_costs(problem.x0, problem.x1)
    optimum = min(sum(costs[i][j] for i, j in enumerate(order)) for order in permutations(range(5))) / 5
    assert Fraction(float(optimum) * 1.001) > optimum
    assert Fraction(certify(problem, Exact().solve(problem), 0.0).primal) * Fraction(1001, 1000) > optimum

"""Every table of costs says how far it can be off, and is never further: checked in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from driftfit.errors import InputError
from driftfit.transport import (
    CustomCost,
    PowerMetric,
    Problem,
    SquaredEuclidean,
    certificate,
    solve,
    transport,
    wasserstein,
)
from driftfit.transport.certificate import transform_bound
from driftfit.transport.costs import products as float32_products
from driftfit.transport.costs import products as screening
from driftfit.transport.costs import squared as squared_distances
from driftfit.transport.costs.cost import table_of
from driftfit.transport.costs.table import BlockTable, CostTable, HeldTable, Rounding
from driftfit.transport.solvers import sinkhorn

KINDS = ["dense", "products", "float32", "sparse", "tensors", "float32 tensors", "far", "chunks"]


def clouds(kind: str, offset: float, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 4)
    x0, x1 = (scale * rng.standard_normal((n, 6)) + offset for n in (7, 5))
    x0[:, 3:] *= rng.random((7, 3)) < 0.5
    if kind.startswith("float32"):
        x0, x1 = x0.astype(np.float32), x1.astype(np.float32)
    if kind == "far":
        x1[0] *= 1e8
    if kind == "sparse":
        return sp.csr_array(x0), sp.csr_array(x1)
    if kind.endswith("tensors"):
        torch = pytest.importorskip("torch")
        return torch.from_numpy(x0), torch.from_numpy(x1)
    return x0, x1


def rows_of(x: Any) -> list[list[Fraction]]:
    x = x.toarray() if sp.issparse(x) else np.asarray(x)
    return [[Fraction(float(value)) for value in row] for row in x]


def squared(x0: Any, x1: Any) -> list[list[Fraction]]:
    return [[sum((a - b) ** 2 for a, b in zip(r, s, strict=True)) for s in rows_of(x1)] for r in rows_of(x0)]


def worst_excess(table: CostTable, truth: list[list[Fraction]]) -> float:
    """The largest error of any block or pair beyond its bound; at most 0 if the bounds are true."""
    n, m = table.shape
    block = np.asarray(table.block(slice(0, n)))
    pairs = table.pairs(*(index.ravel() for index in np.indices((n, m)))).reshape(n, m)
    excess = -np.inf
    for computed, rounding in ((block, table.rounding), (pairs, table.pair_rounding)):
        rows = np.zeros(n) if rounding.rows is None else np.asarray(rounding.rows)
        columns = np.zeros(m) + (0.0 if rounding.columns is None else np.asarray(rounding.columns))
        for i in range(n):
            for j in range(m):
                error = abs(Fraction(float(computed[i, j])) - truth[i][j])
                bound = rounding.relative * abs(computed[i, j]) + rows[i] + columns[j]
                excess = max(excess, float(error - Fraction(float(bound))))
    return excess


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_squared_distances_keep_their_bounds(
    kind: str, offset: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind != "dense":
        monkeypatch.setattr(squared_distances, "DIRECT_WORK", -1.0)
        monkeypatch.setattr(squared_distances, "QUICK_FEATURES", 0)
    if kind == "chunks":
        monkeypatch.setattr(squared_distances, "_KEPT_VALUES", 0)
        monkeypatch.setattr(squared_distances, "_FEATURES", 2)
    x0, x1 = clouds(kind, offset, seed)
    table = table_of(SquaredEuclidean(), x0, x1)
    assert worst_excess(table, squared(x0, x1)) <= 0
    assert worst_excess(HeldTable.of(table), squared(x0, x1)) <= 0


@pytest.mark.parametrize("p", [1, 3])
def test_powers_of_the_l1_distance_keep_their_bounds(p: int) -> None:
    x0, x1 = clouds("dense", 3.0, 0)
    truth = [[sum(abs(a - b) for a, b in zip(r, s, strict=True)) ** p for s in rows_of(x1)] for r in rows_of(x0)]
    assert worst_excess(table_of(PowerMetric("cityblock", p), x0, x1), truth) <= 0


def test_a_bound_that_is_too_small_is_found_out() -> None:
    x0, x1 = clouds("dense", 1e6, 1)
    honest = table_of(SquaredEuclidean(), x0, x1)
    boast = BlockTable(SquaredEuclidean(), x0, x1, 1e-18)
    assert worst_excess(honest, squared(x0, x1)) <= 0 < worst_excess(boast, squared(x0, x1))


@pytest.mark.parametrize("kind", ["products", "sparse", "tensors", "float32"])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3, 1e6])
def test_bounds_on_transforms_hold_for_every_arithmetic(
    kind: str, offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(squared_distances, "DIRECT_WORK", -1.0)
    monkeypatch.setattr(squared_distances, "QUICK_FEATURES", 0)
    x0, x1 = clouds(kind, offset, 2)
    truth, u = squared(x0, x1), np.random.default_rng(3).standard_normal(7)
    weights = np.full(7, 1 / 7), np.full(5, 1 / 5)
    for wanted in (0.0, np.inf):
        low, v = transform_bound(table_of(SquaredEuclidean(), x0, x1), np.arange(7), u, weights, wanted)
        for i in range(7):
            for j in range(5):
                assert Fraction(float(low[i])) + Fraction(float(v[j])) <= truth[i][j]


@pytest.mark.parametrize("offset", [10.0, 1e3, 1e6])
def test_sparse_samples_far_from_the_origin_get_no_false_proof(offset: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        x0, x1 = rng.standard_normal((60, 3)) + offset, rng.standard_normal((50, 3)) + offset
        optimum = transport(x0, x1)
        plan = transport(sp.csr_array(x0), sp.csr_array(x1))
        assert plan.certificate.dual <= optimum.cost * (1 + 1e-12)
        assert plan.cost >= optimum.certificate.dual


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("chunk", [2048, 7])
@pytest.mark.parametrize("way", ["compiled, apart, kept", "one centre", "not compiled"])
def test_screening_misses_no_pair(seed: int, chunk: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "has_numba", lambda: way != "not compiled")
    monkeypatch.setattr(float32_products, "_FEATURES32", chunk)
    monkeypatch.setattr(screening, "_UNDECIDED", 1.0)
    monkeypatch.setattr(squared_distances, "DIRECT_WORK", -1.0)
    monkeypatch.setattr(squared_distances, "QUICK_FEATURES", 0)
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-5, 6)
    x0, x1 = scale * rng.standard_normal((30, 20)) + 3 * scale, scale * rng.standard_normal((25, 20))
    x0[0] *= 1e4
    products = float32_products.Products.of(table_of(SquaredEuclidean(), x0, x1, apart=way != "one centre"))
    assert products.table.apart == (way != "one centre")
    if "kept" in way:
        products.keep()
    costs = SquaredEuclidean().block(x0, x1)
    u = costs.min(axis=1) / 2
    # Exactly tight, and tight up to a few last digits, in about half of the columns.
    v = (costs - u[:, None]).min(axis=0) * (1 + 1e-15 * rng.integers(-3, 4, 25))
    v[::2] *= 1.3
    truth, rows = squared(x0, x1), np.arange(1, 30)
    found = screening.suspects(products, *screening.turned(products, np.append(-1e300, u[1:]), v))
    assert found is not None
    seen = set(zip(found[0].tolist(), found[1].tolist(), strict=True))
    below = {(i, j) for i in rows.tolist() for j in range(25) if truth[i][j] < Fraction(u[i]) + Fraction(v[j])}
    assert below <= seen
    assert len(below) > 0
    assert len(seen) < 0.6 * 29 * 25


def test_screening_that_does_not_pay_is_left() -> None:
    x = np.random.default_rng(0).standard_normal((300, 5))
    table = squared_distances.SquaredDistances(x, x, 0.0, 0.0, False)
    products = float32_products.Products.of(table)
    assert screening.suspects(products, np.full(300, 1e3), np.zeros(300)) is None


def test_screened_certificates_agree_with_unscreened_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    problem = Problem.of(rng.standard_normal((700, 300)), rng.standard_normal((650, 300)) + 0.1)
    monkeypatch.setattr(certificate, "_screen", lambda problem: None)
    plain = solve(problem).certificate
    monkeypatch.undo()
    screened = solve(problem).certificate
    assert screened.proves_optimal()
    assert plain.proves_optimal()
    assert screened.dual == pytest.approx(plain.dual, rel=1e-12)


def test_no_term_means_no_error() -> None:
    assert Rounding().relative == 0.0
    assert Problem.from_costs([[1.0, 2.0]]).table().rounding.relative == 0.0


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize("held", [True, False])
def test_one_annealing_gives_one_potential(place: str, held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held or formed anew, arrays or tensors: the potentials are those of the log domain."""
    rng = np.random.default_rng(0)
    problem = Problem.of(rng.standard_normal((50, 3)), rng.standard_normal((40, 3)) + 1, rng.random(50) + 0.1)
    reference = sinkhorn.Sinkhorn(epsilon=0.1, tolerance=1e-9).solve(problem).potential0
    if place == "device":
        pytest.importorskip("torch")
        problem = problem.to_device("cpu")
    if not held:
        monkeypatch.setattr(sinkhorn, "_DENSE_PAIRS", 0)
        monkeypatch.setattr(sinkhorn, "fits_on_device", lambda problem: False)
    potential = sinkhorn.Sinkhorn(epsilon=0.1, tolerance=1e-6).solve(problem).potential0
    difference = potential - reference
    assert np.ptp(difference) < 1e-3


def test_tensors_on_the_processor_are_taken_as_arrays() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x0, x1 = rng.standard_normal((30, 3)), rng.standard_normal((20, 3))
    plan = transport(torch.from_numpy(x0), torch.from_numpy(x1).requires_grad_())
    assert plan.cost == pytest.approx(transport(x0, x1).cost, rel=1e-12)
    assert plan.certificate.proves_optimal()


@pytest.mark.parametrize("exponent", [-170, -162, -120, 120, 149])
@pytest.mark.parametrize("kind", ["dense", "sparse", "beside a constant"])
def test_any_scale_is_brought_to_a_safe_one(exponent: int, kind: str) -> None:
    rng = np.random.default_rng(0)
    scale = 10.0**exponent
    x0, x1 = rng.random((20, 3)), rng.random((15, 3)) + 0.5
    here, far = (x0, x1), (scale * x0, scale * x1)
    if kind == "beside a constant":
        here = tuple(np.column_stack([x, np.zeros(len(x))]) for x in here)
        far = tuple(np.column_stack([x, np.full(len(x), 7.0)]) for x in far)
    if kind == "sparse":
        here, far = tuple(map(sp.csr_array, here)), tuple(map(sp.csr_array, far))
    plan = transport(*far)
    assert plan.certificate.proves_optimal()
    assert wasserstein(*far) == pytest.approx(scale * wasserstein(*here), rel=1e-9)
    assert wasserstein(*far, p=np.inf) == pytest.approx(scale * wasserstein(*here, p=np.inf), rel=1e-9)


def test_a_wrong_plan_of_tiny_samples_is_no_optimum() -> None:
    x = 1e-165 * np.arange(6.0)[:, None]
    problem = Problem.of(x, x[::-1])
    good = solve(problem)
    assert good.certificate.proves_optimal()

    class Reversed:
        def solve(self, problem: Problem) -> Any:
            solution = type(good.solver)().solve(problem)
            return type(solution)(solution.rows, solution.cols[::-1], solution.mass, solution.potential0)

    wrong = solve(problem, Reversed())
    assert not wrong.certificate.proves_optimal()
    assert wrong.certificate.gap > 0.5


def test_copies_are_spread_with_exact_marginals() -> None:
    rng = np.random.default_rng(0)
    x0, x1 = rng.integers(0, 8, (3000, 2)).astype(float), rng.integers(0, 8, (2999, 2)).astype(float)
    plan = transport(x0, x1)
    assert plan.certificate.proves_optimal()
    for mass, n in ((plan.row_mass(), 3000), (plan.column_mass(), 2999)):
        assert np.abs(mass * n - 1.0).max() < 1e-14
    weights = rng.random(3000) ** 4 + 1e-6
    plan = transport(x0, x1, weights)
    assert plan.certificate.proves_optimal()
    assert np.abs(plan.row_mass() / (weights / weights.sum()) - 1.0).max() < 2e-15
    assert np.abs(plan.column_mass() * 2999 - 1.0).max() < 2e-15
    more = 10.0 ** rng.uniform(-6, 0, 2999)
    plan = transport(x0, x1, weights, more)
    assert np.abs(plan.row_mass() / (weights / weights.sum()) - 1.0).max() < 2e-15
    assert np.abs(plan.column_mass() / (more / more.sum()) - 1.0).max() < 2e-15


def test_small_weights_keep_their_marginals() -> None:
    rng = np.random.default_rng(1)
    w0, w1 = (10.0 ** rng.uniform(-6, 0, n) for n in (500, 400))
    plan = transport(rng.standard_normal((500, 2)), rng.standard_normal((400, 2)), w0, w1)
    assert np.abs(plan.row_mass() / (w0 / w0.sum()) - 1.0).max() < 1e-14
    assert np.abs(plan.column_mass() / (w1 / w1.sum()) - 1.0).max() < 1e-14


@pytest.mark.parametrize("d", [3, 60])
def test_cosine_distances_are_distances_of_directions(d: int) -> None:
    rng = np.random.default_rng(0)
    x0, x1 = rng.standard_normal((1200, d)) * 10.0 ** rng.integers(-100, 100, (1200, 1)), rng.standard_normal((1200, d))
    costs, plan = cdist(x0, x1, "cosine"), transport(x0, x1, cost=PowerMetric("cosine"))
    rows, cols = linear_sum_assignment(costs)
    optimum = float(costs[rows, cols].mean())
    assert plan.cost == pytest.approx(optimum, rel=1e-12)
    assert plan.certificate.proves_optimal()
    assert plan.certificate.dual <= optimum * (1 + 1e-15)
    # Angles below the rounding of directions: nothing is claimed about them.
    near = transport(x0, x0 * (1 + 1e-17), cost=PowerMetric("cosine"))
    assert near.certificate.dual == 0.0
    with pytest.raises(InputError, match="overflow"):
        transport(np.zeros((2, 3)), np.ones((2, 3)), cost=PowerMetric("cosine"))
    other = transport(x0[:900], x1[:800], cost=PowerMetric("cosine"), start=(plan, x0))
    assert other.certificate.proves_optimal()


def test_a_function_is_asked_for_each_pair_once_and_its_error_counts() -> None:
    rng, asked = np.random.default_rng(0), []
    x0, x1 = rng.random((1300, 4)), rng.random((1200, 4))

    def function(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        asked.append(len(a) * len(b))
        return np.abs(a[:, None] - b).max(axis=2)

    plan = transport(x0, x1, cost=function)
    assert plan.certificate.proves_optimal()
    assert plan.cost == pytest.approx(transport(x0, x1, cost=PowerMetric("chebyshev")).cost, rel=1e-12)
    # A look at some rows first, all pairs once, and those of the plan once more.
    assert sum(asked) < 1.2 * 1300 * 1200
    rough = transport(x0, x1, cost=CustomCost(function, error=1e-3)).certificate
    assert plan.certificate.dual * 0.997 < rough.dual < plan.certificate.dual * 0.9995
    assert not rough.proves_optimal()
    with pytest.raises(InputError, match="error"):
        CustomCost(function, error=-1.0)

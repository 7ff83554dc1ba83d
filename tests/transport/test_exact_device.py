"""The GPU's method, run by torch on the processor; and machines without POT or numba."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from driftfit.errors import InputError, SolverError
from driftfit.transport import Exact, PowerMetric, Problem, solve, transport
from driftfit.transport.certificate import certify, transform_bound
from driftfit.transport.costs import passes as pricing
from driftfit.transport.costs.squared import MovedTable
from driftfit.transport.problem import fits_on_device
from driftfit.transport.solvers import exact as exact_module
from driftfit.transport.solvers import pricing as column_generation

torch = pytest.importorskip("torch")


def problem_of(kind: str, n: int) -> Problem:
    rng = np.random.default_rng(n)
    x0, x1 = rng.standard_normal((n, 6)), rng.standard_normal((n, 6)) + 0.5
    if kind == "relu":
        x0, x1 = np.maximum(x0, 0).astype(np.float32), np.maximum(x1, 0).astype(np.float32)
    elif kind == "copies":
        x0 = x0[rng.integers(0, max(1, n // 4), n)]
    elif kind == "constant":
        x0, x1 = np.zeros((n, 2)), np.ones((n, 2))
    elif kind == "far":
        x1 = x1 + 1e5
    elif kind == "outliers":
        x1[: n // 10] *= 30
    return Problem.of(x0, x1)


@pytest.mark.parametrize("kind", ["plain", "relu", "copies", "constant", "far", "outliers"])
@pytest.mark.parametrize("n", [2, 30, 400])
def test_same_optimum_as_on_the_processor(kind: str, n: int) -> None:
    problem = problem_of(kind, n)
    solution = Exact().solve(problem.to_device("cpu"))
    certificate = certify(problem, solution, 0.0)
    reference = solve(problem, Exact(device="cpu"))
    assert certificate.primal == pytest.approx(reference.cost, rel=1e-9)
    assert certificate.proves_optimal(), certificate
    assert sorted(solution.cols) == list(range(n))


@pytest.mark.parametrize("kind", ["plain", "relu", "copies", "far"])
def test_costs_of_candidates_may_be_read_from_those_that_are_held(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there are many features; the certificate forms those of the plan from the samples."""
    problem = problem_of(kind, 300).to_device("cpu")
    rows, cols = np.arange(300), np.arange(300)[::-1].copy()
    formed = problem.held().pairs(rows, cols)
    monkeypatch.setattr("driftfit.transport.costs.table.HELD_VALUES", 0)
    held = problem.held()
    assert np.array_equal(held.pairs(rows, cols), held.matrix[rows, cols].numpy())
    assert held.pairs(rows, cols) == pytest.approx(formed, rel=1e-9)
    assert held.pair_rounding.rows is not None
    problem.forget()
    plan, reference = solve(problem, Exact()), solve(problem_of(kind, 300), Exact(device="cpu"))
    assert plan.cost == pytest.approx(reference.cost, rel=1e-9)
    assert plan.certificate is not None
    assert plan.certificate.proves_optimal(), plan.certificate


@pytest.mark.parametrize("kind", ["plain", "relu", "copies", "constant", "far", "outliers"])
@pytest.mark.parametrize(("n", "m"), [(1, 5), (30, 20), (150, 400), (400, 100)])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_sizes_and_weights(kind: str, n: int, m: int, weighted: bool) -> None:
    pytest.importorskip("numba")
    x0, x1 = problem_of(kind, n).x0, problem_of(kind, m).x1
    weights = np.random.default_rng(m).random(n) + 0.01 if weighted else None
    problem = Problem.of(x0, x1, weights)
    plan = solve(problem.to_device("cpu"), Exact())
    reference = solve(problem, Exact(device="cpu"))
    assert plan.cost == pytest.approx(reference.cost, rel=1e-9)
    assert plan.certificate.proves_optimal(), plan.certificate
    assert plan.certificate.marginal_error < 1e-12
    assert len(plan) <= n + m - 1


def test_the_whole_way_on_tensors() -> None:
    problem = problem_of("relu", 300)
    on_tensors = problem.to_device("cpu")
    assert on_tensors.on_device
    assert not on_tensors.to_host().on_device
    plan = solve(on_tensors, Exact())
    assert plan.certificate.proves_optimal()
    assert plan.cost == pytest.approx(solve(problem, Exact(device="cpu")).cost, rel=1e-12)


def test_the_bound_on_tensors_is_the_bound_on_arrays() -> None:
    problem = problem_of("plain", 200)
    u = np.random.default_rng(0).standard_normal(200)
    weights = problem.weights0, problem.weights1
    here = transform_bound(problem.table(), np.arange(200), u, weights, 0.0)
    there = transform_bound(problem.to_device("cpu").table(), np.arange(200), u, weights, 0.0)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_bound_on_tensors_forms_the_costs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second look, at pairs near the minimum, reads what the first has formed."""
    problem = problem_of("plain", 200).to_device("cpu")
    table, formed = problem.table(), []
    whole = type(table)._product_block
    monkeypatch.setattr(type(table), "_product_block", lambda *args: formed.append(1) or whole(*args))
    looked_again = []
    pairs = type(table).pairs
    monkeypatch.setattr(type(table), "pairs", lambda *args: looked_again.append(1) or pairs(*args))
    transform_bound(table, np.arange(200), np.zeros(200), (problem.weights0, problem.weights1), 0.0)
    assert len(formed) == 1
    assert looked_again


@pytest.mark.parametrize("kind", ["plain", "relu", "copies", "far", "outliers"])
def test_costs_from_those_about_other_centres(kind: str) -> None:
    """Off by no more than they say, also where the clouds are far apart."""
    problem = problem_of(kind, 120).to_device("cpu")
    assert not isinstance(problem.proven_table(), MovedTable)
    held = problem.held()
    table, plain = problem.proven_table(), problem.table()
    assert isinstance(table, MovedTable)
    x0, x1 = (np.asarray(x, dtype=np.longdouble) for x in (problem.x0, problem.x1))
    true = ((x0[:, None] - x1) ** 2).sum(axis=2)
    bound = np.asarray(table.rounding.rows)[:, None] + np.asarray(table.rounding.columns)
    for rows in (slice(0, 120), np.arange(5, 60)):
        assert (np.abs(table.block(rows).numpy() - true[rows]) <= bound[rows]).all()
    u, v = np.random.default_rng(0).standard_normal((2, 120))
    reduced = table.reduced(slice(10, 30), torch.from_numpy(u[10:30]), torch.from_numpy(v)).numpy()
    slack = bound[10:30] + 1e-14
    assert (np.abs(reduced - (true[10:30] - u[10:30, None] - v)) <= slack).all()
    pairs = np.arange(120), np.arange(120)[::-1].copy()
    assert np.array_equal(table.pairs(*pairs), plain.pairs(*pairs))
    # A solver that writes into the costs is not believed.
    held.matrix.mul_(2.0)
    assert problem.proven_table() is plain


def test_a_device_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="squared Euclidean"):
        transport(np.zeros((3, 1)), np.ones((2, 1)), solver=Exact(device="cuda"), cost=PowerMetric(p=1))


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize(("n", "m"), [(12, 9), (40, 40), (120, 80)])
def test_without_numba_scipy_takes_over(monkeypatch: pytest.MonkeyPatch, n: int, m: int, place: str) -> None:
    rng = np.random.default_rng(1)
    weights = None if n == m else rng.random(n)
    problem = Problem.of(rng.standard_normal((n, 2)), rng.standard_normal((m, 2)), weights)
    reference = solve(problem, Exact()).cost
    if place == "device":
        problem = problem.to_device("cpu")
    for module in (exact_module, column_generation):
        monkeypatch.setattr(module, "SMALL_PAIRS", 1000)
    monkeypatch.setattr(exact_module, "has_numba", lambda: False)
    monkeypatch.setattr(pricing, "has_numba", lambda: False)
    monkeypatch.setitem(sys.modules, "ot", None)
    monkeypatch.setitem(sys.modules, "driftfit.transport.kernels.simplex", None)
    plan = solve(problem, Exact())
    assert plan.cost == pytest.approx(reference, rel=1e-9)
    assert plan.certificate.proves_optimal()


@pytest.mark.parametrize("kind", ["plain", "relu", "copies", "constant", "outliers"])
@pytest.mark.parametrize(("n", "m", "weighted"), [(150, 400, False), (400, 100, False), (120, 130, True)])
def test_the_linear_programme_meets_ties_and_far_samples(
    monkeypatch: pytest.MonkeyPatch, kind: str, n: int, m: int, weighted: bool
) -> None:
    weights = np.random.default_rng(m).random(n) + 0.01 if weighted else None
    problem = Problem.of(problem_of(kind, n).x0, problem_of(kind, m).x1, weights)
    reference = solve(problem, Exact()).cost
    for module in (exact_module, column_generation):
        monkeypatch.setattr(module, "SMALL_PAIRS", 1000)
    for module in (exact_module, pricing):
        monkeypatch.setattr(module, "has_numba", lambda: False)
    plan = solve(problem.to_device("cpu"), Exact())
    assert plan.cost == pytest.approx(reference, rel=1e-9)
    assert plan.certificate.gap < 1e-9, plan.certificate
    assert len(plan) <= n + m - 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu() -> None:
    problem = problem_of("relu", 2000)
    plan = solve(problem, Exact(device="cuda"))
    assert plan.certificate.proves_optimal()
    x0, x1 = (torch.from_numpy(x).cuda() for x in (problem.x0, problem.x1))
    assert transport(x0, x1).cost == pytest.approx(plan.cost, rel=1e-12)


def test_a_search_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_generation, "_MOST_ROUNDS", 1)
    monkeypatch.setattr(column_generation, "_CANDIDATES", 1)
    with pytest.raises(SolverError, match="did not end in 1 rounds"):
        Exact().solve(problem_of("plain", 400).to_device("cpu"))


def test_costs_that_do_not_fit_are_left_to_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("plain", 30)
    best = solve(problem, Exact(device="cpu")).cost
    monkeypatch.setattr(exact_module, "fits_on_device", lambda problem: False)
    monkeypatch.setattr(exact_module, "Matching", lambda *args: pytest.fail("held the costs on the device"))
    with pytest.warns(RuntimeWarning, match="30 x 30 pairs take 0.0 GB, and inf GB of the device may be used"):
        assert solve(problem.to_device("cpu"), Exact()).cost == pytest.approx(best, rel=1e-12)


def test_memory_that_torch_keeps_counts_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    # 12 bytes for each of 900 pairs, of which a share of the free memory may be taken.
    problem = SimpleNamespace(on_device=True, shape=(30, 30), x0=SimpleNamespace(device=torch.device("cuda")))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda place: (10_000, 99_999))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda place: 50_000)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda place: 50_000)
    assert not fits_on_device(problem)  # type: ignore[arg-type]
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda place: 56_000)
    assert fits_on_device(problem)  # type: ignore[arg-type]

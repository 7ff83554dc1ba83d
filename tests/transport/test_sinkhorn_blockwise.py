"""Sinkhorn in blocks, and on a device with all costs held, gives the plan that Sinkhorn on the whole matrix gives."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from driftfit.errors import SolverError
from driftfit.transport import Exact, Problem, Sinkhorn, Solution, solve
from driftfit.transport import problem as devices
from driftfit.transport.costs import table as cost_table
from driftfit.transport.solvers import sinkhorn


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_table, "BLOCK_ENTRIES", 2000)
    monkeypatch.setattr(cost_table, "DEVICE_BLOCK_ENTRIES", 2000)


@pytest.fixture
def problem() -> Problem:
    rng = np.random.default_rng(0)
    return Problem.of(rng.standard_normal((90, 3)), rng.standard_normal((70, 3)) + 1, rng.random(90) + 0.1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", ["host", "device in blocks", "device"])
def test_same_cost_as_with_the_whole_matrix(problem: Problem, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solve(problem, Sinkhorn(epsilon=0.02))
    monkeypatch.setattr(sinkhorn, "_DENSE_PAIRS", 0)
    if place != "host":
        pytest.importorskip("torch")
        problem = problem.to_device("cpu")
    if place == "device in blocks":
        monkeypatch.setattr(sinkhorn, "fits_on_device", lambda problem: False)
    blocks = solve(problem, Sinkhorn(epsilon=0.02))
    assert blocks.cost == pytest.approx(whole.cost, rel=0.02)
    assert blocks.certificate.marginal_error < 1e-12
    assert blocks.certificate.gap == pytest.approx(whole.certificate.gap, abs=0.02)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", ["host in blocks", "device in blocks", "device"])
def test_few_kept_entries_still_make_a_good_plan(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # At the usual epsilon 32 entries of 400 carry a part of the mass alone.
    rng = np.random.default_rng(1)
    problem = Problem.of(rng.standard_normal((400, 2)), 1.2 * rng.standard_normal((300, 2)) + 1.0)
    whole, best = solve(problem, Sinkhorn()), solve(problem, Exact())
    monkeypatch.setattr(sinkhorn, "_DENSE_PAIRS", 0)
    if place.startswith("device"):
        pytest.importorskip("torch")
        problem = problem.to_device("cpu")
    if place.endswith("blocks"):
        monkeypatch.setattr(sinkhorn, "fits_on_device", lambda problem: False)
    plan = solve(problem, Sinkhorn())
    assert best.cost < plan.cost < 1.01 * whole.cost
    assert plan.certificate.marginal_error < 1e-12
    assert len(plan.mass) <= 32 * 700 + 700


def test_potentials_bound_the_cost(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinkhorn, "_DENSE_PAIRS", 0)
    solution = Sinkhorn(epsilon=0.05).solve(problem)
    assert solution.potential0 is not None
    assert (solution.mass > 0).all()
    assert len(solution.mass) <= 32 * 160 + 160


def test_held_costs_give_the_entropic_plan_itself(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    whole = solve(problem, Sinkhorn(epsilon=0.05, tolerance=1e-9)).todense()
    monkeypatch.setattr(sinkhorn, "_KEPT", 90)
    held = Sinkhorn(epsilon=0.05).solve(problem.to_device("cpu"))
    plan = np.zeros(problem.shape)
    plan[held.rows, held.cols] = held.mass
    assert np.abs(plan - whole).sum() < 1e-4


@pytest.mark.parametrize("distance", [30.0, 1e3, 1e6])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("place", ["host", "device"])
def test_a_sample_far_from_all_others(distance: float, turned: bool, place: str) -> None:
    rng = np.random.default_rng(0)
    clouds = [rng.standard_normal((90, 3)), rng.standard_normal((70, 3)) + 0.5]
    clouds[1][0] += distance
    problem = Problem.of(*(clouds[::-1] if turned else clouds))
    best = solve(problem, Exact())
    if place == "device":
        pytest.importorskip("torch")
        problem = problem.to_device("cpu")
    plan = solve(problem, Sinkhorn(epsilon=3e-4, max_iterations=500))
    assert plan.cost == pytest.approx(best.cost, rel=0.01)
    assert plan.certificate.marginal_error < 1e-12


def test_no_plan_is_an_error(problem: Problem) -> None:
    class Lost:
        def solve(self, problem: Problem) -> Solution:
            nothing = np.zeros(0, np.int64)
            return Solution(nothing, nothing, np.zeros(0), None)

    with pytest.raises(SolverError, match="ended without a plan"):
        solve(problem, Lost())


def test_arrays_need_no_torch(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not devices.fits_on_device(problem)

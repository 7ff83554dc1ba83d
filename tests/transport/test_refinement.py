"""Auctions that go on until a gap or a time is reached."""

from __future__ import annotations

import time

import numpy as np
import pytest

from driftfit.transport import Exact, Problem, Solution, solve
from driftfit.transport.certificate import certify
from driftfit.transport.solvers import anytime as refinement
from driftfit.transport.solvers.anytime import LoopedAuction, bidding_for, refine

torch = pytest.importorskip("torch")
pytest.importorskip("numba")


def problem_of(kind: str, n: int = 300) -> Problem:
    rng = np.random.default_rng(n)
    d = {"few": 2, "many": 40}.get(kind, 6)
    x0, x1 = rng.standard_normal((n, d)), rng.standard_normal((n, d)) * 1.2 + 0.5
    if kind == "copies":
        x0 = x0[rng.integers(0, n // 10, n)]
    elif kind == "far":
        x0, x1 = x0 + 1e4, x1 - 1e4
    elif kind == "whole":
        x0, x1 = x0.round(), x1.round()
    return Problem.of(x0, x1)


def in_order(partner: np.ndarray) -> np.ndarray:
    """A plan of the pairs there are, and of the rest in the order of its numbers."""
    partner = partner.copy()
    partner[partner < 0] = np.setdiff1d(np.arange(len(partner)), partner)
    return partner


def proven(problem: Problem, found: tuple[np.ndarray, np.ndarray | None]) -> float:
    n = problem.shape[0]
    certificate = certify(problem, Solution(np.arange(n), found[0], np.full(n, 1 / n), found[1]), 0.0)
    assert certificate.marginal_error < 1e-12
    return certificate.gap


@pytest.mark.parametrize("place", ["host", "tensors"])
@pytest.mark.parametrize("kind", ["plain", "few", "many", "copies", "whole"])
@pytest.mark.parametrize("gap", [0.1, 0.003])
def test_the_gap_asked_for_is_proven(kind: str, place: str, gap: float) -> None:
    problem = problem_of(kind)
    given = problem.to_device("cpu") if place == "tensors" else problem
    found = refine(given, bidding_for(given), in_order, gap=gap)
    assert proven(problem, found) <= gap + 1e-6
    assert sorted(found[0]) == list(range(300))


@pytest.mark.parametrize("place", ["host", "tensors"])
def test_what_is_asked_for_is_all_that_is_done(place: str) -> None:
    given = problem_of("plain").to_device("cpu") if place == "tensors" else problem_of("plain")
    phases = []
    for gap in (0.2, 0.01):
        seen: list[tuple[str, float]] = []
        refine(given, bidding_for(given), in_order, gap=gap, progress=lambda *what, seen=seen: seen.append(what))
        assert seen[-1] == ("auction", 1.0)
        assert [share for _, share in seen] == sorted(share for _, share in seen)
        phases.append(len(seen))
    assert 1 <= phases[0] < phases[1] < 8


@pytest.mark.parametrize("place", ["host", "tensors"])
def test_without_a_gap_it_ends_near_the_optimum(place: str) -> None:
    problem = problem_of("plain")
    given = problem.to_device("cpu") if place == "tensors" else problem
    partner, _ = refine(given, bidding_for(given), in_order, gap=0.0)
    cost = problem.pair_costs(np.arange(300), partner).mean()
    assert cost == pytest.approx(solve(problem, Exact(device="cpu")).cost, rel=1e-3)


def test_clouds_far_apart_lose_no_digits() -> None:
    problem = problem_of("far")
    partner, potential = refine(problem, bidding_for(problem), in_order, gap=1e-10)
    assert proven(problem, (partner, potential)) <= 1e-9


@pytest.mark.parametrize("place", ["host", "tensors"])
@pytest.mark.parametrize("kind", ["plain", "few", "many"])
def test_without_time_there_is_a_plan(kind: str, place: str) -> None:
    problem = problem_of(kind)
    given = problem.to_device("cpu") if place == "tensors" else problem
    partner, potential = refine(given, bidding_for(given), in_order, gap=0.0, until=time.monotonic() - 1)
    assert sorted(partner) == list(range(300))
    assert potential is None
    best = solve(problem, Exact(device="cpu")).cols
    start, _ = refine(given, bidding_for(given), pytest.fail, gap=0.0, until=time.monotonic() - 1, start=best)
    np.testing.assert_array_equal(start, best)


@pytest.mark.parametrize("place", ["host", "tensors"])
def test_time_that_ends_in_a_phase_leaves_what_was_found(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("many", 600)
    given = problem.to_device("cpu") if place == "tensors" else problem
    bidding = bidding_for(given)
    phase, seen = bidding.phase, []

    def short(eps: float, *, leave: int, until: float) -> bool:
        seen.append(eps)
        return phase(eps, leave=leave, until=until if len(seen) < 2 else time.monotonic() - 1)

    monkeypatch.setattr(bidding, "phase", short)
    found = refine(given, bidding, in_order, gap=0.0, until=time.monotonic() + 100)
    assert len(seen) == 2
    assert proven(problem, found) < 0.5


@pytest.mark.parametrize("place", ["host", "tensors"])
def test_costs_that_are_all_alike(place: str) -> None:
    problem = Problem.of(np.zeros((50, 2)), np.ones((50, 2)))
    given = problem.to_device("cpu") if place == "tensors" else problem
    assert bidding_for(given).spread == 0
    assert proven(problem, refine(given, bidding_for(given), in_order, gap=0.0)) < 1e-12


def test_one_sample() -> None:
    problem = Problem.of([[1.0, 2.0]], [[3.0, 4.0]])
    assert refine(problem, bidding_for(problem), in_order, gap=0.01)[0].tolist() == [0]


def test_a_better_plan_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("plain")
    best = solve(problem, Exact(device="cpu")).cols
    partner, potential = refine(problem, bidding_for(problem), in_order, gap=0.2, start=best)
    np.testing.assert_array_equal(partner, best)
    assert proven(problem, (partner, potential)) <= 0.2


def test_bounds_are_those_of_the_certificate() -> None:
    """The gap that ends it is never smaller than the one that is proven, but for rounding."""
    problem = problem_of("many", 500)
    best = refinement._Best(problem, LoopedAuction(problem.table(apart=True)).table)
    bidding = bidding_for(problem)
    bidding.phase(bidding.spread / 16, leave=5, until=np.inf)
    best.bound(bidding.potentials(np.inf))
    best.plan(in_order(bidding.pairs()))
    gap = proven(problem, (best.partner, bidding.table.potential0(best.u)))
    assert 0 < gap <= best.gap + 1e-6 < 0.2


def test_other_costs_are_refused() -> None:
    with pytest.raises(TypeError, match="squared distances"):
        bidding_for(Problem.from_costs(np.eye(3)))

"""The auction in which all rows bid at once, run by torch on the processor."""

from __future__ import annotations

import time

import numpy as np
import pytest

from driftfit.transport import Exact, Problem, solve
from driftfit.transport.solvers import parallel as parallel_auction
from driftfit.transport.solvers.parallel import ParallelAuction

torch = pytest.importorskip("torch")


def clouds(n: int, d: int = 5, factor: float = 1.0) -> Problem:
    rng = np.random.default_rng(n + d)
    return Problem.of(factor * rng.standard_normal((n, d)), factor * (rng.standard_normal((n, d)) + 0.5))


def auction_of(problem: Problem, device: str = "cpu") -> ParallelAuction:
    return ParallelAuction(problem.to_device(device).table(apart=True))


def run(auction: ParallelAuction, phases: int, leave: int = 0) -> float:
    """Epsilon of the last of some phases."""
    eps = auction.spread / 4
    for _ in range(phases):
        assert auction.phase(eps, leave=leave)
        eps /= 4
    return 4 * eps


@pytest.mark.parametrize("n", [2, 31, 400])
@pytest.mark.parametrize("d", [1, 5, 40])
def test_every_row_is_within_epsilon_of_its_best(n: int, d: int) -> None:
    problem = clouds(n, d)
    auction = auction_of(problem)
    eps = run(auction, 3)
    partner = auction.pairs()
    assert sorted(partner) == list(range(n))
    u, v = auction.potentials()
    table = problem.to_device("cpu").table(apart=True)
    costs = table.block(slice(0, n)).numpy()
    rounding = 1e-5 * costs.max()
    assert (u[:, None] + v <= costs + rounding).all()
    assert (costs[np.arange(n), partner] <= u + v[partner] + 1.01 * eps + rounding).all()
    best = solve(problem, Exact(device="cpu")).cost
    found = problem.pair_costs(np.arange(n), partner).mean()
    assert best * (1 - 1e-12) <= found <= best + eps + rounding


def test_short_lists_found_by_blocks_lead_to_the_same_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the least of a block first, as for many columns; and bounds that are never below a column left out."""
    problem = clouds(700, 6)
    monkeypatch.setattr(parallel_auction, "_LISTED", 4)
    monkeypatch.setattr(parallel_auction, "_BLOCK", 8)
    monkeypatch.setattr(parallel_auction, "_HOST_ENTRIES", 10_000)
    auction = auction_of(problem)
    eps = run(auction, 4)
    assert auction.scans > 700
    u, v = auction.potentials()
    costs = problem.to_device("cpu").table(apart=True).block(slice(0, 700)).numpy()
    # The first potential is tight: no list has missed a column.
    np.testing.assert_allclose(u, (costs - v).min(axis=1), atol=1e-4)
    assert costs[np.arange(700), auction.pairs()].mean() - u.mean() - v.mean() <= 1.01 * eps


def test_no_more_rows_than_allowed_are_left_over() -> None:
    auction = auction_of(clouds(500))
    run(auction, 2, leave=20)
    partner = auction.pairs()
    assert 0 < (partner < 0).sum() <= 20
    assert len(set(partner[partner >= 0])) == (partner >= 0).sum()


def test_a_run_can_be_repeated() -> None:
    found = []
    for _ in range(2):
        auction = auction_of(clouds(300))
        run(auction, 3)
        found.append(auction.pairs())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("factor", [1e-25, 1e20])
def test_samples_of_any_size(factor: float) -> None:
    plain, scaled = auction_of(clouds(200)), auction_of(clouds(200, factor=factor))
    assert scaled.spread == pytest.approx(factor**2 * plain.spread, rel=1e-3)
    run(scaled, 3)
    problem = clouds(200, factor=factor)
    cost = problem.pair_costs(np.arange(200), scaled.pairs()).mean()
    assert cost <= 1.02 * solve(problem, Exact(device="cpu")).cost


def test_time_that_is_up_ends_it() -> None:
    auction = auction_of(clouds(300))
    assert not auction.phase(auction.spread, leave=0, until=time.monotonic() - 1)
    assert auction.potentials() is None
    assert (auction.pairs() == -1).all()
    run(auction, 1)
    before = auction.pairs()
    assert not auction.phase(auction.spread / 1000, leave=0, until=time.monotonic() - 1)
    # Pairs that are not within the new epsilon are parted; no new ones are made.
    after = auction.pairs()
    assert ((after == before) | (after == -1)).all()
    assert auction.potentials(time.monotonic() - 1) is not None


def test_epsilon_is_never_below_rounding() -> None:
    auction = auction_of(clouds(100))
    assert 1e-7 < auction.finest / auction.spread < 1e-3
    far = clouds(100)
    far.x0[0] = 1e4
    assert auction_of(far).finest > 100 * auction.finest


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_as_on_the_processor() -> None:
    problem = clouds(5000, 8)
    here, there = auction_of(problem), auction_of(problem, "cuda")
    eps = [run(auction, 4) for auction in (here, there)]
    costs = [problem.pair_costs(np.arange(5000), auction.pairs()).mean() for auction in (here, there)]
    assert costs[1] == pytest.approx(costs[0], abs=2 * max(eps))
    bounds = [sum(side.mean() for side in auction.potentials()) for auction in (here, there)]
    assert bounds[1] == pytest.approx(bounds[0], abs=2 * max(eps))

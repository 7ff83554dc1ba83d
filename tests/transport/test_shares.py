"""The auction with weights: what rows hold of columns, and the potentials it leads to."""

from __future__ import annotations

import numpy as np
import pytest

from driftfit.transport import Exact, Problem, solve
from driftfit.transport.solvers.lists import Shares

pytest.importorskip("numba")

from driftfit.transport.solvers import auction as auction_module
from driftfit.transport.solvers.auction import AuctionState, TiesError, auction, run_phase
from driftfit.transport.solvers.lists import StoredCosts


def held(shares: Shares, n: int) -> np.ndarray:
    """What each row holds of each column."""
    found = np.zeros((n + 1, len(shares.first)))
    for column, at in enumerate(shares.first):
        last = -np.inf
        while at >= 0:
            assert shares.ask[at] >= last, "the cheapest share stands first"
            last = shares.ask[at]
            found[shares.holder[at], column] += shares.mass[at]
            at = shares.following[at]
    return found


@pytest.mark.parametrize("kind", ["weighted", "decades", "whole units", "one heavy column", "assignment"])
def test_no_weight_is_made_or_lost(kind: str, rng) -> None:
    n, m = (60, 60) if kind == "assignment" else (60, 45)
    weights0, weights1 = np.ones(n), np.ones(m)
    if kind == "weighted":
        weights0, weights1 = rng.random(n) + 0.01, rng.random(m) + 0.01
    elif kind == "decades":
        weights0, weights1 = 10.0 ** rng.uniform(-6, 0, n), 10.0 ** rng.uniform(-6, 0, m)
    elif kind == "whole units":
        weights0, weights1 = np.full(n, 3.0), np.full(m, 4.0)
    elif kind == "one heavy column":
        weights1[0] = 1000.0
    costs = rng.random((n, m))
    provider = StoredCosts(costs, np.zeros(m))
    state = AuctionState.fresh(provider, None if kind == "assignment" else (weights0, weights1))
    auction(provider, state, tolerance=1e-3)
    shares = state.shares
    assert shares is not None
    found, total = held(shares, n), weights0.sum()
    assert np.abs(found[:-1].sum(axis=1) + shares.free - weights0).max() <= 1e-6 * weights0.mean()
    assert found.sum(axis=0) == pytest.approx(weights1 * total / weights1.sum(), rel=1e-6, abs=1e-8 * total)
    assert shares.free.sum() <= (0.004 if kind != "assignment" else 0.0) * total
    assert shares.free.sum() == pytest.approx(found[-1].sum(), abs=1e-6 * total)


@pytest.mark.parametrize("eps", [0.1, 0.01])
def test_everybody_is_within_epsilon_of_its_best(eps: float, rng) -> None:
    n, m = 80, 50
    costs, weights = rng.random((n, m)), (rng.random(n), rng.random(m))
    provider = StoredCosts(costs, np.zeros(m))
    state = AuctionState.fresh(provider, weights)
    state.relist(provider, np.arange(n))
    run_phase(provider, state, eps, leave=1e-2)
    assert state.shares is not None
    values = costs + state.prices
    worst = (values - values.min(axis=1, keepdims=True))[held(state.shares, n)[:-1] > 0]
    assert worst.max() <= eps * (1 + 1e-9)


def test_more_shares_than_there_were_places_for(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every row wants the same few columns, and takes crumbs of them.
    monkeypatch.setattr("driftfit.transport.solvers.lists._PLACES", 0)
    grown, grow = [], Shares.grow
    monkeypatch.setattr(Shares, "grow", lambda self: grown.append(1) or grow(self))
    n, m = 200, 20
    provider = StoredCosts(rng.random((n, m)), np.zeros(m))
    weights = rng.random(n), rng.random(m)
    state = AuctionState.fresh(provider, weights)
    auction(provider, state, tolerance=1e-2)
    assert grown
    assert state.shares is not None
    assert np.abs(held(state.shares, n)[:-1].sum(axis=1) + state.shares.free - weights[0]).max() < 1e-6


def test_prices_only_rise(rng) -> None:
    provider = StoredCosts(rng.random((50, 40)), np.zeros(40))
    state = AuctionState.fresh(provider, (rng.random(50), rng.random(40)))
    state.relist(provider, np.arange(50))
    before = state.prices.copy()
    for eps in (0.1, 0.02, 0.004):
        run_phase(provider, state, eps, leave=1e-2)
        assert (state.prices >= before).all()
        before = state.prices.copy()


def test_epsilon_below_the_last_digit_ends_all_the_same() -> None:
    # Prices of 1e9 swallow an epsilon of 1e-9: a bid still raises them.
    provider = StoredCosts(np.zeros((3, 3)), np.full(3, 1e9))
    state = AuctionState.fresh(provider)
    state.relist(provider, np.arange(3))
    run_phase(provider, state, 1e-9)
    state.settle()
    assert sorted(state.partner.tolist()) == [0, 1, 2]


def test_a_budget_ends_an_auction_with_weights(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auction_module, "_SLICE", 5)
    provider = StoredCosts(rng.random((100, 90)), np.zeros(90))
    state = AuctionState.fresh(provider, (rng.random(100), rng.random(90)))
    with pytest.raises(TiesError):
        auction(provider, state, tolerance=1e-4, budget=10)


def test_a_state_without_shares_cannot_bid(rng) -> None:
    provider = StoredCosts(rng.random((4, 4)), np.zeros(4))
    state = AuctionState.fresh(provider)
    state.shares = None
    with pytest.raises(ValueError, match=r"AuctionState\.fresh"):
        run_phase(provider, state, 0.1)


@pytest.mark.parametrize("d", [2, 40])
def test_the_start_is_good_enough_for_few_pivots(d: int, rng, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the simplex has left to do beside a start from nothing."""
    from driftfit.transport.solvers.simplex import TransportTree

    n, m = 700, 560
    problem = Problem.of(rng.standard_normal((n, d)), rng.standard_normal((m, d)) + 0.3)
    made, improve = [], TransportTree.improve

    def counted(tree: TransportTree) -> int:
        made.append(improve(tree))
        return made[-1]

    monkeypatch.setattr(TransportTree, "improve", counted)
    good = solve(problem, Exact(device="cpu"))
    few = sum(made)
    made.clear()
    monkeypatch.setattr(Exact, "_approximate", lambda *_: (np.zeros(m), None))
    poor = solve(problem, Exact(device="cpu"))
    assert good.cost == pytest.approx(poor.cost, rel=1e-12)
    assert few < 0.5 * sum(made)

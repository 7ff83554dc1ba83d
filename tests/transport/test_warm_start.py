"""A start changes how long a solve takes, never its result."""

from __future__ import annotations

import numpy as np
import pytest

from driftfit.errors import InputError
from driftfit.transport import Exact, PowerMetric, Problem, Sliced, solve, transport, transport_batch
from driftfit.transport.solvers import auction, exact, levels

KINDS = ["few", "many features", "few features", "unequal", "weighted", "unequal, few features", "given costs", "L1",
         "huge", "copies"]  # fmt: skip
STARTS = ["its own", "moved", "zero", "random", "far", "column after column"]


def problem(kind: str, start: object = None) -> Problem:
    rng = np.random.default_rng(0)
    n, d = {"few": 50, "few features": 1100, "unequal, few features": 1300}.get(kind, 300), 3 if "few f" in kind else 40
    x0, x1 = rng.standard_normal((n, d)), rng.standard_normal((n - 70 * ("unequal" in kind), d)) + 0.5
    if kind == "many features":
        # Beyond the loops for few samples.
        x0, x1 = rng.standard_normal((1100, 60)), rng.standard_normal((1100, 60))
    elif kind == "given costs":
        return Problem.from_costs(rng.random((300, 270)), start=start)
    elif kind == "huge":
        x0, x1 = x0 * 1e120, x1 * 1e120
    elif kind == "copies":
        x0 = x0[rng.integers(0, 100, n)]
    weights = rng.random(n) if kind == "weighted" else None
    return Problem.of(x0, x1, weights, None, PowerMetric("cityblock") if kind == "L1" else None, start)


@pytest.mark.parametrize("kind", KINDS)
def test_any_start_gives_the_same_certified_cost(kind: str) -> None:
    rng = np.random.default_rng(1)
    cold = solve(problem(kind), Exact(device="cpu"))
    v, size = cold.potentials[1], float(np.abs(cold.potentials[1]).mean())
    noise = size * rng.standard_normal(len(v))
    for name in STARTS:
        start = {
            "its own": cold, "moved": v + 0.01 * noise, "zero": np.zeros(len(v)), "random": 1e3 * noise,
            "far": np.where(np.arange(len(v)) == 3, 1e300, v), "column after column": np.arange(len(v)) * size,
        }[name]  # fmt: skip
        plan = solve(problem(kind, start), Exact(device="cpu"))
        assert plan.certificate.proves_optimal(), name
        assert plan.cost == pytest.approx(cold.cost, rel=1e-12), name


def test_potentials_are_feasible_and_prove_the_cost() -> None:
    for kind in KINDS:
        if kind != "huge":
            given = problem(kind)
            plan = solve(given, Exact(device="cpu"))
            u, v = plan.potentials
            assert (given.cost_matrix() - u[:, None] - v).min() >= 0.0, kind
            assert given.weights0 @ u + given.weights1 @ v == pytest.approx(plan.cost, rel=1e-9), kind


@pytest.mark.parametrize("kind", ["many features", "few features", "unequal"])
def test_samples_that_moved_a_little_need_no_cold_start(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = problem(kind)
    rng, plan = np.random.default_rng(2), solve(old, Exact(device="cpu"))
    x0, x1 = (x + 0.003 * rng.standard_normal(x.shape) for x in (old.x0, old.x1))
    cold = transport(x0, x1)

    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("the way from nothing")

    for module, name in ((auction, "auction"), (exact, "auction"), (levels, "price_out")):
        monkeypatch.setattr(module, name, never)
    for start in (plan, plan.potentials, plan.potentials[1]):
        warm = transport(x0, x1, start=start)
        assert warm.certificate.proves_optimal()
        assert warm.cost == pytest.approx(cold.cost, rel=1e-12)
    with pytest.raises(AssertionError, match="from nothing"):
        transport(x0, x1)


@pytest.mark.parametrize("d", [2, 20])
def test_a_plan_serves_for_other_samples_and_sizes(d: int) -> None:
    rng = np.random.default_rng(3)
    x0, x1 = rng.standard_normal((400, d)), rng.standard_normal((400, d)) + 1.0
    old = transport(x0, x1)
    for n, m in ((400, 400), (1100, 1050), (90, 90)):
        y0, y1 = rng.standard_normal((n, d)), rng.standard_normal((m, d)) + 1.0
        plan = transport(y0, y1, start=(old, x0))
        assert plan.certificate.proves_optimal()
        assert plan.cost == pytest.approx(transport(y0, y1).cost, rel=1e-12)
    # Carried to its own samples a potential is what it was, where it binds.
    carried = Problem.of(x0, x1, start=(old, x0)).start
    assert carried == pytest.approx(old.potentials[1], rel=1e-9, abs=1e-9)


def test_batches_start_from_batches() -> None:
    rng = np.random.default_rng(4)
    x0, x1 = rng.standard_normal((2, 6, 60, 5))
    old = transport_batch(x0, x1)
    y0, y1 = x0 + 0.01 * rng.standard_normal(x0.shape), x1 + 0.01 * rng.standard_normal(x1.shape)
    cold = transport_batch(y0, y1)
    potentials = np.stack([old.potentials(k)[1] for k in range(6)])
    others = [(old[k], x0[k]) for k in range(6)]
    for start in (old, potentials, list(potentials), others, [None, *potentials[1:]], 1e9 * potentials):
        warm = transport_batch(y0, y1, start=start)
        np.testing.assert_allclose(warm.costs, cold.costs, rtol=1e-12)
        assert all(plan.certificate.proves_optimal() for plan in warm)
    # Problems that are solved one by one have starts too.
    np.testing.assert_allclose(transport_batch(y0, y1, cost=PowerMetric(), start=old).costs,
                               transport_batch(y0, y1, cost=PowerMetric()).costs, rtol=1e-12)  # fmt: skip


def test_what_is_no_start_is_refused() -> None:
    rng = np.random.default_rng(5)
    x0, x1 = rng.standard_normal((20, 3)), rng.standard_normal((15, 3))
    plan = transport(x0, x1)
    for start, words in (
        (np.zeros(14), "20 x 15"),
        ((np.zeros(15), np.zeros(15)), "20 x 15"),
        (transport(x0[:10], x1), "20 x 15"),
        (np.full(15, np.nan), "NaN"),
        ((np.full(20, np.inf), np.zeros(15)), "infinity"),
        (transport(x0, x1, solver=Sliced()), "without potentials"),
        ((plan, x0[:, :2]), "features"),
        ((plan, x0[:10]), "10 x 15"),
        ("warm", "potentials"),
    ):
        with pytest.raises(InputError, match=words):
            transport(x0, x1, start=start)
    with pytest.raises(InputError, match="between given costs"):
        Problem.from_costs(rng.random((20, 15)), start=(plan, x0))
    with pytest.raises(InputError, match="one start for each"):
        transport_batch([x0, x0], [x1, x1], start=[plan])

"""`Hierarchical` and the choice of a solver."""

from __future__ import annotations

import numpy as np
import pytest

from driftfit.errors import InputError
from driftfit.transport import (
    Exact,
    Hierarchical,
    PowerMetric,
    Problem,
    Sliced,
    choose_solver,
    estimate,
    solve,
    transport,
)


@pytest.fixture(scope="module")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((900, 6)), rng.standard_normal((900, 6)) * 1.3 + 1


def test_close_to_exact_and_better_with_every_pass(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    exact = transport(*clouds, solver=Exact()).cost
    costs = [transport(*clouds, solver=Hierarchical(block=150, passes=passes)).cost for passes in (0, 1, 4)]
    assert exact <= costs[2] <= costs[1] <= costs[0]
    assert costs[2] < 1.05 * exact


def test_a_permutation_with_a_valid_certificate(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    plan = transport(*clouds, solver=Hierarchical(block=100, passes=1))
    assert sorted(plan.cols) == list(range(900))
    assert plan.certificate.marginal_error < 1e-12
    assert 0 <= plan.certificate.gap < 1
    assert plan.certificate.dual <= transport(*clouds, solver=Exact()).cost


def test_one_block_is_exact(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    plan = transport(*clouds, solver=Hierarchical(block=1000, passes=0))
    assert plan.cost == pytest.approx(transport(*clouds, solver=Exact()).cost, rel=1e-6)


@pytest.mark.parametrize(("n", "m"), [(900, 700), (500, 900)])
def test_weights_and_unequal_sizes(n: int, m: int, clouds: tuple[np.ndarray, np.ndarray]) -> None:
    rng = np.random.default_rng(1)
    weights = rng.random(n) * (rng.random(n) < 0.8)
    problem = Problem.of(clouds[0][:n], clouds[1][:m], weights)
    plan = solve(problem, Hierarchical(block=120))
    assert plan.certificate.marginal_error < 1e-12
    assert plan.cost < 1.3 * solve(problem, Exact()).cost


def test_the_same_seed_gives_the_same_plan(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = (transport(*clouds, solver=Hierarchical(block=100, seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first.cols, second.cols)


def test_copies_of_one_sample() -> None:
    plan = transport(np.zeros((300, 2)), np.ones((300, 2)), solver=Hierarchical(block=50, passes=1))
    assert plan.cost == pytest.approx(2.0)


@pytest.mark.parametrize("place", ["host", "tensors"])
@pytest.mark.parametrize("gap", [0.05, 0.005])
def test_it_goes_on_until_a_gap_is_proven(place: str, gap: float, clouds: tuple[np.ndarray, np.ndarray]) -> None:
    pytest.importorskip("numba")
    problem = Problem.of(*clouds)
    if place == "tensors":
        pytest.importorskip("torch")
        problem = problem.to_device("cpu")
    plan = solve(problem, Hierarchical(block=100, gap=gap))
    assert sorted(plan.cols) == list(range(900))
    assert plan.certificate.bound == "potentials"
    assert 0 <= plan.certificate.gap <= gap
    # Without a gap there is no proof of this kind.
    assert solve(problem, Hierarchical(block=100)).certificate.gap > gap


def test_it_goes_on_until_time_is_up(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    pytest.importorskip("numba")
    hurried = transport(*clouds, solver=Hierarchical(block=100, seconds=0, device="cpu"))
    assert sorted(hurried.cols) == list(range(900))
    assert hurried.certificate.bound != "potentials"
    stages: list[str] = []
    patient = Hierarchical(
        block=100, passes=1, seconds=600, gap=0.01, device="cpu", progress=lambda stage, _: stages.append(stage)
    )
    assert transport(*clouds, solver=patient).certificate.gap <= 0.01
    assert {"blocks", "pass 1 of 1", "auction"} <= set(stages)


def test_a_gap_for_unequal_sizes_is_not_pursued(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    plan = transport(clouds[0], clouds[1][:700], solver=Hierarchical(block=120, gap=0.01))
    assert plan.certificate.marginal_error < 1e-12
    assert plan.certificate.bound != "potentials"


def test_what_it_cannot_do_is_said(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(InputError, match="squared Euclidean"):
        transport(*clouds, solver=Hierarchical(), cost=PowerMetric("cityblock"))
    with pytest.raises(InputError, match="block"):
        Hierarchical(block=1)
    with pytest.raises(InputError, match="passes"):
        Hierarchical(passes=-1)
    with pytest.raises(InputError, match=r"gap must not be negative, got -0\.1"):
        Hierarchical(gap=-0.1)
    with pytest.raises(InputError, match="seconds"):
        Hierarchical(seconds=float("nan"))


def test_progress(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    seen = []
    transport(*clouds, solver=Hierarchical(block=300, passes=1, progress=lambda *what: seen.append(what)))
    assert ("blocks", 1.0) in seen
    assert seen[-1] == ("pass 1 of 1", 1.0)


class Sized:
    """Stands for samples that are too many to make."""

    def __init__(self, n: int, d: int) -> None:
        self.shape = (n, d)


def sized_problem(n: int, m: int, d: int, cost: object = None) -> Problem:
    small = Problem.of(np.zeros((2, 1)), np.ones((2, 1)), cost=cost)
    return Problem(Sized(n, d), Sized(m, d), small.weights0, small.weights1, small.cost, n == m)


def test_the_choice_goes_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftfit.transport.problem.gpu_available", lambda: False)
    assert isinstance(choose_solver(sized_problem(100_000, 100_000, 32)), Exact)
    assert isinstance(choose_solver(sized_problem(1_000_000, 1_000_000, 32)), Hierarchical)
    assert isinstance(choose_solver(sized_problem(900_000, 1_000_000, 32)), Hierarchical)
    assert isinstance(choose_solver(sized_problem(900_000, 1_000_000, 32, PowerMetric())), Sliced)
    assert isinstance(choose_solver(sized_problem(1000, 800, 3)), Exact)


def test_estimates_grow_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftfit.transport.problem.gpu_available", lambda: False)
    small, large = (estimate(sized_problem(n, n, 256), Exact()) for n in (10_000, 50_000))
    assert 0.5 < small.seconds < 30
    assert large.seconds > 5 * small.seconds
    assert large.memory < 2**32
    assert "assignment" in str(large)
    million = estimate(sized_problem(10**6, 10**6, 32))
    assert million.memory < 8 * 2**30
    assert "exact plan would take" in million.reason
    for solver in (Hierarchical(), Sliced(), Exact()):
        assert estimate(sized_problem(1000, 1000, 3), solver).solver is solver


def test_a_gpu_proves_a_gap_of_its_own_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftfit.transport.problem.gpu_available", lambda: True)
    chosen = estimate(sized_problem(10**6, 10**6, 32))
    assert chosen.solver == Hierarchical(gap=0.01, seconds=300)
    assert chosen.seconds < 300
    assert choose_solver(sized_problem(900_000, 10**6, 32)) == Hierarchical()


def test_estimates_of_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftfit.transport.problem.gpu_available", lambda: False)
    large = sized_problem(200_000, 200_000, 32)
    freely, hurried = (estimate(large, Hierarchical(gap=0.05, seconds=seconds)) for seconds in (None, 10))
    assert hurried.seconds < freely.seconds < estimate(large, Exact()).seconds
    assert freely.memory < 4 * 2**30


def test_blocks_on_several_workers_give_the_plan_of_one(rng):
    from driftfit.parallel import Processes, Serial

    x0, x1 = rng.normal(size=(600, 3)), rng.normal(size=(600, 3)) + 1
    plain = transport(x0, x1, solver=Hierarchical(block=100, device="cpu"))
    seen = []
    for engine in (Serial(), Processes(2)):
        solver = Hierarchical(block=100, device="cpu", engine=engine, progress=lambda stage, done: seen.append(stage))
        plan = transport(x0, x1, solver=solver)
        assert (plan.cols == plain.cols).all()
        assert plan.cost == plain.cost
    assert len(seen) == 2 * 4 * 8


@pytest.mark.slow
def test_blocks_on_ray_give_the_plan_of_one(rng):
    from driftfit.parallel import Ray

    x0, x1 = rng.normal(size=(400, 3)), rng.normal(size=(400, 3)) + 1
    plain = transport(x0, x1, solver=Hierarchical(block=100, passes=1, device="cpu"))
    spread = transport(x0, x1, solver=Hierarchical(block=100, passes=1, device="cpu", engine=Ray(1)))
    assert (spread.cols == plain.cols).all()

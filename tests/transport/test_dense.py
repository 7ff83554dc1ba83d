"""Small assignments and batches: optimal, proven, and never proven where they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from driftfit.errors import InputError
from driftfit.transport import Exact, PowerMetric, Problem, transport, transport_batch
from driftfit.transport.kernels.dense import prove
from driftfit.transport.solve import solve
from driftfit.transport.solvers.dense import assign_costs, assign_samples

KINDS = {
    "gaussian": lambda rng, n: (rng.normal(size=(n, 9)), rng.normal(size=(n, 9)) + 1),
    "square": lambda rng, n: (rng.random((n, 2)), rng.random((n, 2))),
    "whole numbers": lambda rng, n: (rng.integers(0, 3, (n, 2)) * 1.0, rng.integers(0, 3, (n, 2)) * 1.0),
    "equal": lambda rng, n: (np.ones((n, 3)), np.ones((n, 3))),
    "a far sample": lambda rng, n: (np.r_[rng.normal(size=(n - 1, 3)), [[1e7, 0, 0]]], rng.normal(size=(n, 3))),
    "two far samples": lambda rng, n: tuple(np.r_[rng.normal(size=(n - 1, 3)), [[1e9, 0, 0]]] for _ in range(2)),
    "tiny": lambda rng, n: (1e-170 * rng.normal(size=(n, 2)), 1e-170 * rng.normal(size=(n, 2))),
    "offset": lambda rng, n: (1e6 + rng.normal(size=(n, 2)), 1e6 + rng.normal(size=(n, 2))),
    "scales": lambda rng, n: (10.0 ** rng.uniform(-3, 3, (n, 1)), 10.0 ** rng.uniform(-3, 3, (n, 1))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 17, 64, 130])
def test_plans_are_optimal_and_proven(rng, kind, n):
    x0, x1 = KINDS[kind](rng, n)
    plan = transport(x0, x1)
    rows, cols = linear_sum_assignment(cdist(x0, x1, "sqeuclidean") if kind != "tiny" else cdist(x0, x1) * 1e170)
    if kind != "tiny":
        optimum = cdist(x0, x1, "sqeuclidean")[rows, cols].mean()
        assert plan.cost == pytest.approx(optimum, rel=1e-9, abs=1e-300)
        assert plan.certificate.dual <= optimum * (1 + 1e-12)
    assert plan.certificate.proves_optimal()
    assert sorted(plan.cols.tolist()) == list(range(n))


@pytest.mark.parametrize("matrix", ["random", "negative", "zero or one", "constant", "huge"])
def test_given_costs(rng, matrix):
    n = 60
    costs = {
        "random": rng.random((n, n)), "negative": rng.normal(size=(n, n)), "constant": np.full((n, n), -3.0),
        "zero or one": rng.integers(0, 2, (n, n)) * 1.0, "huge": rng.random((n, n)) * 1e307,
    }[matrix]  # fmt: skip
    rows, cols = linear_sum_assignment(costs)
    found = solve(Problem.from_costs(costs), Exact())
    assert found.cost == pytest.approx(costs[rows, cols].mean(), rel=1e-12)
    assert found.certificate.proves_optimal()
    if matrix != "huge":
        solved = assign_costs(costs)
        assert solved.proven.all()
        assert (costs - solved.u[:, None] - solved.v).min() >= 0.0
        assert solved.u.mean() + solved.v.mean() == pytest.approx(found.cost, rel=1e-12)


def test_a_wrong_plan_or_potential_is_not_proven(rng):
    costs, n = rng.random((20, 20)), 20
    right = assign_costs(costs)

    def proof(partner, v):
        out = np.empty(3)
        prove(costs, 0.0, partner, np.empty(n), v.copy(), np.empty(n), out)
        return out

    assert proof(right.partner, right.v)[1] == pytest.approx(right.proofs[0, 0], rel=1e-12)
    swapped = right.partner.copy()
    swapped[:2] = swapped[1::-1]
    assert proof(swapped, right.v)[1] < right.proofs[0, 0] - 1e-6 or proof(swapped, right.v)[0] > right.proofs[0, 0]
    assert proof(right.partner, right.v + rng.normal(size=n))[1] < right.proofs[0, 0] - 1e-3
    doubled = right.partner.copy()
    doubled[0] = doubled[1]
    assert proof(doubled, right.v)[1] == -np.inf


def test_costs_that_are_no_numbers_or_too_far_apart_are_left_to_others(rng):
    x, y = rng.normal(size=(8, 2)), rng.normal(size=(8, 2))
    x[0] = 1e200
    assert not assign_samples(x, y, [8]).proven[0]
    with pytest.raises(InputError, match="NaN"):
        transport(np.full((3, 2), np.nan), np.zeros((3, 2)))


def test_a_batch_is_its_problems_one_by_one(rng):
    x0, x1 = rng.normal(size=(7, 40, 5)), rng.normal(size=(7, 40, 5)) + 1
    plans = transport_batch(x0, x1)
    assert len(plans) == 7
    assert plans.partners.shape == (7, 40)
    for k, plan in enumerate(plans):
        alone = transport(x0[k], x1[k])
        assert plan.cols.tolist() == alone.cols.tolist() == plans.partners[k].tolist()
        assert plan.cost == alone.cost == pytest.approx(plans.costs[k], rel=1e-13)
        assert plans.bounds[k] == plan.certificate.dual == alone.certificate.dual
        u, v = plans.potentials(k)
        assert (cdist(x0[k], x1[k], "sqeuclidean") - u[:, None] - v).min() > -1e-12


def test_few_samples_of_many_features_go_the_same_way(rng):
    x0, x1 = rng.normal(size=(2, 3, 40, 900))
    plans = transport_batch(x0, x1)
    for k, plan in enumerate(plans):
        costs = cdist(x0[k], x1[k], "sqeuclidean")
        rows, cols = linear_sum_assignment(costs)
        assert plan.cost == pytest.approx(costs[rows, cols].mean(), rel=1e-13)
        assert plan.certificate.proves_optimal()


def test_a_batch_of_all_kinds(rng):
    sizes = [(5, 5), (30, 30), (12, 9), (1, 1)]
    x0, x1 = ([rng.normal(size=(size[side], 3)) for size in sizes] for side in (0, 1))
    weights = [rng.random(n) for n, _ in sizes]
    for options in ({}, {"weights0": weights}, {"cost": PowerMetric("cityblock")}):
        plans = transport_batch(x0, x1, **options)
        for k, plan in enumerate(plans):
            given = {"weights0": weights[k]} if "weights0" in options else options
            assert plan.cost == pytest.approx(transport(x0[k], x1[k], **given).cost, rel=1e-12)
            assert plan.certificate.proves_optimal()
            assert plans.bounds[k] <= plans.costs[k] * (1 + 1e-12)
        assert isinstance(plans.partners, list)
        assert (plans.potentials(2)[0].shape, plans.potentials(2)[1].shape) == ((12,), (9,))


def test_bad_batches(rng):
    x = rng.normal(size=(2, 4, 3))
    for call, words in (
        (lambda: transport_batch(x, x[:1]), "as many"),
        (lambda: transport_batch([], []), "as many"),
        (lambda: transport_batch(x, x[:, :, :2]), "features"),
        (lambda: transport_batch(x, np.full_like(x, np.nan)), "NaN"),
    ):
        with pytest.raises(InputError, match=words):
            call()

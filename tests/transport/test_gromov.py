"""Couplings by structure: exact recovery, the loss against POT's, bounds, any sizes and weights."""

from itertools import pairwise

import numpy as np
import ot
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from driftfit.errors import InputError
from driftfit.transport import (
    GromovWasserstein,
    IndependentCoupling,
    Problem,
    embed_distances,
    solve,
    transport,
)
from driftfit.transport.structure.inner import Clouds, distance_bound


def pot_loss(d0, d1, plan):
    constant, first, second = ot.gromov.init_matrix(d0, d1, plan.sum(1), plan.sum(0), "square_loss")
    return ot.gromov.gwloss(constant, first, second, plan)


def loss_by_definition(d0, d1, plan):
    return ((d0[plan.rows][:, plan.rows] - d1[plan.cols][:, plan.cols]) ** 2 @ plan.mass) @ plan.mass


def random_problem(seed, metric="sqeuclidean"):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(1, 6))
    m = n if seed % 2 else int(rng.integers(8, 60))
    x0, x1 = rng.normal(size=(n, d)), rng.gamma(1.0, size=(m, d))
    w0 = rng.random(n) + 0.1 if seed % 3 == 0 else np.ones(n)
    return x0, x1, w0 / w0.sum(), np.full(m, 1 / m), cdist(x0, x0, metric), cdist(x1, x1, metric)


@given(st.integers(0, 10_000), st.integers(4, 60), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_a_turned_reflected_shuffled_cloud_is_recovered(seed, n, d):
    rng = np.random.default_rng(seed)
    # Skewed, so that no other isometry fits as well.
    x0 = rng.gamma(1.0, size=(n, d)) * np.arange(1, d + 1)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    order = rng.permutation(n)
    plan = transport(x0, x0[order] @ turn + rng.normal(size=d), solver=GromovWasserstein())
    assert plan.distortion.value <= 1e-9 * max(cdist(x0, x0, "sqeuclidean").max() ** 2, 1e-300)
    assert np.allclose(cdist(x0, x0), cdist(x0[order], x0[order])[np.ix_(plan.cols, plan.cols)], atol=1e-5)


def test_three_hundred_turned_samples_are_the_same_samples():
    rng = np.random.default_rng(5)
    x0 = rng.gamma(1.0, size=(300, 4)) * np.arange(1, 5)
    order = rng.permutation(300)
    plan = transport(x0, x0[order] @ np.linalg.qr(rng.normal(size=(4, 4)))[0], solver=GromovWasserstein())
    assert (order[plan.cols] == plan.rows).all()


@pytest.mark.parametrize("seed", range(20))
def test_loss_is_no_higher_than_pots(seed):
    x0, x1, w0, w1, d0, d1 = random_problem(seed)
    plan = transport(x0, x1, w0, w1, solver=GromovWasserstein())
    peer = ot.gromov.gromov_wasserstein(d0, d1, w0, w1, "square_loss")
    assert plan.distortion.value == pytest.approx(loss_by_definition(d0, d1, plan), rel=1e-9)
    assert plan.distortion.value <= pot_loss(d0, d1, peer) * (1 + 1e-9)
    assert plan.distortion.lower <= plan.distortion.value
    assert np.abs(plan.row_mass() - w0).max() < 1e-14
    assert np.abs(plan.column_mass() - w1).max() < 1e-14


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_other_distances_come_as_embeddings(seed, metric):
    x0, x1, w0, w1, d0, d1 = random_problem(seed, metric)
    size = max(len(x0), len(x1))
    points = embed_distances(d0, dimensions=size), embed_distances(d1, dimensions=size)
    plan = transport(*points, w0, w1, solver=GromovWasserstein())
    peer = ot.gromov.gromov_wasserstein(d0, d1, w0, w1, "square_loss")
    assert plan.distortion.value == pytest.approx(loss_by_definition(d0, d1, plan), rel=1e-6)
    assert plan.distortion.value <= pot_loss(d0, d1, peer) * (1 + 1e-6)


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(2, 25), st.integers(1, 4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_plan_is_below_the_bounds_and_no_step_goes_up(seed, n, m, d, near):
    rng = np.random.default_rng(seed)
    x0 = rng.normal(size=(n, d))
    x1 = rng.normal(size=(m, d)) * (1.0 if near else 3.0)
    plan = transport(x0, x1, solver=GromovWasserstein(starts=3))
    assert all(after <= before for before, after in pairwise(plan.distortion.history))
    clouds = Clouds.of(Problem.of(x0, x1))
    d0, d1 = cdist(x0, x0, "sqeuclidean") / clouds.unit, cdist(x1, x1, "sqeuclidean") / clouds.unit
    for other in (plan, transport(x0, x1), transport(x0, x1, solver=IndependentCoupling())):
        loss = loss_by_definition(d0, d1, other)
        assert clouds.loss(other.rows, other.cols, other.mass) == pytest.approx(loss, rel=1e-9, abs=1e-12)
        assert clouds.least_loss() <= loss + 1e-12
        assert distance_bound(clouds.first, clouds.second) <= loss + 1e-12


def test_bounds_say_something():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    same = transport(x, x[::-1].copy(), solver=GromovWasserstein()).distortion
    assert same.lower <= same.value < 1e-9
    # Twice as large: the best that can be done is known, as distances differ by a factor of four.
    twice = transport(x, 2.0 * x, solver=GromovWasserstein()).distortion
    truth = 9.0 * (cdist(x, x, "sqeuclidean") ** 2).mean()
    assert twice.value == pytest.approx(truth, rel=1e-9)
    assert twice.lower == pytest.approx(truth, rel=1e-6)


def test_copies_zero_weights_and_constant_clouds():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(12, 2))
    x0, x1 = np.repeat(points, 3, axis=0), np.repeat(points @ [[0.0, 1.0], [-1.0, 0.0]], 2, axis=0)
    plan = transport(x0, x1, solver=GromovWasserstein())
    assert plan.distortion.value < 1e-12
    assert (plan.rows // 3 == plan.cols // 2).all()
    assert np.abs(plan.row_mass() - 1 / 36).max() < 1e-15
    weights = np.ones(36)
    weights[5] = 0.0
    assert transport(x0, x1, weights, solver=GromovWasserstein()).row_mass()[5] == 0.0
    flat = transport(np.ones((4, 2)), np.full((3, 2), 7.0), solver=GromovWasserstein())
    assert flat.distortion.value == 0.0
    assert len(transport([[1.0]], [[2.0]], solver=GromovWasserstein())) == 1


@pytest.mark.parametrize("scale", [1e-170, 1e-3, 1e100])
def test_scale_does_not_matter(scale):
    x0, x1, w0, w1, _, _ = random_problem(4)
    plain = transport(x0, x1, w0, w1, solver=GromovWasserstein())
    scaled = transport(x0 * scale, x1 * scale, w0, w1, solver=GromovWasserstein())
    assert (scaled.rows == plain.rows).all()
    assert (scaled.cols == plain.cols).all()


def test_a_search_on_a_sample_and_sparse_samples():
    rng = np.random.default_rng(2)
    x0 = rng.gamma(1.0, size=(400, 3)) * [1, 2, 3]
    order = rng.permutation(400)
    x1 = x0[order][:, [2, 0, 1]]
    plan = transport(x0, x1, solver=GromovWasserstein(starts=1, search_samples=100))
    assert plan.distortion.start == "annealed"
    assert (order[plan.cols] == plan.rows).mean() > 0.99
    sparse = transport(sp.csr_array(x0[:50]), sp.csr_array(x1[:50]), solver=GromovWasserstein())
    dense = transport(x0[:50], x1[:50], solver=GromovWasserstein())
    assert sparse.distortion.value == pytest.approx(dense.distortion.value)


def test_tensors_give_what_arrays_give():
    torch = pytest.importorskip("torch")
    x0, x1, w0, w1, _, _ = random_problem(3)
    host = GromovWasserstein(starts=3).solve(Problem.of(x0, x1, w0, w1))
    problem = Problem.of(x0, x1, w0, w1).to_device(torch.device("cpu"))
    found = GromovWasserstein(starts=3).solve(problem)
    assert found.distortion.value == pytest.approx(host.distortion.value, rel=1e-3)
    assert found.distortion.lower == pytest.approx(host.distortion.lower, rel=1e-9)


def test_a_cut_plan_has_no_distortion_and_wrong_settings_are_refused():
    plan = solve(Problem.of([[0.0], [1.0]], [[2.0], [3.0]]), GromovWasserstein())
    assert "distortion" in repr(plan)
    assert plan.keep(np.array([True, False])).distortion is None
    with pytest.raises(InputError, match="starts must be at least 1, got 0"):
        GromovWasserstein(starts=0)
    with pytest.raises(InputError, match="not squared distances between points"):
        # Fourth powers of distances on a line.
        embed_distances(cdist(np.arange(5.0)[:, None], np.arange(5.0)[:, None]) ** 4)
    with pytest.raises(InputError, match="square matrix"):
        embed_distances(np.zeros((2, 3)))
    with pytest.raises(InputError, match="symmetric"):
        embed_distances([[0.0, 1.0], [2.0, 0.0]])

"""Problems whose answer is known by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from driftfit import Domain, DomainSequence
from driftfit.transport import (
    Exact,
    PowerMetric,
    Problem,
    interpolate,
    path_length,
    shifts,
    transport,
    wasserstein,
)
from driftfit.transport.certificate import moment_bound


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([1, 2, 3.5]))
def test_on_a_line_the_sorted_coupling_is_optimal(seed, n, p):
    rng = np.random.default_rng(seed)
    x0, x1 = rng.normal(size=n), rng.normal(size=n) * 3
    expected = np.mean(np.abs(np.sort(x0) - np.sort(x1)) ** p) ** (1 / p)
    assert wasserstein(x0[:, None], x1[:, None], p) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_on_a_line_with_weights_quantile_functions_decide(rng):
    x0, x1 = np.sort(rng.normal(size=30)), np.sort(rng.normal(size=20))
    w0, w1 = rng.random(30), rng.random(20)
    w0, w1 = w0 / w0.sum(), w1 / w1.sum()
    levels = np.sort(np.concatenate([np.cumsum(w0), np.cumsum(w1)]))[:-1]
    middle, width = (np.r_[0, levels[:-1]] + levels) / 2, np.diff(np.r_[0, levels])
    q0 = x0[np.minimum(np.searchsorted(np.cumsum(w0), middle), 29)]
    q1 = x1[np.minimum(np.searchsorted(np.cumsum(w1), middle), 19)]
    expected = (width * (q0 - q1) ** 2).sum()
    assert transport(x0[:, None], x1[:, None], w0, w1).cost == pytest.approx(expected, rel=1e-9)


def test_a_small_motion_of_a_permuted_cloud_is_undone(rng):
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
    order = rng.permutation(len(grid))
    plan = transport(grid, grid[order] + 0.05 * rng.normal(size=grid.shape))
    assert (order[plan.cols] == plan.rows).all()
    assert len(plan) == len(grid)


def test_a_translation_costs_its_square(rng):
    x, move = rng.normal(size=(50, 3)), np.array([1.0, -2.0, 2.0])
    assert transport(x, x + move).cost == pytest.approx(9.0, rel=1e-12)
    for p in (1, 2, np.inf):
        assert wasserstein(x, x + move, p) == pytest.approx(3.0, rel=1e-9)


def test_a_positive_definite_map_is_optimal_and_agrees_with_bures(rng):
    """Brenier: the gradient of a convex function is optimal; between Gaussians it is the Bures map."""
    x = rng.normal(size=(400, 3))
    x = (x - x.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(x.T, bias=True))).T  # exact moments 0, I
    a = rng.normal(size=(3, 3))
    covariance = a @ a.T + np.eye(3)
    root = np.real(sqrtm(covariance))
    y = x @ root + [2.0, 0.0, 0.0]
    bures = 4.0 + np.trace(np.eye(3) + covariance - 2 * root)
    assert transport(x, y).cost == pytest.approx(bures, rel=1e-9)
    # This pair attains the moment bound, but for what rounding may have done.
    assert bures * (1 - 1e-5) < moment_bound(Problem.of(x, y)) < bures * (1 + 1e-12)


def test_one_point_collects_everything():
    plan = transport([[0.0]], [[1.0], [2.0], [3.0]], weights1=[1, 1, 2])
    assert plan.cost == pytest.approx(0.25 + 1.0 + 4.5)
    assert plan.column_mass() == pytest.approx([0.25, 0.25, 0.5])


def test_bottleneck_distance_by_hand():
    x0, x1 = [[0.0], [10.0]], [[1.0], [4.0]]
    # 0->1 and 10->4 moves at most 6; the other way round 10->1 moves 9.
    assert wasserstein(x0, x1, np.inf) == 6.0
    # With weights some mass of 0 must go to 4 as well.
    assert wasserstein(x0, x1, np.inf, [0.75, 0.25], [0.5, 0.5]) == 6.0
    assert wasserstein([[0.0], [1.0]], [[0.0], [5.0]], np.inf, [0.9, 0.1], [0.5, 0.5]) == 5.0


@given(st.integers(0, 10_000))
def test_distances_grow_with_p(seed):
    rng = np.random.default_rng(seed)
    x0, x1 = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)) + 1
    w0 = rng.random(7)
    values = [wasserstein(x0, x1, p, w0) for p in (1, 1.5, 2, 4, np.inf)]
    assert all(a <= b * (1 + 1e-9) for a, b in pairwise(values))


@pytest.mark.parametrize(("n", "m"), [(40, 40), (40, 25)])
def test_the_geodesic_has_constant_speed(rng, n, m):
    x0, x1 = rng.normal(size=(n, 3)), rng.normal(size=(m, 3)) * 2 + 1
    plan = transport(x0, x1)
    total = np.sqrt(plan.cost)
    points = {t: interpolate(x0, x1, plan, t) for t in (0.0, 0.3, 0.45, 1.0)}
    for s, (xs, ws) in points.items():
        for t, (xt, wt) in points.items():
            assert wasserstein(xs, xt, 2, ws, wt) == pytest.approx(abs(s - t) * total, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("p", [1, 2])
def test_a_path_is_never_shorter_than_the_direct_way_and_the_geodesic_attains_it(rng, p):
    x0, x1 = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 3
    plan = transport(x0, x1, cost=PowerMetric("euclidean", p))
    labels = np.arange(30) % 2

    def path(disturbance):
        middle = [interpolate(x0, x1, plan, t)[0] + disturbance * rng.normal(size=(30, 2)) for t in (0.25, 0.5, 0.75)]
        return DomainSequence([Domain(x0, labels), *map(Domain, middle), Domain(x1)])

    direct = wasserstein(x0, x1, p)
    straight = path(0.0)
    assert path_length(straight, p) == pytest.approx(direct, rel=1e-9)
    assert path_length(path(0.3), p) > direct * 1.01
    assert shifts(straight, p) == pytest.approx([direct / 4] * 4, rel=1e-9)


def test_translation_invariance_survives_a_large_offset(rng):
    x0, x1 = rng.normal(size=(60, 4)), rng.normal(size=(60, 4)) + 1
    here, far = transport(x0, x1, solver=Exact()), transport(x0 + 1e6, x1 + 1e6, solver=Exact())
    assert far.cost == pytest.approx(here.cost, rel=1e-8)


@pytest.mark.parametrize("kind", ["one feature", "slanted", "ties"])
@pytest.mark.parametrize(("n", "m"), [(400, 400), (500, 300)])
def test_many_samples_on_one_line(rng, kind, n, m):
    """The order decides, whatever the line's direction is; and the plan is proven."""
    s, t = rng.normal(size=n), 2 * rng.normal(size=m) + 1
    if kind == "ties":
        s, t = np.round(s, 1), np.round(t, 1)
    weights = rng.random(n) if n != m else None
    direction = np.array([3.0, -4.0]) / 5 if kind == "slanted" else np.array([1.0])
    plan = transport(s[:, None] * direction, t[:, None] * direction, weights)
    line = wasserstein(s[:, None], t[:, None], 2, weights)
    levels = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    ends = np.sort(np.concatenate([np.cumsum(levels[np.argsort(s)]), np.arange(1, m + 1) / m]))[:-1]
    middle, width = (np.r_[0, ends[:-1]] + ends) / 2, np.diff(np.r_[0, ends])
    at0 = np.sort(s)[np.minimum(np.searchsorted(np.cumsum(levels[np.argsort(s)]), middle), n - 1)]
    at1 = np.sort(t)[np.minimum(np.searchsorted(np.arange(1, m + 1) / m, middle), m - 1)]
    assert plan.cost == pytest.approx((width * (at0 - at1) ** 2).sum(), rel=1e-9)
    assert line == pytest.approx(np.sqrt(plan.cost), rel=1e-9)
    assert plan.certificate.proves_optimal()

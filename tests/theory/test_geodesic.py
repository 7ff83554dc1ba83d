"""How far a generated path lies from the geodesic, where geodesics are known."""

from math import sqrt

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from driftfit import theory
from driftfit.errors import InputError
from driftfit.transport import Sinkhorn, transport, wasserstein
from driftfit.transport.problem import Problem


@pytest.mark.parametrize("correlation", [1.0, 0.99, 0.9, 0.5, 0.0])
@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0])
def test_gaussians_on_a_line_attain_the_bound(correlation, spread):
    # mu = N(0, 1), nu = N(2, spread^2). An entropic plan is a Gaussian with a correlation r < 1; the optimal map
    # x -> 2 + spread x has the constant ``spread``.
    cost = 4.0 + 1.0 + spread**2 - 2.0 * spread * correlation
    least = 4.0 + (1.0 - spread) ** 2
    found = theory.path_certificate(cost, least)
    for t in (0.25, 0.5, 0.9):
        # Deviations of the generated domain and of the one on the geodesic, both Gaussian with one mean.
        own = sqrt((1 - t) ** 2 + t**2 * spread**2 + 2 * t * (1 - t) * spread * correlation)
        true = abs(own - ((1 - t) + t * spread))
        bound = found.from_geodesic(t, lipschitz=spread, inverse=1.0 / spread)
        assert true <= bound + 1e-9
        assert bound <= found.from_geodesic(t) + 1e-12
    # Sent elsewhere than by the map by exactly what the gap allows: no smaller constant would do.
    elsewhere = sqrt(2.0 * spread**2 * (1.0 - correlation))
    assert elsewhere == pytest.approx(sqrt(spread * (cost - least)), abs=1e-6)


def test_two_plans_of_one_cost_are_far_apart_whatever_the_gap():
    # The corners of a square: both couplings are optimal. The certificate must not claim to know which.
    x, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    found = theory.distance_from_geodesic(x, y, ([0, 1], [0, 1], [0.5, 0.5]), np.zeros(2))
    apart = wasserstein(0.5 * (x + y), 0.5 * (x + y[::-1]), 2.0)
    assert apart == pytest.approx(sqrt(0.5))
    assert found.at(0.5).total >= apart - 1e-9
    assert found.gap < 1e-9


def mixed(x, y, share):
    """The optimal plan of two small samples with a share of the product put in, and the optimal one."""
    n = len(x)
    rows, cols = linear_sum_assignment(cdist(x, y, "sqeuclidean"))
    dense = np.full((n, n), share / n**2)
    dense[rows, cols] += (1.0 - share) / n
    i, j = np.nonzero(dense)
    return (i, j, dense[i, j]), cols


def potential(x, y):
    """Near the middle of the dual optima: at their corners too many pairs look possible."""
    return Sinkhorn(epsilon=1e-5).solve(Problem.of(x, y, None, None)).potential0


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_small_exact_problems(dimension):
    useful = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(12, dimension)), rng.normal(size=(12, dimension)) + 1.0
        u = potential(x, y)
        for share in (0.0, 1e-3, 0.05, 0.5):
            plan, best = mixed(x, y, share)
            found = theory.distance_from_geodesic(x, y, plan, u)
            for t in (0.3, 0.5, 0.8):
                own = (1 - t) * x[plan[0]] + t * y[plan[1]]
                true = wasserstein(own, (1 - t) * x + t * y[best], 2.0, plan[2], None)
                bound = found.at(t)
                assert true <= bound.total + 1e-7
                # The triangle inequality alone would say this much.
                useful += share < 0.05 and bound.total < 0.5 * min(t, 1 - t) * 2 * found.length
    assert useful >= 18


def test_an_exact_plan_lies_on_the_geodesic_and_an_entropic_one_near_it():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 2.0
    u, best = potential(x, y), transport(x, y)
    exact = theory.distance_from_geodesic(x, y, (best.rows, best.cols, best.mass), u)
    assert exact.at(0.5).total < 0.01
    ends = []
    for epsilon in (1e-1, 1e-2, 1e-3):
        plan = transport(x, y, solver=Sinkhorn(epsilon=epsilon))
        found = theory.distance_from_geodesic(x, y, (plan.rows, plan.cols, plan.mass), u)
        own, true = 0.5 * (x[plan.rows] + y[plan.cols]), 0.5 * (x[best.rows] + y[best.cols])
        assert wasserstein(own, true, 2.0, plan.mass, best.mass) <= found.at(0.5).total
        ends.append(found.at(0.5).total)
    # The less entropy, the nearer; at last far nearer than the triangle inequality says.
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] < 0.3 * found.length


def test_lost_mass_and_bad_input():
    x = np.array([[0.0], [1.0], [2.0]])
    plan = (range(3), range(3), np.full(3, 1 / 3))
    lost = theory.distance_from_geodesic(x, x + 1.0, plan, -2.0 * x[:, 0], lost_mass=0.04)
    assert lost.at(0.5)["lost mass"] == pytest.approx(0.2 * 3.0)
    assert lost.at(0.0).standing.kind.value == "guarantee"
    with pytest.raises(InputError, match=r"position must lie in \[0, 1\], got 2"):
        lost.at(2)
    with pytest.raises(InputError, match=r"position must lie in \[0, 1\], got -1"):
        theory.path_certificate(1.0, 1.0).from_geodesic(-1)
    with pytest.raises(InputError, match="one finite number for each of the 3 samples"):
        theory.distance_from_geodesic(x, x, plan, [0.0])
    with pytest.raises(InputError, match=r"mass 1, got 0\.333"):
        theory.distance_from_geodesic(x, x, ([0], [0], [1 / 3]), np.zeros(3))


def test_a_plan_of_other_samples_is_refused():
    x = np.array([[0.0], [1.0]])
    with pytest.raises(InputError, match="samples 0 to 2 of x1, which has 2"):
        theory.distance_from_geodesic(x, x, ([0, 1], [0, 2], [0.5, 0.5]), np.zeros(2))
    with pytest.raises(InputError, match="three arrays of one length"):
        theory.distance_from_geodesic(x, x, ([0, 1], [0, 1], [1.0]), np.zeros(2))
    with pytest.raises(InputError, match="mass 1, got nan"):
        theory.distance_from_geodesic(x, x, ([0, 1], [0, 1], [0.5, np.nan]), np.zeros(2))

"""Bounds from counts: by hand, and against the truth over many draws."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from driftfit import theory
from driftfit.errors import InputError
from driftfit.theory import Assumptions, StepConstants
from driftfit.transport import interpolate, transport, wasserstein


@pytest.mark.parametrize(("share", "n"), [(0.0, 50), (0.02, 130), (0.3, 40), (0.97, 25)])
def test_clopper_pearson_fails_no_more_often_than_it_may(share, n):
    counts = np.arange(n + 1)
    uppers = np.array([theory.clopper_pearson(int(k), n) for k in counts])
    assert binom.pmf(counts, n, share)[uppers < share].sum() <= 0.05
    # And is not idle: the exact tail at the bound is the level.
    assert binom.cdf(3, n, theory.clopper_pearson(3, n)) == pytest.approx(0.05)


def test_clopper_pearson_refuses_more_events_than_samples():
    with pytest.raises(InputError, match="must not exceed n_samples, got 5 of 4"):
        theory.clopper_pearson(5, 4)


def test_the_upper_bound_on_a_distance_holds_and_is_needed():
    # Two laws on {0, 1} with shares 0.5 and 0.7: W_1 is 0.2 and the diameter 1.
    failures, bare = 0, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, y = (rng.random((60, 1)) < share for share in (0.5, 0.7))
        plug_in = wasserstein(x.astype(float), y.astype(float), 1.0)
        failures += theory.wasserstein_upper(plug_in, (60, 60), 1.0).total < 0.2
        bare += plug_in < 0.2
    assert failures <= 15
    assert bare > 30


def test_measured_disagreement_replaces_the_complexity():
    # A student that does not reproduce its teacher: the paper's proof does not cover it, the measured term does.
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 4_000)
    teacher, student, truth = 0.5 * x, 0.7 * x, np.sign(x)
    bound = theory.measured_stability(0.0, float(np.abs(student - teacher).mean()), len(x), Assumptions(loss_bound=2.0))
    change = abs(np.abs(student - truth).mean() - np.abs(teacher - truth).mean())
    assert change <= bound.total
    assert change > bound.total - bound["disagreement"]
    assert bound["confidence"] == pytest.approx(2.0 * sqrt(0.5 * log(20) / 4_000))


def test_margin_form_of_the_zero_one_error():
    # Points on a line, boundary at 0, all moved by 0.3 towards it: those within 0.3 cross.
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.normal(1.0, 0.5, 300)
        near = float((np.abs(x) < 0.3).mean())
        bound = theory.margin_transfer(float((x < 0).mean()), near, 0.0, 300)
        assert ((x - 0.3) < 0).mean() <= bound.total
        assert bound.total < 0.2


def test_direct_distances_shorten_the_discrepancy():
    # There and back again: the path is long, the ends are close.
    path = theory.discrepancy_bound([1.0, 1.0])
    direct = theory.discrepancy_bound([1.0, 1.0], to_last=[0.1, 1.0, 0.0])
    assert direct.total == pytest.approx((0.1 + 1.0) / 3 * sqrt(2))
    assert direct.total < path.total
    with pytest.raises(InputError, match="one distance per domain, 3, got 2"):
        theory.discrepancy_bound([1.0, 1.0], to_last=[0.1, 1.0])


def test_step_constants_from_data_and_a_formula_that_says_nothing():
    found = StepConstants.from_data(0.03, 0.1, 0.02, 900, Assumptions(loss_bound=2.0))
    assert (found.shift, found.estimation, found.total_samples) == pytest.approx((0.3, 0.6, 2.0))
    silent = theory.optimal_steps(1.0, 0.1, 900, constants=found)
    assert "does not choose the number of steps" in silent.sentence
    speaks = theory.optimal_steps(0.05, 0.1, 900, constants=StepConstants(0.01, 0.01, 5.0))
    assert speaks.sentence.startswith("the bound is smallest at")


# Certificates of generated paths ------------------------------------------------------------------


def test_an_exact_plan_has_no_excess():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 2.0
    plan = transport(x, y)
    found = theory.path_certificate(plan.certificate.primal, plan.certificate.dual)
    assert found.length == pytest.approx(wasserstein(x, y, 2.0))
    assert found.excess < 1e-6
    # The generated middle is no detour.
    middle, mass = interpolate(x, y, plan, position=0.5)
    ways = wasserstein(x, middle, 2.0, None, mass), wasserstein(middle, y, 2.0, mass, None)
    assert sum(ways) <= found.direct + found.excess + 1e-6


def test_a_worse_plan_is_longer_by_at_most_what_is_certified():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 1.0
    cost = float(((x - y) ** 2).sum(axis=1).mean())  # row by row, not optimal
    best = wasserstein(x, y, 2.0)
    found = theory.path_certificate(cost, best**2)
    middle = 0.5 * (x + y)
    detour = wasserstein(x, middle, 2.0) + wasserstein(middle, y, 2.0) - best
    assert 0 < detour <= found.excess + 1e-9
    assert "need not lie near the geodesic" in found.sentence


def test_lost_mass_moves_the_ends():
    assert theory.path_certificate(1.0, 1.0, lost_mass=0.04, diameter=3.0).end_error == pytest.approx(0.6)
    with pytest.raises(InputError, match="needs the diameter"):
        theory.path_certificate(1.0, 1.0, lost_mass=0.04)
    with pytest.raises(InputError, match="exceeds the plan's cost"):
        theory.path_certificate(1.0, 1.5)

"""The number of steps: formula against numerical minimiser, and the geodesic's share in it."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from driftfit.theory import StepConstants, optimal_steps, simplified_bound, stationary_steps

GRID = [(shift, n) for shift in (0.0, 1e-4, 0.01, 0.1, 1.0, 10.0) for n in (1, 10, 100, 10_000, 1_000_000)]


def numerical_minimiser(shift, n, constants=None):
    # In log T the bound is smooth and has one minimum; the slope is found by bisection, as values
    # near a minimum are flat and fix its place only to the square root of the precision.
    c = constants or StepConstants()
    low, high = -40.0, 40.0

    def slope(t):
        return c.shift * shift + c.estimation / n**0.5 - 0.5 * c.total_samples * n**-0.5 * t**-1.5

    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(np.exp(middle)) < 0 else (low, middle)
    return float(np.exp((low + high) / 2))


@pytest.mark.parametrize(("shift", "n"), GRID)
def test_formula_is_the_minimiser(shift, n):
    assert stationary_steps(shift, n) == pytest.approx(numerical_minimiser(shift, n), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("shift", "n"), GRID)
def test_formula_is_the_minimiser_of_the_bound_as_implemented(shift, n):
    # Independent of any derivative: bounded Brent search over the very function that users call.
    found = minimize_scalar(
        lambda u: 1e6 * simplified_bound(np.exp(u), shift, n).total / simplified_bound(1.0, shift, n).total,
        bounds=(-12, 2),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert np.exp(found.x) == pytest.approx(stationary_steps(shift, n), abs=1e-6)


@pytest.mark.parametrize("constants", [StepConstants(2, 3, 50), StepConstants(0.1, 0.2, 7), StepConstants(0, 1, 400)])
@pytest.mark.parametrize(("shift", "n"), GRID[::3])
def test_formula_with_constants(shift, n, constants):
    assert stationary_steps(shift, n, constants=constants) == pytest.approx(
        numerical_minimiser(shift, n, constants), rel=1e-9
    )


def test_never_more_than_063_with_constants_of_one():
    largest = max(stationary_steps(shift, n) for shift, n in GRID)
    assert largest == pytest.approx(0.5 ** (2 / 3))


def test_geodesic_decides_in_practice():
    best = optimal_steps(1.0, 0.1, 2_000)
    assert best.geodesic == 10.0
    assert best.optimum == 10.0
    assert best.n_steps == 10
    assert best.limited_by_geodesic


def test_large_constant_moves_the_optimum_inside():
    constants = StepConstants(total_samples=400.0)
    best = optimal_steps(0.1, 0.1, 100, constants=constants)
    assert not best.limited_by_geodesic
    assert best.optimum == pytest.approx(stationary_steps(0.1, 100, constants=constants))
    totals = [simplified_bound(t, 0.1, 100, constants=constants).total for t in range(1, 200)]
    assert best.n_steps == 1 + int(np.argmin(totals))
    assert best.bound.total == min(totals)


def test_whole_steps_reach_the_target():
    for distance in np.linspace(0, 3, 61):
        best = optimal_steps(distance, 0.25, 50)
        assert best.n_steps * 0.25 >= distance * (1 - 1e-9)
        assert best.n_steps >= 1

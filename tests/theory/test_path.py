"""Shifts of sequences, and the path-length inequality on geodesics and off them."""

import numpy as np
import pytest

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.theory import path_length_inequality
from driftfit.transport import interpolate, measure_path, transport


def cloud(rng, n=40, d=3, centre=0.0):
    return rng.normal(centre, 1.0, size=(n, d)) @ rng.normal(size=(d, d))


def sequence_of(clouds, weights=None):
    weights = weights or [None] * len(clouds)
    labels = [np.arange(len(clouds[0])) % 2] + [None] * (len(clouds) - 1)
    return DomainSequence(Domain(x, y, w) for x, y, w in zip(clouds, labels, weights, strict=True))


def geodesic(seed, n_between):
    rng = np.random.default_rng(seed)
    x0, x1 = cloud(rng), cloud(rng, centre=2.0)
    plan = transport(x0, x1)
    between = [interpolate(x0, x1, plan, (i + 1) / (n_between + 1))[0] for i in range(n_between)]
    return rng, [x0, *between, x1]


@pytest.mark.parametrize("seed", range(10))
def test_geodesic_attains_the_inequality(seed):
    _, clouds = geodesic(seed, 4)
    shifts = measure_path(sequence_of(clouds))
    path = path_length_inequality(shifts.steps, shifts.direct)
    assert path.attained(1e-9)
    assert path.detour == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(shifts.steps, shifts.direct / 5, rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_perturbed_paths_are_longer(seed):
    rng, clouds = geodesic(seed, 4)
    bent = [clouds[0], *(x + rng.normal(scale=0.05, size=x.shape) for x in clouds[1:-1]), clouds[-1]]
    shifts = measure_path(sequence_of(bent))
    path = path_length_inequality(shifts.steps, shifts.direct)
    assert not path.attained(1e-4)
    assert path.slack > 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
def test_no_path_beats_the_direct_distance(p, seed):
    rng = np.random.default_rng(seed)
    shifts = measure_path(sequence_of([cloud(rng, 15) for _ in range(4)]), p)
    path = path_length_inequality(shifts.steps, shifts.direct)
    assert path.slack > 0


def test_uneven_places_on_the_geodesic_attain_it_too():
    rng = np.random.default_rng(3)
    x0, x1 = cloud(rng), cloud(rng, centre=2.0)
    plan = transport(x0, x1)
    between = [interpolate(x0, x1, plan, t)[0] for t in (0.1, 0.15, 0.9)]
    shifts = measure_path(sequence_of([x0, *between, x1]))
    assert path_length_inequality(shifts.steps, shifts.direct).attained(1e-9)
    np.testing.assert_allclose(shifts.steps / shifts.direct, [0.1, 0.05, 0.75, 0.1], rtol=1e-9)


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
def test_translation_is_measured_exactly(p):
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = np.arange(30) % 3
    move = np.array([3.0, 4.0])
    shifts = measure_path(sequence_of([x, x + move, x + 2 * move]), p, labels=[y] * 3)
    np.testing.assert_allclose(shifts.steps, 5.0)
    np.testing.assert_allclose(shifts.class_steps, 5.0)
    assert shifts.average == pytest.approx(5.0)
    assert shifts.length == pytest.approx(10.0)
    assert shifts.detour == pytest.approx(1.0)


def test_classes_that_trade_places_show_per_class_only():
    x = np.array([[0.0], [0.0], [10.0], [10.0]])
    before, after = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    shifts = measure_path(sequence_of([x, x]), labels=[before, after])
    assert shifts.steps.tolist() == [0.0]
    assert shifts.class_steps.tolist() == [[10.0, 10.0]]


def test_a_missing_class_is_nan():
    x = np.zeros((4, 1))
    shifts = measure_path(sequence_of([x, x + 1]), labels=[[0, 0, 1, 1], [0, 0, 0, 0]])
    assert np.isnan(shifts.class_steps[0, 1])


def test_fewer_samples_give_nearly_the_same():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2))
    full = measure_path(sequence_of([x, x + 3.0]))
    thin = measure_path(sequence_of([x, x + 3.0]), max_samples=200)
    assert thin.direct == pytest.approx(full.direct)


@pytest.mark.parametrize("labels", [[[0, 1]], [[0], [0]]])
def test_labels_must_fit(labels):
    with pytest.raises(InputError, match="labels"):
        measure_path(sequence_of([np.zeros((2, 1)), np.ones((2, 1))]), labels=labels)

"""The four benchmarks: on made files always, on the real ones where they are."""

import numpy as np
import pytest

from driftfit.datasets import DATASETS, angles, color_mnist, covtype, dataset, mnist, portraits, rotate, rotated_mnist
from driftfit.datasets.mnist import read_idx, shifts
from driftfit.errors import InputError


def test_rotation_by_right_angles_is_numpy_s():
    images = np.random.default_rng(0).integers(0, 255, (3, 7, 7))
    for turns in range(4):
        assert np.array_equal(rotate(images, 90 * turns), np.rot90(images, turns, axes=(1, 2)))


def test_rotation_makes_up_no_grey_levels_and_fills_with_zero():
    images = np.full((1, 9, 9), 7)
    turned = rotate(images, 45)
    assert set(np.unique(turned)) == {0, 7}
    assert turned[0, 0, 0] == 0
    assert turned[0, 4, 4] == 7


def test_reference_angles_are_whole():
    assert [angles(n)[1:-1] for n in range(1, 5)] == [[22], [15, 30], [11, 22, 33], [9, 18, 27, 36]]
    assert angles(3, 60, "paper") == [0, 15, 30, 45, 60]


def test_reference_shifts():
    assert [shifts(n) for n in range(1, 5)] == [[0.55], [0.35, 0.65], [0.3, 0.55, 0.8], [0.25, 0.45, 0.65, 0.85]]


@pytest.mark.parametrize("content", [b"", b"\x00\x00\x08", b"\x00\x00\x08\x01\x00\x00\x00\x05ab", b"\x01\x02\x03\x04"])
def test_broken_idx_is_refused(content):
    with pytest.raises(InputError, match="idx"):
        read_idx(content)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("preset", ["reference", "paper"])
def test_every_benchmark_loads_made_files(made_data, name, preset):
    load = dataset(name).load
    for n_given in range(5):
        sequence = load(n_given, preset=preset, seed=1)
        assert sequence.n_given == n_given
        assert all(domain.labels is not None and domain.samples.dtype == np.float32 for domain in sequence)
        assert len({domain.name for domain in sequence}) == n_given + 2
    small = load(2, preset=preset, n_samples=9)
    assert {len(domain) for domain in small} <= set(range(2, 10))


@pytest.mark.parametrize("name", DATASETS)
def test_seed_decides_alone(made_data, name):
    load = dataset(name).load
    one, same = load(1, seed=3, n_samples=12), load(1, seed=3, n_samples=12)
    assert all(np.array_equal(a.samples, b.samples) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one.source.samples, load(1, seed=4, n_samples=12).source.samples)


@pytest.mark.parametrize("name", ["rotated-mnist", "color-mnist", "covtype"])
def test_heldout_samples_are_not_those_adapted_to(made_data, name):
    load = dataset(name).load
    adapted = {row.tobytes() for row in load(0, seed=0).target.samples}
    heldout = load(0, seed=0, split="heldout").target.samples
    assert len(heldout) > 0
    assert not any(row.tobytes() in adapted for row in heldout)


def test_wrong_counts_are_refused(made_data):
    with pytest.raises(InputError, match="one of 0, 1, 2, 3, 4, 7"):
        portraits(5)
    with pytest.raises(InputError, match="between 0 and 10"):
        covtype(-1)
    with pytest.raises(InputError, match="n_samples"):
        color_mnist(n_samples=1)


def test_real_mnist(benchmark_data):
    images, labels = mnist("test")
    assert images.shape == (10_000, 28, 28)
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    sequence = rotated_mnist(2)
    assert [len(domain) for domain in sequence] == [10_000] * 4
    assert float(sequence.target.samples.max()) == 1.0
    assert np.array_equal(sequence.source.labels, sequence.target.labels)


def test_real_color_mnist(benchmark_data):
    sequence = color_mnist(2)
    assert [len(domain) for domain in sequence] == [6_000, 2_100, 2_100, 2_000]
    assert [float(domain.samples.min()) for domain in sequence] == pytest.approx([0, 0.35, 0.65, 1])


def test_real_portraits(benchmark_data):
    by_year = portraits(4)
    assert len(by_year.source) == len(by_year.target) == 2_000
    assert by_year.target.name == "target 1968-1973"
    assert [len(domain) for domain in portraits(7)[1:-1]] == pytest.approx([1_583] * 7, abs=1)
    by_count = portraits(4, cut="count")
    assert [len(domain) for domain in by_count] == [2_000] * 6
    assert by_count.target.name == "target 1976-1981"


def test_real_covtype(benchmark_data):
    sequence = covtype(2, seed=0)
    assert [domain.samples.shape for domain in sequence] == [(10_000, 54), (2_000, 54), (2_000, 54), (20_000, 54)]
    water = [float(domain.samples[:, 3].mean()) for domain in sequence]
    assert water == sorted(water)
    assert set(np.unique(sequence.source.labels)) == {0, 1}

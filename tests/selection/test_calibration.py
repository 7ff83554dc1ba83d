"""The verdict as a test: false alarms kept in check, shifts found, whatever the number of domains."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from driftfit.domains import Domain, DomainSequence
from driftfit.selection import Advice, PathView, check
from driftfit.selection.exchange import Sides, joint_likeness, joint_test
from driftfit.selection.same_law import holm, mixture_shares, same_laws


def path(seed, n=200, n_steps=5, gap=3.0, spread=0.5, share=0.5, last_share=None, move=0.0):
    """Two Gaussian classes; their proportions and their place drift evenly from source to target."""
    rng = np.random.default_rng([seed, n, n_steps])
    domains = []
    for t in range(n_steps + 1):
        way = t / n_steps
        labels = (rng.random(n) < share + way * ((last_share or share) - share)).astype(int)
        x = spread * rng.normal(size=(n, 2)) + np.stack([gap * labels, np.full(n, move * way)], axis=1)
        domains.append(Domain(x, labels=labels, name=str(t)))
    return DomainSequence(domains)


def laws(seed, **options):
    return same_laws(PathView.of(path(seed, **options), LogisticRegression(), seed))


@pytest.mark.parametrize(
    "options", [{"n_steps": 1}, {"n_steps": 5}, {"n_steps": 20}, {"n_steps": 5, "gap": 1.0, "spread": 1.0}], ids=str
)
def test_no_shift_is_seldom_called_one(options):
    # At most 5 % of the paths may be; of 12 paths, more than three with probability 0.002.
    assert sum(not all(law.same for law in laws(seed, **options)) for seed in range(12)) <= 3


def test_the_verdict_without_a_shift_is_not_to_adapt():
    # The old rule let 30 of 40 paths with overlapping classes pass as shifted.
    for options in ({}, {"gap": 1.0, "spread": 1.0}):
        found = [check(path(seed, **options), LogisticRegression(), seed=seed).advice for seed in range(4)]
        assert sum(advice is not Advice.DO_NOT_ADAPT for advice in found) <= 1


def test_proportions_alone_are_told_from_a_move():
    found = [laws(seed, last_share=0.25, n=400, n_steps=3) for seed in range(8)]
    assert sum(law[-1].same for law in found) <= 1
    assert sum(not all(law.classes_stay for law in path) for path in found) <= 1
    assert np.mean([law[-1].shares[1] for law in found]) == pytest.approx(0.25, abs=0.03)


def test_a_move_is_found_with_proportions_and_without():
    for options in ({"move": 0.8}, {"move": 0.8, "last_share": 0.25}):
        assert not any(laws(seed, **options)[-1].classes_stay for seed in range(5))


def four_of_ten(seed, n=1_000):
    """Ten classes on a grid, spacing six; four of them move by three quarters of it."""
    rng = np.random.default_rng(seed)
    domains = []
    for way in (0.0, 0.75):
        labels = rng.integers(0, 10, n)
        x = 0.5 * rng.normal(size=(n, 2)) + 6.0 * np.stack([labels % 5, labels // 5], axis=1)
        x[:, 0] += 6.0 * way * (labels < 4)
        domains.append(Domain(x, labels=labels, name=f"{way}"))
    return DomainSequence(domains)


def test_four_of_ten_classes_that_move_are_not_called_small_steps():
    for seed in range(2):
        answer = check(four_of_ten(seed), GaussianNB(), seed=seed)
        assert answer.advice in (Advice.GENERATE, Advice.GET_LABELS)
        assert answer.steps[0].ratio < 0.5 < 1.0 < answer.steps[0].worst_ratio


# The parts ------------------------------------------------------------------------------------------


def two_sample_test(x, y, rng, n_exchanges=199):
    sides = Sides.of(np.arange(len(x)), np.arange(len(y)))
    return joint_test(joint_likeness(np.concatenate([x, y])), sides, rng, n_exchanges)


def test_p_values_of_equal_laws_are_uniform():
    p_values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p_values.append(two_sample_test(rng.normal(size=(30, 2)), rng.normal(size=(40, 2)), rng, 99))
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p_values) <= level) == pytest.approx(level, abs=4 * np.sqrt(level / 200))


@pytest.mark.parametrize("change", [lambda y: y + 1.0, lambda y: 2.0 * y, lambda y: y * np.array([1.0, 0.2])])
def test_moves_scales_and_shapes_are_found(change):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100, 2))
    assert two_sample_test(x, change(y), rng) <= 0.01


def test_constant_samples_are_the_same():
    assert two_sample_test(np.zeros((20, 2)), np.zeros((30, 2)), np.random.default_rng(0)) == 1.0


def test_holm_by_hand():
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.9])).tolist() == [0.9]
    assert holm(np.array([0.01, 0.02, 0.03, 0.5])).tolist() == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert holm(np.ones(3)).tolist() == [1, 1, 1]


def test_mixture_shares_of_three_classes():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 100)
    x = rng.normal(size=(300, 2)) + 4.0 * np.array([[0, 0], [1, 0], [0, 1]])[codes]
    new = rng.choice(3, 600, p=[0.7, 0.3, 0.0])
    y = rng.normal(size=(600, 2)) + 4.0 * np.array([[0, 0], [1, 0], [0, 1]])[new]
    np.testing.assert_allclose(mixture_shares(x, codes, y, 4), [0.7, 0.3, 0.0, 0.0], atol=0.05)

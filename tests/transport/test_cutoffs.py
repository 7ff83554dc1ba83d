import numpy as np
import pytest

from driftfit.errors import InputError
from driftfit.transport import (
    ConfidenceCutoff,
    Plan,
    Sinkhorn,
    SmallValueCutoff,
    interpolate,
    transport,
    transported_confidence,
)


@pytest.fixture
def dense_plan(rng):
    return transport(rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 1, solver=Sinkhorn(0.2))


def test_small_values_go_until_storage_is_linear(dense_plan):
    thin = SmallValueCutoff().apply(dense_plan)
    assert len(dense_plan) > 500
    assert len(thin) == 70
    assert thin.mass.sum() == pytest.approx(1.0)
    assert thin.lost_mass == pytest.approx(1 - np.sort(dense_plan.mass)[-70:].sum())


def test_losses_add_up_over_cutoffs(dense_plan):
    once = SmallValueCutoff(max_entries=200).apply(dense_plan)
    twice = SmallValueCutoff(max_entries=50).apply(once)
    assert twice.lost_mass == pytest.approx(1 - np.sort(dense_plan.mass)[-50:].sum())


def test_a_thinned_plan_says_that_it_no_longer_couples(dense_plan):
    thin = SmallValueCutoff(max_entries=50).apply(dense_plan)
    assert dense_plan.certificate.marginal_error < 1e-9
    assert thin.certificate.marginal_error > 0.1
    assert thin.certificate.primal == pytest.approx(thin.cost)
    assert not thin.certificate.proves_optimal()


def test_confidence_is_the_largest_class_share():
    plan = Plan(np.array([0, 1, 2, 2]), np.array([0, 0, 0, 1]), np.array([0.2, 0.2, 0.1, 0.5]), (3, 2))
    labels = np.eye(2)[[0, 0, 1]]
    assert transported_confidence(plan, labels) == pytest.approx([0.8, 1.0])
    thin = ConfidenceCutoff(0.9).apply(plan, labels)
    assert thin.cols.tolist() == [1]
    assert thin.lost_mass == pytest.approx(0.5)
    assert ConfidenceCutoff(0.7).apply(plan, labels) is plan


def test_a_plan_that_was_cut_can_still_be_interpolated(dense_plan):
    thin = SmallValueCutoff(max_entries=50).apply(dense_plan)
    samples, mass = interpolate(np.zeros((40, 2)), np.ones((30, 2)), thin, 0.25)
    assert samples == pytest.approx(np.full((50, 2), 0.25))
    assert mass.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda plan: SmallValueCutoff(threshold=0.5).apply(plan), "the largest is"),
        (lambda plan: SmallValueCutoff(threshold=2), r"\[0, 1\)"),
        (lambda plan: SmallValueCutoff(max_entries=0), "at least 1"),
        (lambda plan: ConfidenceCutoff(1.5), r"\[0, 1\]"),
        (lambda plan: ConfidenceCutoff(0.9).apply(plan), "label_shares"),
        (lambda plan: ConfidenceCutoff(0.9).apply(plan, np.ones((3, 2))), "40 rows"),
        (lambda plan: ConfidenceCutoff(1.0).apply(plan, np.ones((40, 2))), "lower the threshold"),
        (lambda plan: interpolate(np.zeros((3, 2)), np.ones((30, 2)), plan, 0.5), "couples 40 with 30"),
        (lambda plan: interpolate(np.zeros((40, 2)), np.ones((30, 2)), plan, 1.5), r"\[0, 1\]"),
        (lambda plan: Plan(np.array([0]), np.array([0, 1]), np.ones(1), (1, 2)), "one length"),
        (lambda plan: Plan(np.array([0]), np.array([0]), np.ones(1), (1, 1)).cost, "transport"),
    ],
)
def test_bad_values(dense_plan, call, words):
    with pytest.raises(InputError, match=words):
        call(dense_plan)

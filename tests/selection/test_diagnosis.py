"""The diagnosis of a drift: worlds whose kind is known, tests that hold their level, and words."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.methods import Assumption, OwnScale
from driftfit.models import as_learner
from driftfit.selection.diagnosis import (
    Drift,
    FeatureShift,
    aligned_windows,
    diagnose_drift,
    feature_shifts,
    fit_proportions,
    raw_overlap,
)
from driftfit.selection.diagnosis.own_scale import off_grid, own_scale_chance
from driftfit.selection.exchange import moved

_SCRIPT = Path(__file__).parents[2] / "benchmarks" / "drift_worlds.py"
_spec = importlib.util.spec_from_file_location("drift_worlds", _SCRIPT)
worlds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(worlds)


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_the_kind_of_a_made_up_drift_is_found(name):
    world, truth = worlds.WORLDS[name]
    found = worlds.diagnosed(world, seed=0, n_windows=3)
    assert found.kind is truth
    # What cannot be seen is always said: a concept change is never called solved.
    assert "cannot be seen without labels" in found.reasons[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_the_kind_is_found_again_and_again(name):
    world, truth = worlds.WORLDS[name]
    kinds = [worlds.diagnosed(world, seed, n_windows=2).kind for seed in range(100, 104)]
    assert kinds.count(truth) >= 3


def shifts(before, after, names=None):
    """Features beside the chances that the test of all of them gives."""
    found = moved(DomainSequence([Domain(before, np.arange(len(before)) % 2), Domain(after)]), each_column=True)
    return feature_shifts(before, after, found.columns, names)


def test_no_shift_is_seldom_called_a_shift_by_any_test(rng):
    alarms = 0
    for _ in range(100):
        before, after = rng.normal(size=(2, 150, 6))
        alarms += any(shift.moved for shift in shifts(before, after))
    assert alarms <= 100 * 0.01 + 3 * np.sqrt(100 * 0.01)


def classes(rng, share, n=400):
    """Two normal classes: their shares show in the shape of the columns alone once each has its own scale."""
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 4)) + y[:, None] * [1.8, 1.2, 0.6, 0.0], y


@pytest.mark.parametrize("shape", [np.asarray, np.exp, np.round], ids=["normal", "lognormal", "whole numbers"])
def test_other_units_are_seldom_called_more_than_that(rng, shape):
    rejected = 0
    for seed in range(40):
        (old, y), (new, _) = classes(rng, 0.4), classes(rng, 0.4)
        path = DomainSequence(
            [Domain(shape(old), y), Domain(shape(new) * [0.3, 2.0, 1.0, 7.0] + [5.0, -9.0, 0.0, 1.0])]
        )
        rejected += own_scale_chance(path, seed) < 0.05
    assert rejected <= 40 * 0.05 + 3 * np.sqrt(40 * 0.05)


def test_other_class_shares_behind_other_units_are_seen(rng):
    found = []
    for seed in range(10):
        (old, y), (new, _) = classes(rng, 0.5), classes(rng, 0.1)
        found.append(own_scale_chance(DomainSequence([Domain(old, y), Domain(new * 3.0 + 8.0)]), seed))
    assert np.mean(np.array(found) < 0.05) >= 0.9


def test_names_of_classes_and_units_do_not_change_what_is_seen(rng):
    (old, y), (new, _) = classes(rng, 0.5), classes(rng, 0.4)
    y = y + (old[:, 2] > 1.5)

    def chance(y, new):
        return own_scale_chance(DomainSequence([Domain(old, y), Domain(new)]))

    assert chance(2 - y, new) == chance(y, new) == chance(y, new * 1024.0)


def test_a_few_values_beyond_all_others_are_a_move(rng):
    old, new = rng.normal(size=(2, 400, 3))
    new[rng.random(400) < 0.05, 0] = 1_000.0
    y = np.arange(400) % 2
    assert moved(DomainSequence([Domain(old, y), Domain(new)])).rejected


def test_rows_that_follow_each_other_or_belong_together_are_no_drift(rng):
    """Ten rows a customer, and a path that remembers: nothing moves, and the diagnosis says so."""
    who = np.arange(400) // 10
    kinds = []
    for _ in range(20):
        ends = [rng.normal(size=(40, 3))[who] + 0.3 * rng.normal(size=(400, 3)) for _ in range(2)]
        y = (ends[0][:, 0] > 0).astype(int)
        learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(ends[0], y)
        groups = [[f"{number}-{own}" for own in who] for number in range(2)]
        windows = [Domain(ends[0], y, groups=groups[0]), Domain(ends[1], groups=groups[1])]
        found = diagnose_drift(learner, DomainSequence(windows))
        kinds.append(found.kind)
        assert found.kind is not Drift.NOTHING or not found.moved
    # One of 20 by chance; five would be with a chance of 0.3 %.
    assert kinds.count(Drift.NOTHING) >= 16
    # Without the groups, and in an order that does not show them, each row counts.
    one, other = (rows[rng.permutation(400)] for rows in ends)
    assert moved(DomainSequence([Domain(one, y), Domain(other)])).unit == "row"


def test_the_diagnosis_does_not_contradict_what_was_tested_elsewhere(rng):
    y = np.arange(400) % 2
    old, new = (rng.normal(size=(400, 2)) + 3.0 * y[:, None] for _ in range(2))
    ends = DomainSequence([Domain(old, y), Domain(4.0 * new + 20.0)])
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(old, y)
    assert diagnose_drift(learner, ends).kind is Drift.SCALES
    assert diagnose_drift(learner, ends, stands={Assumption.SCALE: False}).kind is not Drift.SCALES


def test_flags_are_counted_and_measurements_compared(rng):
    before = np.column_stack([rng.random(400) < 0.2, rng.normal(size=400), np.zeros(400)]).astype(float)
    after = np.column_stack([rng.random(400) < 0.5, rng.normal(size=400) * 2, np.zeros(400)]).astype(float)
    flag, scale, constant = shifts(before, after, ("flag", "scale", "constant"))
    assert flag.moved
    assert flag.distance == pytest.approx(abs(before[:, 0].mean() - after[:, 0].mean()))
    assert scale.moved
    assert "spread x 2" in scale.sentence or "spread x 1.9" in scale.sentence
    assert not constant.moved
    assert constant.sentence == "constant: 0 % of the rows differ" or "spread" in constant.sentence


def test_the_joint_test_sees_what_no_feature_shows(rng):
    """A change of the dependence alone: the marginals are the same."""
    before, z = rng.normal(size=(800, 2)), rng.normal(size=800)
    after = np.column_stack([z, np.sign(rng.random(800) - 0.1) * z])
    sequence = DomainSequence([Domain(before, np.arange(800) % 2), Domain(after)])
    assert not any(shift.moved for shift in shifts(before, after))
    assert moved(sequence).rejected
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(before, np.arange(800) % 2)
    assert diagnose_drift(learner, sequence).kind in (Drift.MIXED, Drift.TURNED)


def test_one_jump_among_many_windows_is_named(rng):
    y = np.arange(300) % 2
    shifts = (0.0, 0.0, 4.0, 4.0)
    drawn = [rng.normal(size=(300, 2)) + 3.0 * y[:, None] * [1, 0] + [0.0, shift] for shift in shifts]
    sequence = DomainSequence([Domain(x, y if n == 0 else None, name=f"w{n}") for n, x in enumerate(drawn)])
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(drawn[0], y)
    found = diagnose_drift(learner, sequence, ("a", "b"))
    assert found.where == ("w1", "w2")
    assert found.largest_step > 0.8
    assert [feature.name for feature in found.moved] == ["b"]
    assert any("w1 -> w2" in reason for reason in found.reasons)
    assert found.to_dict()["kind"] == found.kind.value


def test_a_model_that_knows_nothing_corrects_nothing(rng):
    x, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    learner = as_learner(DummyClassifier(strategy="prior"), np.array([0, 1])).fit(x, y)
    fit = fit_proportions(learner, DomainSequence([Domain(x, y), Domain(rng.normal(size=(400, 2)))]))
    assert fit.objection is not None


def test_proportions_that_leave_much_unexplained_are_refused(rng):
    """The classes moved as well: the scores may look like other proportions, the rows do not."""
    y, hidden = np.arange(600) % 2, (np.arange(600) % 5 == 0).astype(int)
    x = np.column_stack([rng.normal(size=600) + 2 * y, rng.normal(size=600)])
    there = np.column_stack([rng.normal(size=600) + 2 * hidden, rng.normal(size=600) * 3 + 3])
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x, y)
    fit = fit_proportions(learner, DomainSequence([Domain(x, y), Domain(there)]))
    assert not fit.explains
    assert "differ otherwise" in fit.objection or "do not explain" in fit.objection


@pytest.mark.parametrize(
    "change",
    [lambda x: np.round(1.5 * x), lambda x: np.round(x) * 0.9, lambda x: np.round(x) * 1.1, lambda x: np.round(x, 1)],
    ids=["rounded afterwards", "cheaper", "dearer", "rounded less"],
)
def test_whole_numbers_that_change_their_scale(rng, change):
    """Two grids that differ tell rows apart, but are no difference."""
    y = np.arange(800) % 2
    old, new = (rng.normal(20, 4, (2, 800)).T + 8 * y[:, None] for _ in range(2))
    ends = DomainSequence([Domain(np.round(old), y), Domain(change(new))])
    on_grids = raw_overlap(OwnScale().aligned(ends)[0])
    assert on_grids.low > 0.6
    assert raw_overlap(aligned_windows(OwnScale(), ends)).low < 0.5
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(np.round(old), y)
    # Numbers that are only rounded less moved by their grid and by nothing else.
    allowed = {Drift.SCALES, Drift.NOTHING} if np.allclose(change(new), new, atol=0.5) else {Drift.SCALES}
    assert diagnose_drift(learner, ends).kind in allowed


def test_spreading_a_grid_keeps_order_and_what_is_no_grid(rng):
    often = rng.random(200) < 0.5
    rows = np.column_stack([rng.normal(size=200), rng.poisson(30, 200), np.where(often, 0.0, rng.random(200))])
    rows[:2, 1] = 1e150
    spread = off_grid(rows, np.arange(3), rng)
    assert np.array_equal(spread[:, [0, 2]], rows[:, [0, 2]])
    assert np.all(np.diff(rows[np.argsort(spread[:, 1], kind="stable"), 1]) >= 0)
    assert np.abs(spread[:, 1] - rows[:, 1]).max() <= 0.5
    assert len(np.unique(spread[2:, 1])) > 190


def test_a_feature_in_words():
    assert FeatureShift("x", 0.5, 0.02, 0.01, 1.0).sentence == "x: 2 % of the rows differ"
    assert not FeatureShift("x", 0.5, 0.02, 0.01, 1.0).moved


def test_a_column_that_was_constant_is_told_as_such(rng):
    """Rounding gives it a deviation of 1e-17, in whose units everything is far away."""
    before = np.column_stack([rng.normal(size=300), np.full(300, 0.1) * 3.0])
    after = np.column_stack([rng.normal(size=300), rng.normal(size=300)])
    same, was = shifts(before, after, ("x", "was"))
    assert not same.moved
    assert was.moved
    assert abs(was.mean) < 3
    assert was.sentence.endswith("was constant")
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(before, np.arange(300) % 2)
    found = diagnose_drift(learner, DomainSequence([Domain(before, np.arange(300) % 2), Domain(after)]))
    assert found.new_share == 0.0

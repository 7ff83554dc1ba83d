"""The remedy that fits: chosen where it helps, the old model elsewhere, never a look at the target's labels."""

import numpy as np
import pytest
from driftfit.estimators.remedies import PROPORTIONS, ChosenRemedy, table_remedies
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.estimators import AdaptedClassifier
from driftfit.learners import as_learner
from driftfit.methods import OwnScale, ProportionCorrection
from driftfit.trust.diagnosis import fit_proportions


def world(rng, share=0.5, scale=1.0, move=0.0, n=500, gap=2.5):
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(size=(n, 3)) + gap * y[:, None] * [1.0, 0.5, 0.0]
    return x * scale + move, y


def adapted(old, new, **options):
    (x, y), (there, hidden) = old, new
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x, y)
    windows = DomainSequence([Domain(x, y, name="old"), Domain(there, hidden, name="new")])
    adaptation = ChosenRemedy(**options).adapt(learner, windows)
    right = [(model.logits(there).argmax(axis=1) == hidden).mean() for model in (learner, adaptation.learner)]
    return adaptation, right[1] - right[0]


def test_windows_that_moved_apart_are_aligned(rng):
    adaptation, gain = adapted(world(rng), world(rng, scale=3.0, move=15.0))
    assert adaptation.choice.best in table_remedies()
    assert gain > 0.3
    assert adaptation.choice.gains[adaptation.choice.best].low > 0
    assert "do not overlap" in adaptation.choice.struck[PROPORTIONS]


def test_proportions_that_jumped_are_corrected(rng):
    adaptation, gain = adapted(world(rng, gap=1.2), world(rng, share=0.05, gap=1.2))
    assert adaptation.choice.best == PROPORTIONS
    assert gain > 0.05
    own = adaptation.choice.gains[PROPORTIONS]
    assert own.low - 0.05 <= gain <= own.high + 0.05
    assert set(adaptation.choice.struck) == set(table_remedies()) - {PROPORTIONS}


@pytest.mark.parametrize("seed", range(5))
def test_without_a_drift_the_old_model_stays(seed):
    rng = np.random.default_rng(seed)
    adaptation, gain = adapted(world(rng), world(rng))
    assert adaptation.choice.best == "source"
    assert gain == 0.0
    assert set(adaptation.choice.struck) == set(table_remedies())


def test_other_labels_for_the_same_rows_change_nothing(rng):
    """A concept change: nothing is chosen, and nothing about the labels of the target is known."""
    old, (there, hidden) = world(rng), world(rng)
    adaptation, _ = adapted(old, (there, 1 - hidden))
    assert adaptation.choice.best == "source"


def test_labels_of_the_target_are_never_looked_at(rng):
    old, (there, hidden) = world(rng), world(rng, scale=3.0, move=15.0)
    one, _ = adapted(old, (there, hidden))
    other, _ = adapted(old, (there, 1 - hidden))
    assert one.choice.best == other.choice.best
    np.testing.assert_array_equal(one.learner.logits(there), other.learner.logits(there))


def test_own_remedies_can_be_named(rng):
    adaptation, _ = adapted(world(rng), world(rng, scale=3.0, move=15.0), remedies={"mine": OwnScale()})
    assert adaptation.choice.best == "mine"
    assert adaptation.choice.runner_up == "source"


def test_candidates_are_shown_as_they_are_tried(rng):
    seen = []
    adapted(world(rng), world(rng, scale=3.0, move=15.0), on_candidate=lambda name, _: seen.append(name))
    assert seen[0] == "source"
    assert len(seen) > 2


def test_as_a_classifier(rng):
    (x, y), (there, hidden) = world(rng), world(rng, scale=3.0, move=15.0)
    X, when = np.concatenate([x, there]), np.repeat([0, 1], len(x))
    fitted = AdaptedClassifier(LogisticRegression(), method=ChosenRemedy()).fit(
        X, np.concatenate([y, np.full(len(y), -1)]), sample_domain=when
    )
    assert (fitted.predict(there) == hidden).mean() > 0.9
    assert fitted.adaptation_.choice.best in table_remedies()


@pytest.mark.slow
def test_intervals_of_gains_by_proportions_hold():
    """In worlds where proportions are all that moves, the gain on other rows of the target lies inside."""
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        (x, y), (there, _), (other, truth) = (world(rng, share, gap=1.2) for share in (0.5, 0.1, 0.1))
        learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x, y)
        windows = DomainSequence([Domain(x, y), Domain(there)])
        fit = fit_proportions(learner, windows, seed)
        student = ProportionCorrection(seed=seed).adapt(learner, windows).learner
        right = [(model.logits(other).argmax(axis=1) == truth).mean() for model in (learner, student)]
        inside.append(fit.low <= right[1] - right[0] <= fit.high)
        assert fit.high - fit.low < 0.5
    assert np.mean(inside) >= 0.9

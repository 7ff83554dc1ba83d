"""Rows in units of those before them: what the map computes, when it is believed, and that order matters."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.estimators.remedies import IN_USE, RECENT, ChosenRemedy, OwnAnswers
from driftfit.learners import as_learner
from driftfit.methods import RecentScale
from driftfit.methods.recent_scale import RecentMap, best_width
from driftfit.trust.diagnosis import fit_recent


def wandering(rng, n=2_000):
    """A level that wanders, and labels that say whether a row lies above it."""
    move, level = rng.normal(size=n), 10.0 * np.sin(np.arange(n) / 40.0)
    return np.column_stack([move + level, rng.normal(size=n), rng.random(n) < 0.5]), (move > 0).astype(int)


def windows(x, y, cut=1_200):
    return DomainSequence([Domain(x[:cut], y[:cut]), Domain(x[cut:])])


def learned(x, y, model=None):
    return as_learner(LogisticRegression() if model is None else model, np.array([0, 1])).fit(x, y)


def test_the_map_is_what_a_loop_over_the_rows_gives(rng):
    x, width = rng.normal(size=(60, 2)) * [1.0, 1e6] + [1e3, -5.0], 7
    found = RecentMap(width).fit(x).transform(x)
    for row in range(60):
        last = x[max(0, row - width + 1) : row + 1]
        spread = last.std(axis=0)
        expected = np.where(spread > 0, (x[row] - last.mean(axis=0)) / np.where(spread > 0, spread, 1.0), 0.0)
        np.testing.assert_allclose(found[row], np.clip(expected, -5, 5), atol=1e-6)


def test_neither_level_nor_unit_matters_and_flags_stay(rng):
    x = np.column_stack([rng.normal(size=200), rng.random(200) < 0.3, np.full(200, 4.0)])
    mapping = RecentMap(10).fit(x)
    np.testing.assert_allclose(mapping.transform(x * [50, 1, 1] + [9, 0, 0]), mapping.transform(x), atol=1e-9)
    np.testing.assert_array_equal(mapping.transform(x)[:, 1], x[:, 1])
    assert (mapping.transform(x + np.array([0, 0, 3]))[:, 2] == 0).all()
    assert mapping.transform(x[:1])[0, 0] == 0.0


def test_a_width_that_is_none_is_named():
    with pytest.raises(InputError, match="at least 2, got 1"):
        RecentMap(1).fit(np.zeros((4, 1)))


def test_it_is_chosen_where_labels_depend_on_the_rows_before(rng):
    x, y = wandering(rng)
    old = learned(x[:1_200], y[:1_200])
    adaptation = ChosenRemedy().adapt(old, windows(x, y))
    gain = (adaptation.learner.logits(x[1_200:]).argmax(axis=1) == y[1_200:]).mean() - (
        old.logits(x[1_200:]).argmax(axis=1) == y[1_200:]
    ).mean()
    fit = adaptation.choice.fit
    assert adaptation.choice.best == RECENT
    assert fit.low <= gain <= fit.high
    assert gain > 0.1


def test_rows_out_of_order_teach_nothing(rng):
    x, y = wandering(rng)
    mixed = rng.permutation(1_200)
    x[:1_200], y[:1_200] = x[mixed], y[mixed]
    adaptation = ChosenRemedy().adapt(learned(x[:1_200], y[:1_200]), windows(x, y))
    assert adaptation.choice.best != RECENT
    assert RECENT in adaptation.choice.struck


@pytest.mark.parametrize("seed", range(5))
def test_it_is_refused_where_the_level_itself_is_the_message(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 1_500)
    x = rng.normal(size=(1_500, 2)) + 1.5 * y[:, None]
    try:
        objection = fit_recent(learned(x[:1_000], y[:1_000]), windows(x, y, 1_000)).objection
    except InputError as error:
        objection = str(error)
    assert objection is not None


def test_too_few_rows_are_named(rng):
    with pytest.raises(InputError, match="20 labelled rows are too few"):
        best_width(rng.normal(size=(20, 1)), np.arange(20) % 2)


def test_the_width_is_found_where_none_is_given(rng):
    x, y = wandering(rng, 900)
    student = RecentScale().adapt(learned(x[:600], y[:600]), windows(x, y, 600)).learner
    assert (student.logits(x[600:]).argmax(axis=1) == y[600:]).mean() > 0.75


# A model that is in use ----------------------------------------------------------------------------------


def apart(rng, n=500):
    y = rng.integers(0, 2, 2 * n)
    x = rng.normal(size=(2 * n, 3)) + 2.5 * y[:, None] * [1.0, 0.5, 0.0]
    x[n:] = x[n:] * 3.0 + 15.0
    return x, y


def test_the_model_in_use_is_what_remedies_are_compared_with(rng):
    x, y = apart(rng)
    learner = learned(x[:500], y[:500])
    perfect = OwnAnswers(y[:500], y[500:])
    kept = ChosenRemedy(in_use=perfect).adapt(learner, windows(x, y, 500)).choice
    assert kept.best == kept.reference == IN_USE
    lost = OwnAnswers(learner.logits(x[:500]).argmax(axis=1), np.zeros(500, dtype=int))
    choice = ChosenRemedy(in_use=lost).adapt(learner, windows(x, y, 500)).choice
    assert choice.reference == IN_USE
    assert choice.best not in (IN_USE, "source")
    assert "source" not in choice.scores


def test_no_remedy_stands_on_a_model_that_is_worse_than_the_one_in_use(rng):
    x, y = apart(rng)
    better = OwnAnswers(y[:500], np.zeros(500, dtype=int))
    weak = learned(x[:500], y[:500], RandomForestClassifier(1, max_depth=1, random_state=0))
    choice = ChosenRemedy(in_use=better).adapt(weak, windows(x, y, 500)).choice
    assert choice.best == IN_USE
    assert all("worse than the one in use" in reason for reason in choice.struck.values())

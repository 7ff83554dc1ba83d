"""Classifiers learn from labels wherever they are."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from driftfit import AdaptedClassifier, AutoAdaptedClassifier, GOATClassifier
from driftfit.errors import InputError
from driftfit.methods import FromHistory, HalfLife
from driftfit.selection import ALL_LABELS, Metric

N, ROWS = 6, 120


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    year = np.repeat(np.arange(N), ROWS)
    X = rng.normal(size=(N * ROWS, 2))
    y = np.where(X[:, 0] > 0.6 * year - 1.0, "yes", "no")
    return X, y, year


def hidden(y, rows):
    return np.where(rows, y, None)


def test_all_labels_are_used_and_a_backtest_chooses(data):
    X, y, year = data
    known = hidden(y, year < N - 1)
    clf = AutoAdaptedClassifier().fit(X, known, sample_domain=year)
    assert clf.backtest_.windows == ("1", "2", "3", "4")
    assert clf.choice_.best != clf.choice_.reference == ALL_LABELS
    plain = LogisticRegression(max_iter=1000).fit(X[year < N - 1], y[year < N - 1])
    np.testing.assert_array_equal(clf.source_estimator_.coef_, plain.coef_)
    today = year == N - 1
    assert clf.score(X[today], y[today]) > plain.score(X[today], y[today]) + 0.05


def test_labels_that_are_hidden_change_nothing(data):
    X, y, year = data
    known = year < N - 1
    first = AutoAdaptedClassifier().fit(X, hidden(y, known), sample_domain=year)
    marks = y.astype(object)
    marks[~known] = np.nan
    again = AutoAdaptedClassifier().fit(X, marks, sample_domain=year)
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))


def test_labels_may_stop_inside_a_domain(data):
    X, y, year = data
    known = np.arange(len(y)) < (N - 1) * ROWS + 40
    clf = AutoAdaptedClassifier().fit(X, hidden(y, known), sample_domain=year)
    assert clf.backtest_.windows == ("1", "2", "3", "4", "5")
    assert clf.backtest_.forecasts[-1].codes.shape == (40,)


def test_every_label_is_known(data):
    X, y, year = data
    clf = AutoAdaptedClassifier().fit(X, y, sample_domain=year)
    assert clf.backtest_.windows == ("1", "2", "3", "4", "5")
    two = AutoAdaptedClassifier().fit(X[: 2 * ROWS], y[: 2 * ROWS], sample_domain=year[: 2 * ROWS])
    assert two.choice_.best == ALL_LABELS
    assert "every row has a label" in two.choice_.sentence


def test_the_papers_setting_is_one_word(data):
    X, y, year = data
    first = AutoAdaptedClassifier(history="first").fit(X, y, sample_domain=year)
    alone = AutoAdaptedClassifier().fit(X, hidden(y, year == 0), sample_domain=year)
    np.testing.assert_array_equal(first.predict_proba(X), alone.predict_proba(X))
    assert first.backtest_ is None


def test_paths_start_at_the_last_domain_with_labels(data):
    X, y, year = data
    known = hidden(y, year < 4)
    goat = GOATClassifier(n_generated=1, history="all").fit(X, known, sample_domain=year)
    plain = LogisticRegression(max_iter=1000).fit(X[year < 4], y[year < 4])
    np.testing.assert_array_equal(goat.source_estimator_.coef_, plain.coef_)
    assert [record.name for record in goat.path_ if not record.generated] == ["4", "5"]
    first = GOATClassifier(n_generated=1).fit(X, known, sample_domain=year)
    assert len(first.path_) == 10


def test_one_way_alone(data):
    X, y, year = data
    known = hidden(y, year < N - 1)
    recent = AdaptedClassifier(method=FromHistory(HalfLife(0.5))).fit(X, known, sample_domain=year)
    every = AdaptedClassifier(method=FromHistory()).fit(X, known, sample_domain=year)
    today = year == N - 1
    assert recent.score(X[today], y[today]) > every.score(X[today], y[today])


def test_metric_and_lag_are_the_users(data):
    X, y, year = data
    clf = AutoAdaptedClassifier(metric="neg_log_loss")
    assert clone(clf).metric == "neg_log_loss"
    found = clf.fit(X, hidden(y, year < N - 2), sample_domain=year).backtest_
    assert (found.metric, found.asked_late) == (Metric("neg_log_loss"), 1)
    with pytest.raises(InputError, match="there is no metric 'auc'"):
        AutoAdaptedClassifier(metric="auc").fit(X, hidden(y, year < 4), sample_domain=year)


def test_another_word_is_refused(data):
    X, y, year = data
    with pytest.raises(InputError, match="history must be 'all' or 'first', got 'last'"):
        AutoAdaptedClassifier(history="last").fit(X, y, sample_domain=year)


def test_names_of_the_classes_do_not_matter(data):
    X, y, year = data
    turned = np.where(y == "yes", "no", "yes")
    one, other = (AutoAdaptedClassifier().fit(X, hidden(own, year < N - 1), sample_domain=year) for own in (y, turned))
    assert one.choice_.best == other.choice_.best
    np.testing.assert_array_equal(one.predict(X), np.where(other.predict(X) == "yes", "no", "yes"))

"""Rare classes are named where that was measured to be better, and costs are respected."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

import driftfit
from driftfit import AutoAdaptedClassifier
from driftfit.domains import Domain, DomainSequence
from driftfit.selection import ALL_LABELS, Metric, backtest
from driftfit.selection.answers import worth_of


def rare(seed=0, n=7, rows=600, share=0.04):
    rng = np.random.default_rng(seed)
    domains = []
    for place in range(n):
        y = (rng.random(rows) < share).astype(int)
        x = rng.normal(size=(rows, 2)) + 1.6 * y[:, None]
        domains.append(Domain(x, y, name=str(place)))
    return DomainSequence(domains)


def frame(path):
    X, y, when = path.as_samples()
    names = np.where(y == 1, "fraud", "fine").astype(object)
    names[when == when.max()] = None
    return pd.DataFrame(X, columns=["a", "b"]).assign(kind=names, when=when), np.where(y == 1, "fraud", "fine")


def test_a_threshold_is_chosen_on_earlier_windows_alone():
    path = rare()
    found = backtest(path, metric=Metric("f1"))
    turned = [own if n < 5 else Domain(own.samples, 1 - own.labels, name=own.name) for n, own in enumerate(path)]
    again = backtest(DomainSequence(turned), metric=Metric("f1", positive=1))
    name = f"{ALL_LABELS}, another threshold"
    for one, other in zip(found.forecasts[:4], again.forecasts[:4], strict=True):
        assert one.window == other.window < 5
        if name in one.answers:
            np.testing.assert_array_equal(one.answers[name], other.answers[name])


def test_the_first_judged_window_has_no_threshold_yet():
    found = backtest(rare(), metric=Metric("f1"))
    assert np.isnan(found.scores[f"{ALL_LABELS}, another threshold"][0])


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "neg_log_loss", "average_precision"])
def test_metrics_of_probabilities_have_none(name):
    assert not any("threshold" in way for way in backtest(rare(), metric=Metric(name)).ways)


def test_a_rare_class_is_named_where_it_counts():
    path = rare()
    table, truth = frame(path)
    run = driftfit.adapt(table, label="kind", order="when", windows="value")
    assert run.backtest.metric.name == "balanced_accuracy"
    assert "threshold" in run.backtest.best
    today = table.kind.isna().to_numpy()
    plain = LogisticRegression(max_iter=1000).fit(table[["a", "b"]][~today], truth[~today])
    scores = [
        balanced_accuracy_score(truth[today], said)
        for said in (plain.predict(table[["a", "b"]][today]), run.predictions["prediction"].astype(str))
    ]
    assert scores[1] > scores[0] + 0.15
    # Probabilities stay what they are: a class may be named whose probability is below one half.
    assert (run.predictions["predicted_probability"] < 0.5).any()


def test_a_classifier_names_it_too_and_a_kept_run_as_well(tmp_path):
    path = rare()
    X, y, when = path.as_samples()
    known = np.where(when < 6, y, None)
    clf = AutoAdaptedClassifier().fit(X, known, sample_domain=when)
    assert "threshold" in clf.choice_.best
    assert clf.predict(X).mean() > 2 * (clf.predict_proba(X)[:, 1] > 0.5).mean()
    table, _ = frame(path)
    run = driftfit.adapt(table, label="kind", order="when", windows="value")
    run.save(tmp_path / "run")
    np.testing.assert_array_equal(driftfit.load(tmp_path / "run").predict(table), run.predict(table))


def test_costs_decide_which_class_is_named(tmp_path):
    table, _ = frame(rare())
    (tmp_path / "c.csv").write_text("true,fine,fraud\nfine,0,1\nfraud,30,0\n")
    run = driftfit.adapt(table, label="kind", order="when", windows="value", metric=f"cost:{tmp_path / 'c.csv'}")
    shares = run.predict_proba(table)
    expected = np.where(shares[:, 1] * 30 > shares[:, 0], "fraud", "fine")
    np.testing.assert_array_equal(run.predict(table), expected)


def test_names_of_ways_lead_back_to_them():
    found = backtest(rare(), metric=Metric("f1"))
    assert worth_of(found, ALL_LABELS) == (ALL_LABELS, None)
    way, worth = worth_of(found, f"{ALL_LABELS}, another threshold")
    assert way == ALL_LABELS
    assert worth[1, 1] > 1.0

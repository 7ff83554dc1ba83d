"""A temperature from past windows: it helps where models are too sure, and harms nowhere that it is taken."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from driftfit.domains import Domain, DomainSequence
from driftfit.methods import FromHistory
from driftfit.selection import ALL_LABELS, backtest
from driftfit.selection.answers import temperature


def forecasts(model, move, seed, n=300, noise=0.5):
    """Columns that repeat each other, of which naive Bayes is too sure, and a border that moves."""
    rng = np.random.default_rng(seed)
    domains = []
    for window in range(7):
        x = rng.normal(size=(n, 1))
        labels = (x[:, 0] + noise * rng.normal(size=n) > move * window).astype(int)
        copies = x + 0.3 * rng.normal(size=(n, 6))
        domains.append(Domain(copies, labels, name=str(window)))
    return backtest(DomainSequence(domains), model, {ALL_LABELS: FromHistory()})


def losses(found, scale):
    """Log loss in the newest window, as it is and scaled."""
    newest = found.forecasts[-1]
    logs = np.log(np.maximum(newest.shares[ALL_LABELS], 1e-9))
    both = [logs, scale * logs]
    return [
        -(own - np.logaddexp.reduce(own, axis=1, keepdims=True))[np.arange(len(own)), newest.codes].mean()
        for own in both
    ]


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression()], ids=["sure", "honest"])
@pytest.mark.parametrize("move", [0.0, 0.1])
def test_it_is_never_worse_in_the_window_to_come(model, move):
    gains = []
    for seed in range(6):
        found = forecasts(model, move, seed)
        taken = temperature(replace(found, forecasts=found.forecasts[:-1]), ALL_LABELS)
        plain, scaled = losses(found, 1.0 if taken is None else taken[0])
        gains.append(plain - scaled)
    assert min(gains) >= -0.002
    if isinstance(model, GaussianNB):
        assert np.mean(gains) > 0.05


def test_one_window_does_not_tell():
    found = forecasts(GaussianNB(), 0.0, 0)
    assert temperature(replace(found, forecasts=found.forecasts[:1]), ALL_LABELS) is None


def test_a_run_names_the_same_classes_with_probabilities_that_hold():
    pd = pytest.importorskip("pandas")
    from driftfit import adapt

    rng = np.random.default_rng(0)
    x = rng.normal(size=(1800, 1))
    frame = pd.DataFrame(x + 0.3 * rng.normal(size=(1800, 6)), columns=list("abcdef"))
    truth = np.where(x[:, 0] + 0.5 * rng.normal(size=1800) > 0, "yes", "no")
    frame = frame.assign(when=np.arange(1800) // 300, kind=np.where(np.arange(1800) < 1500, truth, None))
    run = adapt(frame, label="kind", order="when", windows="value", model=GaussianNB())
    (note,) = [one for one in run.summary["answer"]["notes"] if one.startswith("probabilities are calibrated")]
    assert "log loss" in note
    found, kept = run.predictions, run.predictor.model.steps[-1][1]
    said = kept.estimator.predict_proba(
        np.asarray(frame.iloc[found["row"], :6] - frame.iloc[:, :6].mean()) / frame.iloc[:, :6].std(ddof=0).to_numpy()
    )
    assert (run.classes[said.argmax(axis=1)] == found["prediction"]).all()
    assert found["predicted_probability"].mean() < said.max(axis=1).mean()
    assert np.mean(found["prediction"] == truth[found["row"]]) > 0.75

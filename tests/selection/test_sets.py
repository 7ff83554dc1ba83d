"""Sets of classes hold the truth as often as asked, in windows that they were not calibrated on."""

import numpy as np
import pandas as pd
import pytest

import driftfit
from driftfit.app import table_of
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import FromHistory
from driftfit.selection import ALL_LABELS, PredictionSets, backtest

WAYS = {ALL_LABELS: FromHistory()}


def drawn(seed, n_windows=7, rows=300, step=0.1):
    """Three classes that overlap, and drift slowly."""
    rng = np.random.default_rng(seed)
    domains = []
    for place in range(n_windows):
        y = rng.integers(0, 3, rows)
        x = rng.normal(size=(rows, 2)) + 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[y] + step * place
        domains.append(Domain(x, np.array(["a", "b", "c"])[y], name=str(place)))
    return DomainSequence(domains)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_the_window_to_come_is_covered(coverage):
    covered = []
    for seed in range(12):
        path = drawn(seed)
        known = DomainSequence([*path[:-1], path[-1].without_labels()])
        found = backtest(known, ways=WAYS)
        sets = PredictionSets.of(found, ALL_LABELS, coverage)
        (last,) = [one for one in backtest(path, ways=WAYS).forecasts if one.window == 6]
        inside = sets.members(last.shares[ALL_LABELS])
        covered.append(inside[np.arange(len(last.codes)), last.codes].mean())
    assert abs(np.mean(covered) - coverage) < 0.03
    assert min(covered) > coverage - 0.1


def test_coverage_by_window_is_of_thresholds_that_others_give():
    found = backtest(drawn(0), ways=WAYS)
    sets = PredictionSets.of(found, ALL_LABELS, 0.9)
    assert [name for name, _ in sets.by_window] == list(found.windows)
    assert np.mean([covered for _, covered in sets.by_window]) == pytest.approx(0.9, abs=0.04)


def test_a_surer_set_is_larger():
    found = backtest(drawn(0), ways=WAYS)
    shares = found.forecasts[-1].shares[ALL_LABELS]
    small, large = (PredictionSets.of(found, ALL_LABELS, share).members(shares) for share in (0.8, 0.95))
    assert (large | ~small).all()
    assert large.sum() > small.sum()
    assert small.any(axis=1).all()


@pytest.mark.parametrize("coverage", [0.5, 1.0, float("nan")])
def test_a_coverage_that_makes_no_sense_is_refused(coverage):
    with pytest.raises(InputError, match=r"must lie above 0\.5 and below 1"):
        PredictionSets.of(backtest(drawn(0, 3), ways=WAYS), ALL_LABELS, coverage)


def test_a_history_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="need 2 past windows"):
        PredictionSets.of(backtest(drawn(0, 2), ways=WAYS), ALL_LABELS)
    with pytest.raises(InputError, match="and 1000 rows"):
        PredictionSets.of(backtest(drawn(0, 3), ways=WAYS), ALL_LABELS, 0.999)


def test_predictions_hold_the_sets_and_a_kept_run_as_well(tmp_path):
    path = drawn(0)
    X, y, when = path.as_samples()
    table = pd.DataFrame(X, columns=["u", "v"]).assign(kind=np.where(when < 6, y, None), when=when)
    run = driftfit.adapt(table, label="kind", order="when", windows="value", sets=0.9)
    said = run.predictions
    inside = [truth in own.split("|") for truth, own in zip(y[when == 6], said["set"], strict=True)]
    assert 0.8 < np.mean(inside) <= 1.0
    assert all(own.split("|")[0] == named for own, named in zip(said["set"], said["prediction"], strict=True))
    run.save(tmp_path / "run")
    again = driftfit.load(tmp_path / "run").predictor.predict_table(table_of(table))
    assert again["set"].tolist()[-300:] == said["set"].tolist()
    assert run.summary["sets"]["coverage"] == 0.9


def test_sets_without_past_windows_are_refused():
    X, y, when = drawn(0, 3).as_samples()
    table = pd.DataFrame(X, columns=["u", "v"]).assign(kind=np.where(when == 0, y, None), when=when)
    with pytest.raises(InputError, match="need labels in three windows"):
        driftfit.adapt(table, label="kind", order="when", windows="value", sets=0.9)

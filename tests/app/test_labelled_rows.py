"""A few labels of the last window: which rows are asked for, what they measure, and what is learnt from them."""

import contextlib
import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit.app import Column, Settings, adapt_checked, check_frame
from driftfit.app.labelled_rows import read_labelled, rows_to_ask, wanted_rows
from driftfit.cli import main
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import LabelledTraining
from driftfit.models import as_learner


def table(seed=0, n=240, flip=False):
    """Two windows; in the second one the classes have changed places where ``flip``."""
    rng = np.random.default_rng(seed)
    label, when = rng.integers(0, 2, n), np.repeat([0, 1], n // 2)
    side = np.where((when == 1) & flip, 1 - label, label)
    x = rng.normal(size=n) * 0.7 + 3.0 * side
    return pd.DataFrame({"x": x, "y": rng.normal(size=n), "kind": label, "when": when})


SETTINGS = Settings(label="kind", order=Column("when"))


@pytest.fixture(scope="module")
def turned():
    frame = table(flip=True)
    return frame, check_frame(frame.assign(kind=np.where(frame.when == 0, frame.kind, np.nan)), SETTINGS)


def filled(frame, checked, folder, budget=20, change=lambda rows: rows):
    rows = wanted_rows(checked, budget)
    rows["kind"] = frame["kind"].to_numpy()[rows["row"]]
    path = folder / "rows.csv"
    change(rows).to_csv(path, index=False)
    return path


def test_columns_of_the_table_may_be_called_row_or_weight(tmp_path):
    frame = table(flip=True).rename(columns={"x": "weight", "y": "row"})
    checked = check_frame(frame.assign(kind=np.where(frame.when == 0, frame.kind, np.nan)), SETTINGS)
    wanted = wanted_rows(checked, 20)
    assert list(wanted) == ["driftfit_row", "driftfit_weight", "kind", "weight", "row"]
    np.testing.assert_array_equal(wanted["weight"], frame["weight"].to_numpy()[wanted["driftfit_row"]])
    wanted.assign(kind=frame["kind"].to_numpy()[wanted["driftfit_row"]]).to_csv(tmp_path / "rows.csv", index=False)
    labelled = read_labelled(tmp_path / "rows.csv", checked)
    np.testing.assert_array_equal(labelled.rows, wanted["driftfit_row"])
    np.testing.assert_allclose(labelled.weights, wanted["driftfit_weight"])


# Which rows ----------------------------------------------------------------------------------------------


def test_weighted_gains_are_unbiased_and_surer_than_those_of_random_rows(rng):
    truth = rng.integers(0, 2, 2_000)
    old = np.where(rng.random(2_000) < 0.75, truth, 1 - truth)
    new = np.where(rng.random(2_000) < 0.15, 1 - old, old)
    gain = (new == truth).astype(float) - (old == truth)
    asked, random = [], []
    for seed in range(300):
        rows, weights = rows_to_ask({"old": old, "new": new}, 50, seed)
        assert len(np.unique(rows)) == 50
        asked.append(weights @ gain[rows])
        random.append(gain[np.random.default_rng(seed).choice(2_000, 50, replace=False)].mean())
    assert np.mean(asked) == pytest.approx(gain.mean(), abs=3 * np.std(asked) / np.sqrt(300))
    assert np.std(asked) < 0.7 * np.std(random)


def test_every_way_to_disagree_gets_its_share():
    old, one, other = np.zeros(300, int), np.repeat([1, 0, 0], 100), np.repeat([0, 1, 0], 100)
    rows, _ = rows_to_ask({"old": old, "one": one, "other": other}, 50)
    assert [int(((rows >= start) & (rows < start + 100)).sum()) for start in (0, 100, 200)] == [20, 20, 10]


@pytest.mark.parametrize(("n", "differ"), [(10, 3), (30, 0), (30, 30)])
def test_small_windows_and_full_agreement(n, differ):
    rows, weights = rows_to_ask({"a": np.zeros(n, int), "b": (np.arange(n) < differ).astype(int)}, 20)
    assert len(rows) == len(np.unique(rows)) == min(n, 20)
    assert weights.sum() == pytest.approx(1.0)


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(InputError, match="at least 2"):
        rows_to_ask({"a": np.zeros(5, int)}, 1)


# What they are good for ----------------------------------------------------------------------------------


def test_labels_find_and_train_what_no_remedy_can(turned, tmp_path):
    frame, checked = turned
    path = filled(frame, checked, tmp_path)
    result = adapt_checked(checked, labelled=read_labelled(path, checked))
    rows = checked.prepared.windows[-1].rows
    right = (result.predictions["prediction"].to_numpy() == frame["kind"].to_numpy()[rows]).mean()
    assert result.kept == "adapted"
    assert result.choice.best.startswith("trained with the labels")
    assert right > 0.9
    old, new = result.choice.measured
    assert old.high < 0.5 < new.low
    assert result.decision.after == new
    assert "labelled rows" in result.decision.sentence


def test_labels_that_say_nothing_new_keep_the_old_model(tmp_path):
    frame = table(seed=3)
    checked = check_frame(frame.assign(kind=np.where(frame.when == 0, frame.kind, np.nan)), SETTINGS)
    result = adapt_checked(checked, labelled=read_labelled(filled(frame, checked, tmp_path), checked))
    assert result.kept == "source"
    assert result.decision.before.method.endswith(" labelled rows")


def test_a_row_is_never_judged_by_a_model_that_saw_its_label(rng):
    """Random labels cannot be learnt: whoever seems to know them has seen them."""
    x, y = rng.normal(size=(60, 30)), rng.integers(0, 2, 60)
    learner = as_learner(LogisticRegression(C=1e6, max_iter=2_000), np.array([0, 1])).fit(x[:20], y[:20])
    sequence = DomainSequence([Domain(x[:20], y[:20]), Domain(x[20:])])
    method = LabelledTraining(x[20:], y[20:], share=0.9)
    assert (method.held_out_codes(learner, sequence) == y[20:]).mean() < 0.8
    assert (method.adapt(learner, sequence).learner.logits(x[20:]).argmax(axis=1) == y[20:]).mean() > 0.9


def test_a_class_of_its_own_counts_as_wrong(turned, tmp_path):
    frame, checked = turned
    path = filled(frame, checked, tmp_path, change=lambda rows: rows.assign(kind="new"))
    labelled = read_labelled(path, checked)
    assert set(labelled.codes) == {-1}
    result = adapt_checked(checked, labelled=labelled)
    assert result.kept == "source"
    assert result.decision.before.value == 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.drop(columns="row"), "no column 'row'"),
        (lambda rows: rows.drop(columns="kind"), "no column 'kind'"),
        (lambda rows: rows.assign(kind=None), "no label"),
        (lambda rows: rows.assign(row=0), "not one of the last window"),
        (lambda rows: rows.assign(row=rows["row"].iloc[0]), "twice"),
        (lambda rows: rows.assign(weight=-1.0), "not negative"),
    ],
)
def test_what_is_refused(turned, tmp_path, change, words):
    frame, checked = turned
    with pytest.raises(InputError, match=words):
        read_labelled(filled(frame, checked, tmp_path, change=change), checked)


def test_networks_are_refused_before_anything_is_read(turned, monkeypatch, tmp_path):
    from driftfit.app import checked

    monkeypatch.setattr(checked, "is_network", lambda model: True)
    with pytest.raises(InputError, match="not for pictures or networks"):
        read_labelled(tmp_path / "absent.csv", turned[1])
    with pytest.raises(InputError, match="not for pictures or networks"):
        wanted_rows(turned[1], 20)


# On the command line -----------------------------------------------------------------------------------------


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as leaving:
        main([str(argument) for argument in arguments])
    return leaving.value.code or 0, out.getvalue(), err.getvalue()


def test_from_a_run_to_labels_and_back(tmp_path):
    frame = table(flip=True)
    path = tmp_path / "t.csv"
    frame.assign(kind=np.where(frame.when == 0, frame.kind, np.nan)).to_csv(path, index=False)
    options = [path, "--label", "kind", "--order", "when"]
    code, text, _ = run("adapt", *options, "-o", tmp_path / "RUN")
    assert code == 0
    assert "driftfit label" in text
    code, text, err = run("label", tmp_path / "RUN", "--budget", "20", "-o", tmp_path / "rows.csv")
    assert code == 0, err
    assert "20 rows to label in column 'kind'" in text
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows["kind"].isna().all()
    assert rows["x"].round(9).tolist() == frame["x"].iloc[rows["row"]].round(9).tolist()
    rows.assign(kind=frame["kind"].to_numpy()[rows["row"]]).to_csv(tmp_path / "rows.csv", index=False)
    labels = ["--labels", tmp_path / "rows.csv", "--candidates"]
    code, text, err = run("adapt", *options, *labels, "-o", tmp_path / "NEW")
    assert code == 0, err
    assert "The new model learns from these labels too: on 20 labelled rows of today it was right on" in text
    assert "driftfit predict" in text
    summary = json.loads((tmp_path / "NEW" / "result.json").read_text())
    assert summary["remedies"]["best"].startswith("trained with the labels")
    predicted = pd.read_parquet(tmp_path / "NEW" / "predictions.parquet")
    best = f"prediction by {summary['remedies']['best']}"
    assert (predicted[best] == predicted["prediction"]).all()
    assert (predicted["prediction by source"] != predicted["prediction"]).any()
    # The table is read again: another one is not taken for it.
    frame.to_csv(path, index=False)
    code, _, err = run("label", tmp_path / "RUN", "-o", tmp_path / "rows.csv")
    assert code == 1
    assert "not the one of the run" in err

"""The model that somebody has in use: asked, compared with, and handed back untouched; and labels until a window."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import driftfit
from driftfit.app import Column, History, Settings, adapt_checked, check_frame
from driftfit.app.labelled_rows import read_labelled, wanted_rows
from driftfit.app.own_model import label_codes, own_model, predictions_in
from driftfit.cli import main
from driftfit.errors import InputError
from driftfit.methods import OwnScale
from driftfit.selection import IN_USE

FEATURES = list("abc")


def table(seed=0, n=400, drift=0.0):
    rng = np.random.default_rng(seed)
    y, when = rng.integers(0, 2, n), np.repeat([0, 1], n // 2)
    x = rng.normal(size=(n, 3)) + 2.2 * y[:, None] * [1.0, 0.5, 0.0]
    x = x * (1.0 + drift * when[:, None]) + 10.0 * drift * when[:, None]
    return pd.DataFrame(x, columns=FEATURES).assign(kind=np.where(y == 1, "yes", "no"), when=when)


def trained(frame, names=True):
    rows = frame[frame.when == 0]
    x = rows[FEATURES] if names else rows[FEATURES].to_numpy()
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(x, rows.kind)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One model as skops with and without names of columns, as ONNX, and as code."""
    from skl2onnx import to_onnx

    folder = tmp_path_factory.mktemp("models")
    frame = table()
    skops.io.dump(trained(frame), folder / "named.skops")
    plain = trained(frame, names=False)
    skops.io.dump(plain, folder / "plain.skops")
    data = to_onnx(plain, frame[FEATURES].to_numpy()[:1].astype(np.float32)).SerializeToString()
    (folder / "model.onnx").write_bytes(data)
    (folder / "mine.py").write_text("def rule(frame):\n    return ['yes' if a > 1 else 'no' for a in frame['a']]\n")
    return folder


def settings(**more):
    return Settings(label="kind", order=Column("when"), **{"history": History.FIRST, **more})


@pytest.mark.parametrize("name", ["named.skops", "plain.skops", "model.onnx", "mine.py:rule"])
def test_every_kind_of_file_answers_for_itself(files, name):
    frame = table()
    model = own_model(str(files / name))
    checked = check_frame(frame, settings(in_use=model))
    expected = trained(frame).predict(frame[FEATURES])
    if name.startswith("mine"):
        expected = np.where(frame["a"] > 1, "yes", "no")
    for part, rows in (("source", checked.prepared.source_rows), ("target", checked.prepared.target_rows)):
        found = checked.source.classes[getattr(checked.in_use, part)]
        np.testing.assert_array_equal(found, expected[rows])


def test_a_column_of_predictions_is_no_feature_and_is_kept_as_it_is():
    frame = table()
    said = np.where(np.random.default_rng(1).random(400) < 0.9, frame.kind, "no")
    result = adapt_checked(check_frame(frame.assign(said=said), settings(in_use=predictions_in("said"))))
    assert result.kept == "source"
    assert [plan.column for plan in result.checked.prepared.plans] == FEATURES
    np.testing.assert_array_equal(result.predictions["prediction"], said[200:])
    assert result.predictions["predicted_probability"].isna().all()


def test_it_is_left_where_a_declared_scale_is_clearly_better(files):
    frame = table(drift=2.0)
    model = own_model(str(files / "named.skops"))
    assert adapt_checked(check_frame(frame, settings(in_use=model))).kept == "source"
    result = adapt_checked(check_frame(frame, settings(in_use=model, assume="scale")))
    choice = result.choice
    assert (result.kept, choice.reference) == ("adapted", IN_USE)
    assert choice.gains[choice.best].low > 0
    assert (result.predictions["prediction"] == frame.kind[200:].to_numpy()).mean() > 0.75
    assert result.predictor.own is None


def test_its_accuracy_on_the_first_window_is_told_and_refused_without_overlap(files):
    model = own_model(str(files / "named.skops"))
    near, undeclared = (check_frame(table(), settings(in_use=model, assume=word)) for word in ("covariates", ()))
    far = check_frame(table(drift=2.0), settings(in_use=model, assume="covariates"))
    assert not undeclared.decision.before.reliable
    assert near.decision.before.reliable
    assert near.decision.before.high - near.decision.before.low < 0.3
    assert not far.decision.before.reliable
    assert "do not overlap" in far.decision.before.remark
    assert "right on" in near.prepared.sampled[0]


def test_a_run_hands_the_file_back_byte_for_byte_and_predicts_with_it(files, tmp_path, capsys):
    frame = table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    line = [str(tmp_path / "t.csv"), "--label", "kind", "--order", "when", "--old-model", str(files / "named.skops")]
    run, out = tmp_path / "run", tmp_path / "p.csv"
    for words in (["adapt", *line, "-o", str(run)], ["predict", str(run), str(tmp_path / "t.csv"), "-o", str(out)]):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0
    assert "The model in use stays exactly as it is" in capsys.readouterr().out
    assert (run / "own_model.skops").read_bytes() == (files / "named.skops").read_bytes()
    expected = trained(frame).predict(frame[FEATURES])
    np.testing.assert_array_equal(pd.read_csv(out)["prediction"], expected)
    assert json.loads((run / "result.json").read_text())["config"]["in_use"] == str(files / "named.skops")


def test_code_is_not_stored_and_asked_for_again(files, tmp_path, capsys):
    frame = table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    word, run = f"{files / 'mine.py'}:rule", tmp_path / "run"
    line = ["adapt", str(tmp_path / "t.csv"), "--label", "kind", "--order", "when", "--old-model", word]
    predict = ["predict", str(run), str(tmp_path / "t.csv"), "-o", str(tmp_path / "p.csv")]
    codes = []
    for words in ([*line, "-o", str(run)], predict, [*predict, "--old-model", word]):
        with pytest.raises(SystemExit) as left:
            main(words)
        codes.append(left.value.code)
    assert codes == [0, 1, 0]
    assert "add --old-model" in capsys.readouterr().err
    assert not list(run.glob("own_model*"))


def test_labels_compare_the_model_in_use_as_well(files, tmp_path):
    frame = table(drift=2.0)
    checked = check_frame(frame, settings(in_use=own_model(str(files / "named.skops"))))
    frame.kind[200:].rename_axis("row").reset_index().to_csv(tmp_path / "labels.csv", index=False)
    labelled = read_labelled(tmp_path / "labels.csv", checked)
    assert len(labelled.rows) == 200
    choice = adapt_checked(checked, labelled=labelled).choice
    assert choice.reference == IN_USE
    said = trained(frame).predict(frame[FEATURES])[200:]
    assert choice.measured[0].value == pytest.approx((said == frame.kind[200:]).mean())
    assert len(wanted_rows(checked, 12)) == 12


# Labels until a window -----------------------------------------------------------------------------------


def test_later_labels_are_used_only_where_they_are_allowed():
    frame = pd.concat([table(0), table(1).assign(when=lambda own: own.when + 2)], ignore_index=True)
    by = settings(labels_until="2", history=History.ALL)
    checked = check_frame(frame, by)
    assert len(checked.prepared.training.source) == 600
    assert len(checked.prepared.windows) == 2
    assert [len(domain) for domain in checked.prepared.history] == [200, 200, 200, 200]
    flipped = frame.assign(kind=np.where(frame.when == 3, "no", frame.kind))
    again = check_frame(flipped, by)
    np.testing.assert_array_equal(again.source.estimator[-1].coef_, checked.source.estimator[-1].coef_)
    assert len(check_frame(frame, settings()).prepared.training.source) == 200


def test_a_window_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"no window '1999'.* there are 0, 1"):
        check_frame(table(), settings(labels_until="1999", history=History.ALL))


# What is refused -----------------------------------------------------------------------------------------


def test_what_cannot_be_a_model_in_use_says_so(files, tmp_path):
    frame = table()
    for word, message in (
        ("model.pkl", "must be a .onnx or .skops file"),
        (str(tmp_path / "no.skops"), "cannot be read"),
        (f"{files / 'mine.py'}:nothing", "defines no 'nothing'"),
    ):
        with pytest.raises(InputError, match=message):
            own_model(word)
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="is not an ONNX model"):
        own_model(str(tmp_path / "bad.onnx"))
    with pytest.raises(InputError, match="which the table does not have"):
        check_frame(frame, settings(in_use=predictions_in("said")))
    gaps = frame.assign(said=frame.kind.where(frame.index > 5))
    with pytest.raises(InputError, match="says nothing about 6 of 200 rows"):
        check_frame(gaps, settings(in_use=predictions_in("said")))
    with pytest.raises(InputError, match="'0', which is no class of the first window"):
        check_frame(frame.assign(said=0), settings(in_use=predictions_in("said")))
    with pytest.raises(InputError, match="knows 3 columns without their names, and the table has 2"):
        check_frame(frame.drop(columns="c"), settings(in_use=own_model(str(files / "plain.skops"))))
    with pytest.raises(InputError, match="compared by the default method"):
        settings(in_use=predictions_in("said"), method=OwnScale())


class Strange(LogisticRegression):
    """A type that nobody trusts."""


def test_a_skops_file_with_other_types_is_not_loaded(tmp_path):
    frame = table()
    skops.io.dump(Strange().fit(frame[FEATURES], frame.kind), tmp_path / "strange.skops")
    with pytest.raises(InputError, match="not on the list of trusted types; it was not loaded"):
        own_model(str(tmp_path / "strange.skops"))


def test_labels_are_known_however_they_are_written():
    assert label_codes(np.array(["True", "false", "1.0", "2"]), [0, 1], True).tolist() == [1, 0, 1, -1]


def drifting(said):
    """Eight windows through which the border between the classes moves; labels of the newest have not come."""
    rng = np.random.default_rng(3)
    when, x = np.repeat(np.arange(8), 150), rng.normal(size=(1200, 3))
    truth = np.where(x[:, 0] > 0.3 * when, "yes", "no")
    frame = pd.DataFrame(x, columns=FEATURES).assign(when=when, kind=truth, said=said(x, truth, rng))
    return frame.assign(kind=frame.kind.where(frame.when < 7)), truth


def test_past_windows_compare_it_with_what_could_be_learnt(tmp_path, capsys):
    stale, truth = drifting(lambda x, truth, rng: np.where(x[:, 0] > 0, "yes", "no"))
    run = driftfit.adapt(stale, label="kind", order="when", windows="value", old_predictions="said")
    choice = run.result.choice
    assert (run.result.kept, choice.reference, choice.backtest.reference) == ("adapted", IN_USE, IN_USE)
    # The way that is taken was measured to gain clearly, row by row against the model in use.
    assert choice.gains[choice.best].value > 0.1
    assert "points more rows than the model in use" in str(run)
    today = stale.kind.isna()
    assert (run.predictions["prediction"] == truth[today]).mean() > (stale.said[today] == truth[today]).mean() + 0.1
    stale.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(SystemExit) as left:
        main(["backtest", str(tmp_path / "t.csv"), "--label", "kind", "--order", "when", "--by-value",
              "--old-predictions", "said"])  # fmt: skip
    assert left.value.code == 0
    assert "accuracy of model in use, and what the others gained over it" in capsys.readouterr().out


def test_it_stays_where_past_windows_show_nothing_better():
    good, _ = drifting(lambda x, truth, rng: np.where(rng.random(len(truth)) < 0.98, truth, "no"))
    run = driftfit.adapt(good, label="kind", order="when", windows="value", old_predictions="said")
    assert (run.result.kept, run.result.choice.best) == ("source", IN_USE)
    np.testing.assert_array_equal(run.predictions["prediction"], good.said[good.kind.isna()])
    assert "or less if it was trained on these windows" in str(run)
    kept = driftfit.adapt(good, label="kind", order="when", windows="value", old_predictions="said", metric="roc_auc")
    assert kept.result.choice.best == IN_USE
    assert "past windows cannot compare it by roc auc" in str(kept)
    with pytest.raises(InputError, match="gives no probabilities"):
        driftfit.backtest(good, label="kind", order="when", old_predictions="said", metric="roc_auc")


def test_labels_of_today_leave_it_for_a_model_of_all_labels(tmp_path):
    """What labels of today choose is what predicts, also where that is the plain model."""
    frame, truth = drifting(lambda x, truth, rng: rng.choice(["yes", "no"], len(truth)))
    checked = check_frame(frame, Settings(label="kind", order=Column("when"), in_use=predictions_in("said")))
    rows = checked.prepared.asked
    pd.DataFrame({"row": rows, "kind": truth[rows]}).to_csv(tmp_path / "labels.csv", index=False)
    labelled = read_labelled(tmp_path / "labels.csv", checked)
    result = adapt_checked(checked, labelled=labelled)
    assert result.choice.reference == IN_USE
    assert result.choice.best != IN_USE
    assert result.kept == "adapted"
    assert (result.predictions["prediction"] == truth[rows]).mean() > 0.8


def test_an_object_is_a_model_in_use_too(tmp_path):
    frame = table()
    model = LogisticRegression().fit(frame[FEATURES], frame.kind)
    run = driftfit.adapt(frame, label="kind", order="when", windows=2, history="first", old_model=model)
    expected = model.predict(frame[FEATURES])
    np.testing.assert_array_equal(run.predictions["prediction"], expected[run.result.checked.prepared.target_rows])
    run.save(tmp_path / "run")
    with pytest.raises(InputError, match="old_model="):
        driftfit.load(tmp_path / "run")
    again = driftfit.load(tmp_path / "run", old_model=model)
    np.testing.assert_array_equal(again.predict(frame), expected)
    with pytest.raises(InputError, match="exclude each other"):
        driftfit.adapt(frame, label="kind", order="when", old_model=model, old_predictions="a")
    with pytest.raises(InputError, match="no predict"):
        driftfit.adapt(frame, label="kind", order="when", old_model=3)

"""Columns of codes, columns left out, and the model that suits the first window, as a user asks for them."""

import argparse
import contextlib
import io

import numpy as np
import pandas as pd
import pytest

import driftfit
from driftfit.app import Column, History, Settings, adapt_frame, check_frame
from driftfit.app.columns import Kind, conform, plan_columns
from driftfit.app.models import BestModel
from driftfit.cli import main
from driftfit.errors import InputError
from driftfit.methods import Assumption, OwnScale


def table(n=240):
    rng = np.random.default_rng(0)
    code, when = rng.integers(100, 105, n), np.repeat([0, 1], n // 2)
    label = np.isin(code, [101, 104]).astype(int)
    return pd.DataFrame({"code": code, "x": rng.normal(size=n), "leak": label, "is": label, "when": when})


SETTINGS = {"label": "is", "order": Column("when"), "history": History.FIRST}


def test_codes_are_categories_where_somebody_says_so():
    frame = table()
    plain, asked = (plan_columns(frame[["code", "x"]], categorical=names) for names in ((), ("code",)))
    assert [plan.kind for plan in plain] == [Kind.NUMBER, Kind.NUMBER]
    assert asked[0].kind is Kind.CATEGORY
    assert asked[0].note == "5 values, as asked for"
    # Whole numbers read the same with and without a gap.
    gappy = frame.assign(code=frame["code"].astype(float).where(frame.index > 3))
    assert set(conform(gappy, asked)["code"]) == {"missing", *map(str, range(100, 105))}


def test_a_model_learns_codes_that_are_no_measurements():
    frame = table().drop(columns="leak")
    plain, asked = (check_frame(frame, Settings(**SETTINGS, categorical=names)) for names in ((), ("code",)))
    right = [float((c.view.held_predicted() == c.view.codes[c.view.held_rows]).mean()) for c in (plain, asked)]
    assert right[1] > 0.99 > right[0] + 0.1


def test_dropped_columns_are_no_features():
    checked = check_frame(table(), Settings(**SETTINGS, drop=("leak", "code")))
    assert [plan.column for plan in checked.prepared.plans] == ["x"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": ("nothing",)}, "drop names the column 'nothing'"),
        ({"categorical": ("nothing",)}, "categorical names the column 'nothing'"),
        ({"drop": ("code", "x", "leak")}, "no feature column"),
    ],
)
def test_columns_that_are_not_there(options, words):
    with pytest.raises(InputError, match=words):
        check_frame(table(), Settings(**SETTINGS, **options))


def test_one_column_cannot_be_both():
    with pytest.raises(InputError, match="'x' is to be dropped and used as categories"):
        Settings(**SETTINGS, drop=("x",), categorical=("x",))


def test_the_best_model_is_the_one_that_suits_the_source():
    frame = table().drop(columns="leak")
    frame["is"] = ((frame["x"] > 0) ^ (frame["code"] > 102)).astype(int)
    checked = check_frame(frame, Settings(**SETTINGS, model=BestModel(("logistic", "forest"))))
    assert type(checked.source.estimator[-1]).__name__ == "RandomForestClassifier"
    assert checked.prepared.sampled[0].startswith("forest is the best model of logistic")
    assert "largest class" in checked.prepared.sampled[0]


def test_of_equal_models_the_simplest():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"x": y * 9.0 + rng.normal(size=200), "is": y, "when": np.repeat([0, 1], 100)})
    checked = check_frame(frame, Settings(**SETTINGS, model=BestModel(("logistic", "forest"))))
    assert type(checked.source.estimator[-1]).__name__ == "LogisticRegression"


def test_on_the_command_line(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    words = [
        "--label",
        "is",
        "--order",
        "when",
        "--categorical",
        "code",
        "--drop",
        "leak",
        "--model",
        "auto",
        "--verbose",
    ]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), pytest.raises(SystemExit) as left:
        main(["adapt", str(tmp_path / "t.csv"), *words, "-o", str(tmp_path / "RUN")])
    assert not left.value.code
    assert "by cross-validation on the first window" in out.getvalue()
    assert out.getvalue().startswith("Nothing moved that can be seen in the rows.\nThe model learns from all labels:")


# Proportions that somebody knows ------------------------------------------------------------------------------


def jumped(n=600, apart=1.2):
    rng = np.random.default_rng(2)
    when = np.repeat([0, 1], n // 2)
    kind = np.where(rng.random(n) < np.where(when == 0, 0.5, 0.05), "yes", "no")
    return pd.DataFrame(
        {"x": rng.normal(size=n) + apart * (kind == "yes"), "z": rng.normal(size=n), "is": kind, "when": when}
    )


def test_given_proportions_are_used_and_told():
    frame = jumped(apart=2.5)
    result = adapt_frame(frame, Settings(**SETTINGS, proportions=(("no", 0.95), ("yes", 0.05))))
    assert result.choice.best == "proportions"
    assert result.choice.ladder.used is Assumption.PROPORTIONS
    assert "proportions was declared" in result.decision.sentence
    right = (result.predictions["prediction"].to_numpy() == frame["is"].to_numpy()[frame.when == 1]).mean()
    assert right > 0.9


@pytest.mark.parametrize(
    "shares", [(("no", 1.0),), (("no", 0.5), ("maybe", 0.5)), (("no", 0.5), ("yes", 0.4), ("x", 0.1))]
)
def test_every_class_needs_a_share(shares):
    with pytest.raises(InputError, match="each class once"):
        adapt_frame(jumped(), Settings(**SETTINGS, proportions=shares))


def test_proportions_belong_to_the_default_method():
    with pytest.raises(InputError, match="default method"):
        Settings(**SETTINGS, proportions=(("no", 1.0),), method=OwnScale())


@pytest.mark.parametrize("text", ["no", "no=1,yes=1", "=1", "no=a,yes=b", ""])
def test_proportions_in_words_are_checked(text):
    from driftfit.cli.table_options import _proportions

    with pytest.raises(argparse.ArgumentTypeError, match="sum to 1"):
        _proportions(text)


WRONG = {
    "label": None, "order": ["when"], "windows": 2.5, "model": 3, "encoder": "pca:0", "method": 3, "seed": 1.5,
    "training_rows": "a", "metric": {"a": 1}, "sets": "a", "late": "a", "history": "some", "drop": 3,
    "categorical": None, "group": 0.5, "labels_until": 0.5, "proportions": "a",
}  # fmt: skip


@pytest.mark.parametrize("option", WRONG)
def test_an_option_of_another_kind_is_named(option):
    with pytest.raises(InputError, match=r"must be|there is no encoder|is no untrained") as refused:
        driftfit.adapt(table(), **{"label": "is", "order": "when", option: WRONG[option]})
    assert str(WRONG[option]) in str(refused.value)


def test_lists_numbers_and_dictionaries_are_taken_as_they_are_meant():
    frame = table().rename(columns={"leak": 7})
    settings = {"label": "is", "order": "when", "history": "first", "windows": np.int64(2)}
    run = driftfit.adapt(frame, drop=[7], proportions={0: 0.4, 1: 0.6}, encoder="pca:2", **settings)
    assert run.result.checked.settings.drop == ("7",)
    assert run.result.checked.settings.proportions == (("0", 0.4), ("1", 0.6))
    assert len(driftfit.adapt(table().rename(columns={"is": 7}), **settings | {"label": 7}).classes) == 2


def test_columns_of_one_name_in_a_data_frame_are_refused():
    twice = pd.concat([table(), table()[["x"]]], axis=1)
    with pytest.raises(InputError, match="several columns named 'x'"):
        driftfit.adapt(twice, label="is", order="when")

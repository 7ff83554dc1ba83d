"""The answer to a run: four sentences and a table, in every situation that a table can be in."""

import re

import numpy as np
import pandas as pd
import pytest

from driftfit.app import Column, History, Settings, adapt_checked, adapt_frame, check_frame, check_summary, summarise
from driftfit.app.labelled_rows import read_labelled, wanted_rows
from driftfit.app.past_windows import class_warnings, classes_today, past_windows
from driftfit.cli.text import answer_text
from driftfit.domains import ByValue
from driftfit.selection import Metric

# What nobody says to a colleague.
JARGON = re.compile(r"\bnats\b|margin|verdict|remed|pseudo|adapted model|\?|cannot be estimated", re.IGNORECASE)


def borders(move, n_windows=6, n=150, seed=0):
    """A border between two classes that moves with time, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    when = np.repeat(np.arange(n_windows), n)
    x = rng.normal(size=(len(when), 2))
    kind = np.where(x[:, 0] + 0.3 * x[:, 1] + rng.normal(size=len(when)) * 0.2 > move * when - 1.0, "yes", "no")
    return pd.DataFrame(x, columns=["price", "age"]).assign(kind=kind, when=[f"2024-0{w + 1}" for w in when])


def two_windows(scale=1.0, offset=0.0, n=500):
    """Two windows, the second without labels, with each column in another unit."""
    rng = np.random.default_rng(1)
    y = np.arange(2 * n) % 2
    x = rng.normal(size=(2 * n, 3)) + 2.0 * y[:, None]
    x[n:] = x[n:] * scale + offset
    kind = np.where(np.arange(2 * n) < n, np.array(["no", "yes"])[y], None)
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(kind=kind, when=np.repeat([2023, 2024], n))


def settings(**more):
    return Settings(label="kind", order=Column("when"), windows=ByValue(), **more)


def sentences(result):
    said = str(result).splitlines()
    assert 1 < len(said) <= 4
    assert not JARGON.search(str(result)), said
    assert all(one.endswith(".") and one[0].isupper() for one in said)
    assert summarise(result)["answer"]["sentences"] == said
    return said


def unlabelled(frame, since="2024-05"):
    return frame.assign(kind=frame["kind"].where(frame["when"] < since, None))


@pytest.fixture(scope="module")
def moving():
    return adapt_frame(unlabelled(borders(0.5)), settings())


def test_backtests_chose_another_way(moving):
    moved, done, expect, after = sentences(moving)
    assert moved == "Nothing moved that can be seen in the rows."
    assert re.search(r"The model is a mean .*: in 2 past windows that was right on [\d.]+ points more rows than", done)
    assert re.fullmatch(r"Expect \d+ % of today's rows to be right \(\d+ to \d+ %, from 2 past windows\)\.", expect)
    assert after == "To be sure, label 50 rows of today: driftfit label RUN --budget 50 -o rows.csv."


def test_every_way_stands_in_the_table_and_one_is_taken(moving):
    summary = summarise(moving, run="'my run'")
    assert "driftfit label 'my run' --budget" in summary["answer"]["sentences"][3]
    table = summary["answer"]["table"]
    assert [row[0] for row in table["rows"]] == list(moving.choice.backtest.ways)
    assert [row[0] for row in table["rows"] if row[-1] == "taken"] == [moving.choice.best]
    taken = next(row for row in table["rows"] if row[-1] == "taken")
    share = moving.choice.backtest.expected(moving.choice.best).value
    assert taken[1].startswith(f"{100 * share:.1f} %")
    assert f"Expect {100 * share:.0f} %" in summary["answer"]["sentences"][2]
    assert summary["accuracy"]["new"]["estimate"] == pytest.approx(share)


def test_backtests_kept_all_labels():
    result = adapt_frame(unlabelled(borders(0.0, seed=1)), settings())
    assert result.kept == "source"
    _, done, expect, _ = sentences(result)
    assert done == "The model of all labels stays: no other way did clearly better in 3 past windows."
    assert "from 3 past windows" in expect


def test_another_metric_is_named_as_it_is():
    frame = unlabelled(borders(0.0))
    costs = Metric("cost", ((0.0, 1.0), (5.0, 0.0)), ("no", "yes"))
    for metric, words in ((Metric("roc_auc"), "Expect a roc auc of"), (costs, "Expect a cost per row of")):
        assert sentences(adapt_frame(frame, settings(metric=metric)))[2].startswith(words)


def test_every_row_is_labelled():
    _, done, expect, after = sentences(adapt_frame(borders(0.0, seed=1), settings()))
    assert done.startswith("The model of all labels stays: no other way did clearly better in 5 past windows")
    assert "of the next rows to be right" in expect
    assert after.startswith("Predict rows to come: driftfit predict RUN")


def test_nothing_moved():
    said = sentences(adapt_frame(two_windows(), settings()))
    assert said[:2] == [
        "Nothing moved that can be seen in the rows.",
        "The old model stays exactly as it is: nothing calls for a change.",
    ]
    assert said[2].startswith("If labels mean what they did, expect ")
    assert said[3] == "Nothing needs to be done now; when rows or labels arrive: driftfit update RUN NEW.csv."


def test_something_moved_and_nothing_was_declared():
    result = adapt_frame(two_windows(3.0, 5.0), settings())
    moved, done, expect, after = sentences(result)
    assert moved.startswith("Since 2023 all three columns moved, ")
    assert done.endswith("no label of today and no declared assumption says what the move did to the labels.")
    assert expect == "How good it is today cannot be known without labels."
    (other,) = [one for one in result.choice.ladder.others if one.assumption == "scale"]
    assert after == f"Label {other.labels} rows of today: driftfit label RUN --budget {other.labels} -o rows.csv."
    rows = summarise(result)["answer"]["table"]["rows"]
    assert rows[0] == ["old model", "taken"]
    assert ["assume scale", f"{100 * other.changed:.0f} % change; {other.labels} labels tell"] in rows


def test_a_declared_assumption_stands():
    result = adapt_frame(two_windows(3.0, 5.0), settings(assume="scale"))
    _, done, expect, _ = sentences(result)
    assert "you declared that each column changed its unit or its offset, and the rows do not speak against it" in done
    assert expect.startswith("If that holds, expect ")
    assert [row[-1] for row in summarise(result)["answer"]["table"]["rows"]] == ["", "taken"]


def test_a_declared_assumption_is_refuted():
    result = adapt_frame(two_windows(3.0, 5.0), settings(assume="proportions"))
    _, done, expect, _ = sentences(result)
    assert done == "The old model stays exactly as it is: the rows speak against what was declared (proportions)."
    assert expect == "How good it is today cannot be known without labels."


def test_labels_of_today_are_given(tmp_path):
    frame = two_windows(3.0, 5.0)
    checked = check_frame(frame, settings())
    rows = wanted_rows(checked, 40)
    rows["kind"] = np.array(["no", "yes"])[rows["row"] % 2]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    result = adapt_checked(checked, labelled=read_labelled(tmp_path / "rows.csv", checked))
    assert result.kept == "adapted"
    _, done, expect, after = sentences(result)
    assert re.search(r"on 40 labelled rows of today it was right on \d+ points more \(\d+ to \d+\) than the old", done)
    assert "from 40 labelled rows of today" in expect
    assert after.startswith("Predict rows to come")
    assert "gain in points" in summarise(result)["answer"]["table"]["heads"]


@pytest.mark.parametrize("method", [{"n_generated": 1}, {"n_generated": 1, "history": History.FIRST}])
def test_a_method_that_was_asked_for(method):
    assert "goat" in sentences(adapt_frame(two_windows(1.0, 0.5), settings(**method)))[1]


def test_before_adapting():
    frame = two_windows(3.0, 5.0)
    for more, words in (
        ({}, "The old model would stay"),
        ({"assume": "scale"}, "What was declared (scale) fits the rows"),
    ):
        answer = check_summary(check_frame(frame, settings(**more)))["answer"]
        assert answer["sentences"][1].startswith(words)
        assert not JARGON.search(" ".join(answer["sentences"]))
    past = check_summary(check_frame(unlabelled(borders(0.5)), settings()))["answer"]["sentences"]
    # What a backtest will measure is not guessed beforehand.
    assert past[1:] == ["What to learn from is measured on the past windows: run driftfit adapt."]


def test_thirty_classes_fit_on_a_screen():
    rng = np.random.default_rng(0)
    kinds, when = rng.integers(0, 30, 3600), np.repeat(np.arange(4), 900)
    x = rng.normal(size=(3600, 4)) * 0.7 + np.random.default_rng(5).normal(size=(30, 4))[kinds] * 2
    frame = pd.DataFrame(x, columns=list("abcd")).assign(kind=[f"class {one}" for one in kinds], when=when)
    summary = summarise(adapt_frame(frame.assign(kind=frame["kind"].where(when < 3, None)), settings()))
    text = answer_text(summary["answer"])
    assert len(text.splitlines()) < 25
    assert not JARGON.search(text)
    assert len(summary["backtest"]["classes"]) == 30


# Classes that are never named -------------------------------------------------------------------------------


def test_a_class_that_is_never_named_is_a_warning():
    rng = np.random.default_rng(0)
    frame = borders(0.0)
    # A class without any pattern, which is never the likeliest one.
    odd = rng.random(len(frame)) < 0.04
    frame = unlabelled(frame.assign(kind=np.where(odd, "odd", frame["kind"])))
    result = adapt_frame(frame, settings(metric=Metric("accuracy")))
    assert any("no row was called 'odd', though there were some" in one for one in result.warnings)
    assert any("no row of today is called 'odd'" in one for one in result.warnings)
    classes = {one["name"]: one for one in past_windows(result.choice)["classes"]}
    assert classes["odd"]["never"]
    assert classes["odd"]["recall"] == 0.0
    assert np.isnan(classes["odd"]["precision"])
    assert classes["yes"]["recall"] > 0.8
    assert not classes["yes"]["never"]


def test_rare_classes_are_no_warning_where_none_is_expected():
    assert classes_today({"a": 20}, ["a", "b"], [0.9, 0.1]) == []
    assert classes_today({"a": 100}, ["a", "b"], [0.9, 0.1]) == ["b"]
    (said,) = class_warnings(None, [f"k{number}" for number in range(8)])
    assert "'k4' and 3 more classes" in said


def test_a_share_does_not_stand_alone_where_a_class_is_rare():
    frame = borders(0.0)
    rare = np.random.default_rng(2).random(len(frame)) < 0.03
    frame = frame.assign(kind=np.where(rare, "fraud", "fine"), price=frame["price"] + 3.0 * rare)
    expect = sentences(adapt_frame(unlabelled(frame), settings(metric=Metric("accuracy"))))[2]
    assert re.search(
        r"to be right \(.*; always saying 'fine' would be right on 9\d\.\d % of the labelled ones\)\.", expect
    )
    result = adapt_frame(unlabelled(frame), settings())
    assert "right" not in sentences(result)[2]
    assert any(
        one.startswith("counted by balanced accuracy: the rarest class has")
        for one in summarise(result)["answer"]["notes"]
    )


def test_the_notes_say_which_labels_are_used():
    answer = check_summary(check_frame(unlabelled(borders(0.0)), settings()))["answer"]
    assert answer["notes"] == ["labels until 2024-04 used (600 rows); 2 windows without"]
    assert answer_text(answer).endswith(answer["notes"][0])

"""Rows with a label are history, rows without one are today's: wherever labels stop."""

import numpy as np
import pandas as pd
import pytest

from driftfit.app import Column, History, Settings, adapt_frame, check_frame, table_of
from driftfit.app.prepare import prepare
from driftfit.domains import ByQuantile, ByValue
from driftfit.errors import InputError

N_WINDOWS, N_ROWS = 6, 120


def table(seed=0, move=0.6):
    """One column; the border between the classes moves."""
    rng = np.random.default_rng(seed)
    when = np.repeat(np.arange(N_WINDOWS), N_ROWS)
    x = rng.normal(size=(len(when), 2))
    kind = np.where(x[:, 0] > move * when - 1.0, "yes", "no")
    return pd.DataFrame(x, columns=["a", "b"]).assign(kind=kind, when=when)


def without(frame, rows):
    return frame.assign(kind=frame["kind"].where(~rows, None))


def settings(**more):
    return Settings(label="kind", order=Column("when"), windows=ByValue(), **more)


@pytest.fixture(scope="module")
def late():
    frame = table()
    return frame, adapt_frame(without(frame, frame.when >= 4), settings())


def test_all_labels_are_used_and_the_rows_without_are_predicted(late):
    frame, result = late
    prepared = result.checked.prepared
    assert [len(domain) for domain in prepared.history] == [N_ROWS] * 6
    assert len(prepared.training.source) == 4 * N_ROWS
    assert prepared.history.late == 1
    np.testing.assert_array_equal(result.predictions["row"], np.flatnonzero(frame.when >= 4))
    assert f"labels until 3 used ({4 * N_ROWS} rows); 2 windows without" in prepared.sampled


def test_a_backtest_chooses_where_the_border_moves(late):
    frame, result = late
    choice = result.choice
    assert choice.backtest.windows == ("1", "2", "3")
    assert choice.best != choice.reference == "all labels"
    truth = frame["kind"].to_numpy()[result.predictions["row"]]
    assert (result.predictions["prediction"].to_numpy() == truth).mean() > 0.6
    assert "gained" in result.decision.sentence


def test_labels_may_stop_inside_a_window(late):
    frame, _ = late
    result = adapt_frame(without(frame, np.arange(len(frame)) >= 4 * N_ROWS + 70), settings())
    prepared = result.checked.prepared
    assert [len(domain) for domain in prepared.history] == [N_ROWS] * 4 + [70, 50, N_ROWS]
    assert [window.name for window in prepared.windows] == ["0 to 4", "4, no label", "5"]
    assert len(result.predictions) == 170


def test_a_few_gaps_in_the_newest_window_are_no_rows_of_today(late):
    frame, _ = late
    gaps = np.isin(np.arange(len(frame)), [5 * N_ROWS + 3, 5 * N_ROWS + 50, 7])
    prepared = check_frame(without(frame, gaps), settings()).prepared
    assert prepared.asked is None
    assert len(prepared.training.source) == len(frame) - 3
    assert any("every window has labels" in said for said in prepared.sampled)


def test_labels_may_begin_after_the_first_window(late):
    frame, _ = late
    prepared = check_frame(without(frame, (frame.when == 0) | (frame.when > 3)), settings()).prepared
    assert len(prepared.training.source) == 3 * N_ROWS
    assert prepared.windows[0].name == "1 to 3"


def test_words_without_a_letter_are_no_labels(late):
    frame, result = late
    blank = frame.assign(kind=frame["kind"].where(frame.when < 4, " "))
    again = adapt_frame(blank, settings())
    pd.testing.assert_frame_equal(again.predictions, result.predictions)


def test_the_rows_may_stand_in_any_order(late):
    frame, result = late
    mixed = without(frame, frame.when >= 4).sample(frac=1.0, random_state=3)
    again = adapt_frame(mixed, settings())
    assert again.choice.best == result.choice.best
    assert set(np.asarray(mixed.index)[again.predictions["row"]]) == set(result.predictions["row"])


def test_rows_stand_in_their_order_only_where_nearly_all_before_today_have_a_label(late):
    """A row cannot be compared with those just before it where these were left out."""
    frame, _ = late
    today = frame.when >= 4
    odd = np.arange(len(frame)) % 2 == 1
    few = np.arange(len(frame)) % 200 == 5
    for rows, expected in ((today, True), (today | few, True), (today | odd, False)):
        assert prepare(table_of(without(frame, rows)), settings()).in_order is expected


def test_labels_until_a_window(late):
    frame, _ = late
    prepared = check_frame(frame, settings(labels_until="2")).prepared
    assert len(prepared.training.source) == 3 * N_ROWS
    assert any(f"{3 * N_ROWS} labels after '2' were not looked at" in said for said in prepared.sampled)


def test_the_first_window_alone_is_the_papers_setting(late):
    frame, _ = late
    hidden = without(frame, frame.when > 0)
    first, plain = (adapt_frame(one, settings(history=history)) for one, history in (
        (frame, History.FIRST), (hidden, History.ALL)
    ))  # fmt: skip
    pd.testing.assert_frame_equal(first.predictions, plain.predictions)
    assert any("--history all uses them" in said for said in first.checked.prepared.sampled)
    assert not any("--history" in said for said in plain.checked.prepared.sampled)


def test_a_late_answer_that_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="late must be a number of windows from 0 to 99, got -1"):
        settings(late=-1)


def test_a_large_table_in_parts_gives_the_same(tmp_path, late):
    from driftfit.app import adapt_table, open_table

    frame, result = late
    without(frame, frame.when >= 4).to_parquet(tmp_path / "t.parquet", row_group_size=50)
    again = adapt_table(open_table([tmp_path / "t.parquet"]), settings())
    pd.testing.assert_frame_equal(again.predictions, result.predictions)
    assert again.choice.sentence == result.choice.sentence


def test_quantile_windows(late):
    frame, _ = late
    rows = Settings(label="kind", order=Column("when"), windows=ByQuantile(3))
    prepared = check_frame(without(frame, frame.when >= 4), rows).prepared
    assert [len(domain) for domain in prepared.history] == [2 * N_ROWS] * 3


def test_a_class_that_comes_in_the_last_window_alone_leaves_nothing_to_measure():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "kind": 0, "when": np.arange(300)})
    frame.loc[290:, "kind"] = 1
    result = adapt_frame(frame, Settings("kind", Column("when"), ByQuantile(3)))
    assert getattr(result.choice, "backtest", None) is None
    assert len(result.predictor.classes) == 2

"""Tables that are read in parts give what tables in memory give: windows, labels, samples, models, predictions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftfit.app import ByCalendar, Column, FilePosition, RowPosition, Settings, adapt_table, open_table, parquet_files
from driftfit.app.labels import read_labels, stream_labels
from driftfit.app.parquet_files import Spooled
from driftfit.app.prepare import prepare
from driftfit.app.streamed_windows import stream_windows
from driftfit.app.windows import cut_windows
from driftfit.cli import run_command
from driftfit.domains import ByEdges, ByQuantile, ByValue
from driftfit.errors import InputError

NUMBERS = {
    "float": st.floats(-3, 3, width=16) | st.just(-0.0) | st.none(),
    "whole": st.integers(-4, 4) | st.integers(2**53, 2**53 + 2) | st.none(),
    "large": st.integers(2**63, 2**64 - 1),
    "date": st.datetimes(pd.Timestamp("2019-12-30"), pd.Timestamp("2020-03-03")),
}
DTYPES = {"float": "float64", "whole": "Int64", "large": "uint64", "date": "datetime64[ns]"}
RULES = {
    "float": [ByQuantile(2), ByQuantile(5), ByEdges((0, 1.5)), ByValue()],
    "whole": [ByQuantile(3), ByEdges((0.5, 2**53 + 1)), ByValue()],
    "large": [ByQuantile(4)],
    "date": [ByQuantile(3), ByCalendar("month"), ByCalendar("week"), ByEdges(("2020-01-15", "2020-02-01"))],
}


def outcome(cut):
    """Windows and what was said about them, or that there are none; the words for that may differ."""
    try:
        windows, said = cut()
    except InputError:
        return "refused"
    return [(window.name, window.rows.tolist(), len(window)) for window in windows], said


@pytest.mark.parametrize("kind", list(NUMBERS))
@given(data=st.data())
def test_windows_in_parts_are_the_windows(kind, data):
    values = data.draw(st.lists(NUMBERS[kind], min_size=1, max_size=80))
    size, rule = data.draw(st.integers(1, 40)), data.draw(st.sampled_from(RULES[kind]))
    column = pd.Series(values, dtype=DTYPES[kind])

    def parts():
        return (column.iloc[start : start + size] for start in range(0, len(column), size))

    assert outcome(lambda: stream_windows(parts, len(column), rule, "order column 'o'")) == outcome(
        lambda: cut_windows(column, rule, "order column 'o'")
    )


def test_too_many_windows_are_refused_before_all_is_read():
    with pytest.raises(InputError, match="gives more than 100 windows; ask for fewer with --windows"):
        stream_windows(lambda: iter([pd.Series(np.arange(1000))]), 1000, ByValue(), "the order")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b", None, "a", "b", "c", "a", "b"] * 5),
        pd.Series([1, 2, None, 1, 2, 3, 1, 2] * 5, dtype="Int64"),
        pd.Series([1.0, 2.0, None, 1.0, 2.0, 3.0, 1.0, 2.5] * 5),
        pd.Series([True, False, None, True] * 10, dtype="boolean"),
        pd.Series([None] * 40, dtype=object),
        pd.Series(np.arange(40) / 7),
        pd.Series(["x"] * 40),
        pd.Series(["a", "b"] * 18 + ["rare", "c", "c", "c"]),
    ],
)
@pytest.mark.parametrize("guessed", [False, True])
def test_labels_in_parts_are_the_labels(column, guessed):
    rows = np.arange(0, 40, 2) if column.nunique() < 4 else np.arange(40)
    first = np.isin(np.arange(40), rows)

    def found(read):
        try:
            labels, said = read()
        except InputError as error:
            return str(error)
        return labels.rows.tolist(), labels.values.tolist(), labels.values.dtype.kind, labels.boolean, said

    parts = (column.iloc[start : start + 7] for start in range(0, 40, 7))
    assert found(lambda: stream_labels(parts, first, "label 'y'", guessed=guessed)) == found(
        lambda: read_labels(column, rows, "label 'y'", guessed=guessed)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("many") / "table"
    place.mkdir()
    for number in range(3):
        kind = rng.integers(0, 2, 200)
        frame = pd.DataFrame(rng.normal(size=(200, 3)) + kind[:, None] * 3 + number * 0.3, columns=["u", "v", "w"])
        frame = frame.assign(word=rng.choice(["red", "blue"], 200), kind=kind, when=number * 200 + np.arange(200) // 2)
        frame["kind"] = frame["kind"].astype("Int64").where(np.full(200, number == 0))
        frame.to_parquet(place / f"part-{number}.parquet", index=False, row_group_size=64)
    return place


@pytest.fixture
def in_parts(monkeypatch):
    monkeypatch.setattr(parquet_files, "IN_MEMORY_ROWS", 10)


@pytest.mark.parametrize(
    ("order", "windows"),
    [(Column("when"), ByQuantile(4)), (RowPosition(), ByQuantile(5)), (FilePosition(), ByValue())],
)
def test_a_table_in_parts_is_prepared_as_one_in_memory(folder, in_parts, monkeypatch, order, windows):
    settings = Settings(label="kind", order=order, windows=windows)
    streamed = prepare(open_table([folder]), settings)
    assert streamed.windows[0].coded is not None
    monkeypatch.setattr(parquet_files, "IN_MEMORY_ROWS", 10**9)
    held = prepare(open_table([folder]), settings)
    assert held.windows[0].coded is None
    assert streamed.sampled == held.sampled
    assert [window.name for window in streamed.windows] == [window.name for window in held.windows]
    for one, other in zip(streamed.training, held.training, strict=True):
        assert (one.samples == other.samples).all()
    assert (streamed.training.source.labels == held.training.source.labels).all()


def test_predictions_are_spooled_and_are_the_same(folder, in_parts, monkeypatch):
    settings = Settings(label="kind", order=Column("when"), windows=ByQuantile(3), n_generated=0)
    streamed = adapt_table(open_table([folder]), settings)
    assert isinstance(streamed.predictions, Spooled)
    frames = pd.concat(list(streamed.predictions.frames()), ignore_index=True)
    assert len(streamed.predictions) == len(frames)
    monkeypatch.setattr(parquet_files, "IN_MEMORY_ROWS", 10**9)
    held = adapt_table(open_table([folder]), settings)
    pd.testing.assert_frame_equal(frames, held.predictions)


def test_the_commands_on_folders_and_patterns(folder, in_parts, tmp_path, capsys):
    run = tmp_path / "RUN"
    options = ["--label", "kind", "--order", "when", "--windows", "3", "--method", "source", "-o", str(run)]
    assert run_command(["adapt", str(folder), *options]) == 0
    kept = pd.read_parquet(run / "predictions.parquet")
    assert run_command(["predict", str(run), str(folder / "*.parquet"), "-o", str(tmp_path / "all.csv")]) == 0
    assert run_command(["predict", str(run), str(folder), "-o", str(tmp_path / "all.parquet")]) == 0
    capsys.readouterr()
    everything = pd.read_parquet(tmp_path / "all.parquet")
    assert everything["row"].tolist() == list(range(600))
    same = everything.iloc[kept["row"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, kept[same.columns])
    text = pd.read_csv(tmp_path / "all.csv")
    assert (text["prediction"] == everything["prediction"]).all()


def test_a_refusal_behind_the_last_row_leaves_no_file(folder, in_parts, tmp_path):
    run = tmp_path / "RUN"
    options = ["--label", "kind", "--order", "when", "--windows", "3", "--method", "source", "-o", str(run)]
    assert run_command(["adapt", str(folder), *options]) == 0
    frame = pd.read_parquet(folder)
    frame.assign(u="text").to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="column 'u' cannot be read as numbers in 600 of 600 rows"):
        run_command(["predict", str(run), str(tmp_path / "bad.parquet"), "-o", str(tmp_path / "out.parquet")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["RUN", "bad.parquet"]


def test_patterns_and_folders(folder, tmp_path):
    assert [file.name for file in open_table([folder / "part-[12].parquet"]).files] == [
        "part-1.parquet",
        "part-2.parquet",
    ]
    with pytest.raises(InputError, match=r"no file fits the pattern '.*nothing-\*\.parquet'"):
        open_table([folder / "nothing-*.parquet"])
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="all be of one kind"):
        open_table([tmp_path])


def test_row_groups_that_nobody_asks_for_are_not_read(folder):
    table = open_table([folder])
    rows = np.array([3, 70, 599])
    found = list(table.batches(rows, ["u"]))
    assert [numbers.tolist() for numbers, _ in found] == [[3], [70], [599]]
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())], ignore_index=True)
    assert [frame["u"].iloc[0] for _, frame in found] == whole["u"].iloc[rows].tolist()


def test_a_model_that_learns_in_batches_sees_every_labelled_row(folder, in_parts, monkeypatch):
    from driftfit.app import Limits, check_table
    from driftfit.app.models import model_from_word

    limits = Limits(training=50, transport=50)
    settings = Settings(
        label="kind", order=FilePosition(), windows=ByValue(), model=model_from_word("sgd"), limits=limits
    )
    checked = check_table(open_table([folder]), settings)
    assert "the old model learnt from all 200 labelled rows, in batches" in checked.prepared.sampled
    assert checked.source.estimator[-1].t_ == 201
    plain = check_table(
        open_table([folder]), Settings(label="kind", order=FilePosition(), windows=ByValue(), limits=limits)
    )
    assert not any("in batches" in sentence for sentence in plain.prepared.sampled)
    assert "models were trained on 100 rows of a window" in " ".join(plain.prepared.sampled)


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_large_csv_files_go_through_parquet(folder, tmp_path, monkeypatch, packed, caplog):
    from driftfit.app import csv_files

    frames = [pd.read_parquet(path) for path in sorted(folder.iterdir())]
    # What the first block does not show: fractions, words, and values where all was missing.
    frames[0]["late"], frames[1]["late"], frames[2]["late"] = None, 2.5, "word"
    for number, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{number}.csv{packed}", index=False)
    paths = [tmp_path / f"{number}.csv{packed}" for number in range(3)]
    settings = Settings(label="kind", order=FilePosition(), windows=ByValue(), n_generated=0, drop=("late",))
    held = open_table(paths)
    expected = adapt_table(held, settings).predictions
    monkeypatch.setattr(csv_files, "MOST_HELD", 10)
    large = open_table(paths)
    assert "is large; it is read through the temporary folder" in caplog.text
    assert large.columns(["late"])["late"].tolist()[-1] == "word"
    assert large.files == held.files
    pd.testing.assert_frame_equal(adapt_table(large, settings).predictions, expected)


def test_a_large_csv_that_is_none_is_refused(tmp_path, monkeypatch):
    from driftfit.app import csv_files

    (tmp_path / "a.csv").write_text("a,b\n1,2\n1,2,3\n")
    monkeypatch.setattr(csv_files, "MOST_HELD", 1)
    with pytest.raises(InputError, match=r"a\.csv' is not a CSV table \("):
        open_table([tmp_path / "a.csv"])


def test_predictions_side_by_side_come_in_order(folder):
    from driftfit.parallel import Processes

    settings = Settings(label="kind", order=Column("when"), windows=ByQuantile(3), method=None, n_generated=0)
    result = adapt_table(open_table([folder]), settings)
    table = open_table([folder])
    for rows in (None, np.arange(5, 600, 7)):
        plain = result.predictor.predict_table(table, rows)
        spread = list(result.predictor.predict_frames(table, rows, engine=Processes(2)))
        assert len(spread) > 5
        pd.testing.assert_frame_equal(pd.concat(spread, ignore_index=True), plain)

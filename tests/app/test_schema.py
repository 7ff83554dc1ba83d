"""One schema for all files of a run: the same rows are the same table, however they were written and split."""

import contextlib
import importlib.util
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftfit.app import Column, Settings, adapt_frame, adapt_table, load_run, open_table, save_run, summarise
from driftfit.app.columns import ColumnPlan, Kind, conform, plan_columns
from driftfit.app.windows import cut_windows, in_given_order
from driftfit.domains import ByValue
from driftfit.errors import AdaptationWarning, InputError

N = 180


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz_tables = _module(Path(__file__).with_name("fuzz_tables.py"))
fuzz_words = _module(Path(__file__).parents[1] / "domains" / "fuzz_words.py")


def table():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, N)
    sure = np.where(label == 1, "true", "false")
    return pd.DataFrame(
        {
            "answer": np.where(np.arange(N) % 60 < 3, "maybe", sure),
            "code": np.where(np.arange(N) % 7 == 0, "AB", np.where(label == 1, "01", "02")),
            "price": np.where(np.arange(N) % 9 == 0, "free", np.where(label == 1, "1.50", "1e5")),
            "x": np.round(rng.normal(size=N) + label, 3),
            "n": rng.integers(0, 9, N),
            "flag": rng.random(N) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "h"),
            "label": label,
            "when": np.arange(N) * 3 // N,
        }
    )


SETTINGS = Settings("label", Column("when"), windows=ByValue(), n_generated=0)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "RUN"
    result = adapt_frame(table(), SETTINGS)
    save_run(result, summarise(result), folder)
    return folder


def test_files_are_read_as_one(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "all.csv", index=False)
    # No maybe, no AB and no free price but in the last of the files.
    order = np.argsort(
        (frame["answer"] == "maybe") + (frame["code"] == "AB") + (frame["price"] == "free"), kind="stable"
    )
    paths = [tmp_path / f"{number}.csv" for number in range(3)]
    for path, rows in zip(paths, np.array_split(order, 3), strict=True):
        frame.iloc[rows].to_csv(path, index=False)
    split = open_table(paths).columns(list(frame.columns))
    whole = open_table([tmp_path / "all.csv"]).columns(list(frame.columns)).iloc[order].reset_index(drop=True)
    pd.testing.assert_frame_equal(split, whole)
    for name in ("answer", "code", "price"):
        assert set(split[name]) == set(frame[name])


@pytest.mark.parametrize("column", ["answer", "code", "price"])
def test_a_new_file_is_read_as_the_training_table(run_folder, tmp_path, column):
    frame, predictor = table(), load_run(run_folder).predictor
    part = frame[~frame[column].isin(["maybe", "AB", "free"])]
    part.to_csv(tmp_path / "new.csv", index=False)
    expected = predictor.predict_table(fuzz_tables_of(part))
    found = predictor.predict_table(open_table([tmp_path / "new.csv"], predictor.texts))
    pd.testing.assert_frame_equal(found, expected)
    # What pandas makes of the part is none of the words of training.
    pd.read_csv(tmp_path / "new.csv").to_parquet(tmp_path / "guessed.parquet")
    with pytest.raises(
        InputError, match=rf"column '{column}': \d+ of \d+ words never occurred .*such as.*write them as"
    ):
        predictor.predict_table(open_table([tmp_path / "guessed.parquet"], predictor.texts))


def fuzz_tables_of(frame):
    from driftfit.app import table_of

    return table_of(frame.reset_index(drop=True))


def test_parquet_files_of_two_types_are_refused(tmp_path):
    table().to_parquet(tmp_path / "0.parquet")
    table().assign(answer=True).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"'answer' holds words in 0\.parquet and true and false in 1\.parquet"):
        open_table([tmp_path / "0.parquet", tmp_path / "1.parquet"])


def test_missing_words_are_counted(run_folder):
    predictor = load_run(run_folder).predictor
    with pytest.warns(AdaptationWarning, match=f"'code': {N} of {N} values are missing and count as none"):
        found = predictor.predict_table(fuzz_tables_of(table().assign(code=None)))
    assert (found["imputed_columns"] == 1).all()


def test_units_are_kept():
    spans = pd.DataFrame({"t": pd.to_timedelta(np.arange(20), "s")})
    (plan,) = plan_columns(spans)
    assert (plan.kind, plan.type) == (Kind.NUMBER, "duration")
    assert conform(spans, (plan,))["t"].tolist() == list(range(20))
    assert conform(pd.DataFrame({"t": np.arange(20) * 10**9}), (plan,))["t"].isna().all()
    assert conform(spans, (ColumnPlan("t", Kind.NUMBER, type="number"),))["t"].isna().all()


def test_a_code_keeps_its_zero_as_a_class(tmp_path):
    frame = table().assign(label=lambda own: np.where(own["label"] == 1, "01", "02"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = adapt_table(open_table([tmp_path / "t.csv"]), SETTINGS)
    assert set(found.predictions["prediction"]) == {"01", "02"}


@st.composite
def writings(draw):
    """Rows of the table, how they are split, and the seed of writers, dialects and orders of columns."""
    rows = draw(st.lists(st.integers(0, N - 1), min_size=8, max_size=40, unique=True))
    return rows, draw(st.integers(0, 2**32 - 1)), draw(st.booleans())


@settings(max_examples=60, deadline=None)
@given(writings())
def test_predictions_do_not_depend_on_how_rows_are_written(run_folder, case):
    rows, seed, way = case
    part = table().drop(columns=["label", "when"]).iloc[rows].reset_index(drop=True)
    predictor = load_run(run_folder).predictor
    expected = predictor.predict_table(fuzz_tables_of(part)).to_csv().encode()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            typed = pa.Table.from_pandas(part, preserve_index=False)
            paths = fuzz_tables.written(typed, np.random.default_rng(seed), Path(name), duckdb.connect(), way=way)
        except (pd.errors.ParserError, ValueError, pl.exceptions.PolarsError, duckdb.Error):
            return  # a library that does not read what another wrote
        with contextlib.suppress(InputError):
            found = predictor.predict_table(open_table(paths, predictor.texts)).to_csv().encode()
            assert found == expected or any(issubclass(own.category, AdaptationWarning) for own in said)


def test_generated_tables_are_read_as_typed_parquet():
    assert fuzz_tables.run(60, 4_000_000) == 0


def test_generated_order_words_are_right_or_refused():
    assert fuzz_words.run(300, 4_000_000) == 0


def order_of(words):
    return [window.name for window in cut_windows(pd.Series(np.repeat(words, 6)), ByValue(), "order column 'when'")[0]]


@pytest.mark.parametrize(
    "words",
    [
        "Jan22 Feb22 Mar22",
        "Q1-22 Q1-23",
        "1Q22 2Q22 1Q23",
        "11-22 12-22 01-23",
        "998 999 1,000",
        "998 999 1'000",
        "-1d -2d",
        "Januar Februar",
        "V VI VII VIII IX",
        "98 99 00",
        "12.2023 01.2024",
        "Mo Di Mi",
    ],
)
def test_words_of_an_unclear_order_are_refused(words):
    with pytest.raises(InputError, match="or give the order: --order-words first,second,"):
        order_of(words.split())
    given = in_given_order(pd.Series(np.repeat(words.split(), 6)), tuple(words.split()), "order column 'when'")
    assert [window.name for window in cut_windows(given, ByValue(), "order")[0]] == words.split()


@pytest.mark.parametrize(
    "words", [["09:30 AM", "01:00 PM"], ["998", "1 000"], ["2024-01-01 09:00 PST", "2024-01-01 07:00 EST"]]
)
def test_words_with_spaces_of_an_unclear_order_are_refused(words):
    with pytest.raises(InputError, match="or give the order"):
        order_of(words)


def test_dates_with_the_day_in_front_are_dates():
    assert order_of(["31.12.2023", "01.02.2024"]) == ["2023-12-31", "2024-02-01"]
    stamps = pd.date_range("2024-01-01", periods=300, freq="37min").strftime("%d.%m.%Y %H:%M")
    (plan,) = plan_columns(pd.DataFrame({"day": stamps}))
    assert plan.kind is Kind.DATE


def test_an_alphabetical_order_is_said():
    order = pd.Series(np.repeat(["Ulm", "Bonn"], 9))
    assert any(
        "taken alphabetically: 'Bonn', 'Ulm'" in sentence for sentence in cut_windows(order, ByValue(), "order")[1]
    )


def test_order_words_must_fit():
    with pytest.raises(InputError, match="'c', which is not among the order words a, b"):
        in_given_order(pd.Series(["a", "b", "c"]), ("a", "b"), "order")
    with pytest.raises(InputError, match="order words must differ"):
        Settings("y", Column("t"), order_words=("a", "a"))

"""Tables from files of every kind."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftfit.app.read import open_table, table_of
from driftfit.errors import InputError

FRAME = pd.DataFrame(
    {"x": [1.5, 2.5, None, 4.0], "größe": ["a", "b", None, "d"], "when": pd.date_range("2024", periods=4)}
)


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("csv", ";"), ("tsv", "\t"), ("csv.gz", ",")])
def test_separators_and_compression(tmp_path, ending, separator):
    path = tmp_path / f"table.{ending}"
    text = FRAME.to_csv(index=False, sep=separator).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    table = open_table([path])
    assert table.names == ["x", "größe", "when"]
    np.testing.assert_array_equal(table.columns(["x"])["x"], FRAME["x"])


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    (tmp_path / "table.csv").write_text("x,y\n1,2\n", encoding="utf-8-sig")
    assert open_table([tmp_path / "table.csv"]).names == ["x", "y"]


def test_parquet_is_read_in_batches_across_files(tmp_path):
    rows = np.arange(200_000)
    frame = pd.DataFrame({"x": rows * 0.5, "a.b": rows % 7, "word": np.where(rows % 2, "odd", "even")})
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    frame[:90_000].to_parquet(paths[0])
    frame[90_000:][["word", "a.b", "x"]].to_parquet(paths[1])
    table = open_table(paths)
    assert table.n_rows == 200_000
    wanted = np.sort(np.random.default_rng(0).choice(200_000, 5_000, replace=False))
    parts = list(table.batches(wanted, ["x", "a.b", "word"]))
    assert len(parts) > 2
    np.testing.assert_array_equal(np.concatenate([numbers for numbers, _ in parts]), wanted)
    found = pd.concat([part for _, part in parts], ignore_index=True)
    pd.testing.assert_frame_equal(found, frame.iloc[wanted].reset_index(drop=True), check_dtype=False)
    assert (table.columns(["a.b"])["a.b"] == frame["a.b"]).all()


def test_times_of_several_zones_are_the_same_times(tmp_path):
    times = pd.DataFrame({"when": pd.date_range("2024-03-30", periods=6, freq="12h", tz="UTC")})
    zones = {"a": "UTC", "b": "Europe/Berlin", "c": None}  # none means UTC
    for place, (name, zone) in enumerate(zones.items()):
        own = times["when"][2 * place : 2 * place + 2].dt.tz_convert(zone)
        own.to_frame().to_parquet(tmp_path / f"{name}.parquet")
    found = open_table([tmp_path / f"{name}.parquet" for name in zones]).columns(["when"])
    assert found["when"].tolist() == times["when"].tolist()


def test_rows_of_words_as_views_are_read(tmp_path):
    pq.write_table(pa.table({"word": pa.array(["a", "b", "c"]).cast(pa.string_view())}), tmp_path / "v.parquet")
    ((_, found),) = open_table([tmp_path / "v.parquet"]).batches(np.array([0, 2]), ["word"])
    assert found["word"].tolist() == ["a", "c"]


def test_equal_frames_have_equal_hashes():
    assert table_of(FRAME).files == table_of(FRAME.copy()).files
    assert table_of(FRAME).files != table_of(FRAME.assign(x=0.0)).files


def test_what_cannot_be_opened_says_why(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    (tmp_path / "twice.csv").write_text("x,x\n1,2\n")
    (tmp_path / "long.csv").write_text("x,y\n1,2,3\n1,2,3\n")
    (tmp_path / "table.xlsx").write_text("x")
    (tmp_path / "line.csv").write_text("<html></html>")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    (tmp_path / "book.csv").write_bytes(b"PK\x03\x04")
    (tmp_path / "latin.csv").write_bytes("x,y\n1,é\n".encode("latin-1"))
    FRAME.to_parquet(tmp_path / "c.parquet")
    (tmp_path / "folder").mkdir()
    for names, reason in [
        ([], "no table given"),
        (["absent.csv"], "there is no file"),
        (["a.csv", "c.parquet"], "all be of one kind"),
        (["a.csv", "folder/../a.csv"], "is named twice"),
        (["a.csv", "b.csv"], "differ in column 'y'"),
        (["twice.csv"], "several columns named 'x'"),
        (["long.csv"], "more values than the header"),
        (["line.csv"], "is a single line"),
        (["packed.csv"], "name it .csv.gz"),
        (["book.csv"], "save it as CSV"),
        (["latin.csv"], "save it as UTF-8"),
        (["table.xlsx"], "neither .csv nor .parquet"),
        (["folder"], "must hold one CSV file, found 0"),
        (["folder", "a.csv"], "is a folder"),
    ]:
        with pytest.raises(InputError, match=reason):
            open_table([tmp_path / name for name in names])
    with pytest.raises(InputError, match="must be a data frame"):
        table_of([1, 2])


def test_arrays_of_an_npz_file_are_columns_and_vectors(tmp_path):
    np.savez(tmp_path / "a.npz", when=np.arange(3), vector=np.arange(6.0).reshape(3, 2), kind=["a", "b", ""])
    table = open_table([tmp_path / "a.npz"])
    assert table.names == ["when", "vector", "kind"]
    assert [own.tolist() for own in table.columns(["vector"])["vector"]] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_npz_files_of_objects_and_of_two_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "o.npz", x=np.array([None, "a"], dtype=object))
    with pytest.raises(InputError, match="file of plain arrays"):
        open_table([tmp_path / "o.npz"])
    np.savez(tmp_path / "b.npz", x=np.arange(3), y=np.arange(4))
    with pytest.raises(InputError, match="one entry or one vector for each row"):
        open_table([tmp_path / "b.npz"])

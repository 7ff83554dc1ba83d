"""Nothing wrong goes through: what cannot be read, ordered or told apart is refused or said, never guessed."""

import contextlib
import datetime
import decimal
import gzip
import io
import json
import os
import re
import struct
import threading
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftfit.app import Column, Settings, adapt_frame, load_run, open_table, save_run, summarise
from driftfit.app.columns import plan_columns
from driftfit.app.csv_files import read_csv
from driftfit.app.labels import read_labels
from driftfit.app.windows import cut_windows
from driftfit.cli import main
from driftfit.domains import ByQuantile, ByValue
from driftfit.errors import AdaptationWarning, InputError

LEVELS = ["lo", "mid", "hi", "top"]
N = 160


def driftfit(*arguments):
    """The command line in this process: exit code, stdout and stderr."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), pytest.raises(SystemExit) as leaving:
        main([str(argument) for argument in arguments])
    assert "Traceback" not in errors.getvalue()
    assert "unexpected" not in errors.getvalue(), errors.getvalue()
    return leaving.value.code or 0, out.getvalue(), errors.getvalue()


def table(**columns):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, N)
    when = np.arange(N) * 4 // N
    x = rng.normal(size=N) * 0.4 + 3 * label + 0.3 * when
    base = {"x": x, "y": rng.normal(size=N), "word": rng.choice(["a", "b"], N), "label": label, "when": when}
    return pd.DataFrame(base | columns)


def window_names(order, rule):
    return [window.name for window in cut_windows(order, rule, "order column 'when'")[0]]


class TestOrder:
    @pytest.mark.parametrize("rule", [ByValue(), ByQuantile(4)])
    def test_ordered_categories_keep_their_order(self, rule):
        order = pd.Series(pd.Categorical([LEVELS[k * 4 // N] for k in range(N)], LEVELS, ordered=True))
        assert window_names(order, rule) == LEVELS

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_on_the_command_line(self, tmp_path, library):
        words = [LEVELS[k * 4 // N] for k in range(N)]
        frame = table(when=pd.Categorical(words, LEVELS, ordered=True)).sample(frac=1, random_state=0)
        if library == "pandas":
            frame.to_parquet(tmp_path / "table.parquet", row_group_size=40)
        else:
            strict = pl.from_pandas(frame.assign(when=frame["when"].astype(str)))
            strict.with_columns(pl.col("when").cast(pl.Enum(LEVELS))).write_parquet(tmp_path / "table.parquet")
        for rule in (["--window-by", "value"], ["--given", "mid,hi,top"]):
            options = ["--label", "label", "--order", "when", "--history", "first", *rule, "--json"]
            code, out, _ = driftfit("check", tmp_path / "table.parquet", *options)
            assert code == 0
            assert [step["before"] for step in json.loads(out)["steps"]] == LEVELS[:-1]

    def test_files_with_other_categories_are_refused(self, tmp_path):
        for number, levels in enumerate([LEVELS, LEVELS[::-1]]):
            part = table(when=pd.Categorical(["lo", "hi"] * (N // 2), levels, ordered=True))
            part.to_parquet(tmp_path / f"{number}.parquet")
        code, _, errors = driftfit(
            "check", tmp_path / "0.parquet", tmp_path / "1.parquet", "--label", "label", "--order", "when"
        )
        assert code == 1
        assert "ordered categories of column 'when' differ" in errors

    @pytest.mark.parametrize("base", [2**53, 2**62, 2**63 + 1])
    @pytest.mark.parametrize("ending", ["csv", "parquet", "gaps.csv", "gaps.parquet"])
    def test_large_whole_numbers_keep_every_digit(self, tmp_path, base, ending):
        order = [base + k * 4 // N for k in range(N)]
        order = pd.Series([None, *order[1:]] if "gaps" in ending else order, dtype="UInt64")
        frame, path = table(when=order), tmp_path / f"table.{ending}"
        frame.to_csv(path, index=False) if ending.endswith("csv") else frame.to_parquet(path)
        found = open_table([path]).columns(["when"])["when"]
        for rule in (ByValue(), ByQuantile(4)):
            assert window_names(found, rule) == [str(base + k) for k in range(4)]

    def test_gaps_of_other_libraries_take_no_digits(self):
        frame = pl.DataFrame({"x": np.arange(8.0), "when": [2**53 + 1, None, 2, 3, 4, 5, 6, 7]})
        from driftfit.app.read import table_of

        assert table_of(frame).columns(["when"])["when"].tolist()[0] == 2**53 + 1

    def test_names_of_close_floats_differ(self):
        order = pd.Series(np.repeat(1.0 + np.arange(4) * 1e-14, N // 4))
        assert len(set(window_names(order, ByValue()))) == 4

    def test_dates_beyond_the_range_of_nanoseconds(self):
        days = np.repeat(np.array(["1500-01-01", "2020-01-01", "2900-01-01"], dtype="datetime64[s]"), 20)
        assert window_names(pd.Series(days), ByValue()) == ["1500-01-01", "2020-01-01", "2900-01-01"]

    def test_fewer_windows_than_asked_for_are_said(self):
        _, said = cut_windows(pd.Series(np.repeat([1, 2, 3, 4], 20)), ByQuantile(5), "order column 'when'")
        assert said == ["5 windows were asked for and 4 made: rows of equal order stay together"]


class TestLabels:
    @pytest.mark.parametrize("later", ["unknown", "", "2.5", "True", "99999999999999999999999", "inf"])
    def test_later_labels_of_a_csv_change_no_class(self, tmp_path, later):
        frame = table(label=np.resize([2, 10, 33], N))
        frame.to_csv(tmp_path / "plain.csv", index=False)
        changed = frame.assign(label=[str(label) if k < 40 else later for k, label in enumerate(frame["label"])])
        changed.to_csv(tmp_path / "changed.csv", index=False)
        for name in ("plain", "changed"):
            done = open_table([tmp_path / f"{name}.csv"])
            labels, _ = read_labels(done.columns(["label"])["label"], np.arange(40), "label", guessed=done.guessed)
            assert labels.values.dtype == np.int64
            np.testing.assert_array_equal(labels.values, frame["label"][:40])

    def test_truth_values_beside_later_words(self, tmp_path):
        frame = table(label=[["True", "False"][k % 2] if k < 40 else "unknown" for k in range(N)])
        frame.to_csv(tmp_path / "table.csv", index=False)
        column = open_table([tmp_path / "table.csv"]).columns(["label"])["label"]
        labels, _ = read_labels(column, np.arange(40), "label", guessed=True)
        assert labels.boolean
        assert labels.values.tolist() == ["True", "False"] * 20

    @pytest.mark.parametrize("base", [2**53, 2**63])
    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    @pytest.mark.parametrize("gaps", [False, True])
    def test_large_labels_neither_wrap_nor_merge(self, tmp_path, base, ending, gaps):
        labels = [None if gaps and k >= 40 else base + k % 2 for k in range(N)]
        frame, path = table(label=pd.Series(labels, dtype="UInt64")), tmp_path / f"table.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        options = ["--label", "label", "--order", "when", "--window-by", "value", "--generated", "0"]
        code, _, errors = driftfit("adapt", path, *options, "-o", tmp_path / "RUN")
        assert code == 0, errors
        assert load_run(tmp_path / "RUN").summary["data"]["classes"] == [str(base), str(base + 1)]
        predicted = pd.read_parquet(tmp_path / "RUN" / "predictions.parquet")["prediction"]
        assert set(predicted.tolist()) == {base, base + 1}

    def test_dates_as_labels_stay_dates(self, tmp_path):
        frame = table(label=[datetime.date(2020, 1, 1 + k % 2) for k in range(N)])
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_csv(tmp_path / "t.csv", index=False)
        found = []
        for name in ("t.parquet", "t.csv"):
            column = open_table([tmp_path / name]).columns(["label"])["label"]
            found.append(read_labels(column, np.arange(40), "label")[0].values.tolist())
        assert found[0] == found[1] == ["2020-01-01", "2020-01-02"] * 20

    def test_zeros_in_front_keep_classes_apart(self, tmp_path):
        table(label=np.resize(["01", "1", "2"], N)).to_csv(tmp_path / "t.csv", index=False)
        done = open_table([tmp_path / "t.csv"])
        labels, _ = read_labels(done.columns(["label"])["label"], np.arange(40), "label", guessed=done.guessed)
        assert set(labels.values) == {"01", "1", "2"}

    @pytest.mark.parametrize("shares", ["0=nan", "0=nan,1=nan", "0=1.5,1=-0.5", "0=0.5,2=0.5"])
    @pytest.mark.parametrize("command", [["check"], ["adapt", "-o", "RUN"]])
    def test_proportions_are_looked_at_before_the_work(self, tmp_path, monkeypatch, command, shares):
        monkeypatch.chdir(tmp_path)
        table().to_csv("t.csv", index=False)
        code, _, errors = driftfit(*command, "t.csv", "--label", "label", "--order", "when", "--proportions", shares)
        assert code == 1
        assert "proportions must" in errors

    def test_classes_that_are_written_nearly_alike_are_named(self):
        _, said = read_labels(pd.Series(["a", "a ", "b"] * 9), np.arange(27), "label")
        assert said == ["the classes 'a' and 'a ' are written nearly alike, and count as two"]
        codes = pd.DataFrame({"x": ["1,5", "1.5", "2"] * 10})
        assert plan_columns(codes, categorical=("x",))[0].note.endswith("'1,5' and '1.5' written nearly alike")

    def test_sparse_labels(self):
        labels, _ = read_labels(pd.Series(pd.arrays.SparseArray(np.arange(40) % 2)), np.arange(40), "label")
        assert labels.values.tolist() == [0, 1] * 20

    def test_files_of_which_one_has_gaps(self, tmp_path):
        table(label=np.resize([2**53, 2**53 + 1], N)).to_csv(tmp_path / "0.csv", index=False)
        table(label=pd.Series([1, None] * (N // 2), dtype="Int64")).to_csv(tmp_path / "1.csv", index=False)
        column = open_table([tmp_path / "0.csv", tmp_path / "1.csv"]).columns(["label"])["label"]
        assert sorted(set(read_labels(column, np.arange(40), "label")[0].values.tolist())) == [2**53, 2**53 + 1]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    flag = np.arange(N) % 2 == 0
    frame = table(flag=flag, day=pd.date_range("2024-01-01", periods=N, freq="7h").astype(str))
    result = adapt_frame(frame, Settings("label", Column("when"), windows=ByValue(), n_generated=0))
    save_run(result, summarise(result), folder / "RUN")
    return folder / "RUN", frame.drop(columns=["label", "when"])


class TestUnreadable:
    @pytest.mark.parametrize(
        ("column", "change"),
        [
            ("x", lambda x: x.map(lambda v: f"{v:.2f}".replace(".", ","))),
            ("x", lambda x: x.map(lambda v: f"{v:.2f} EUR")),
            ("x", lambda x: x * np.inf),
            ("x", lambda x: x * 1e200),
            ("y", lambda x: ["n/a yet"] * len(x)),
            ("y", lambda x: [True, False] * (len(x) // 2)),
            ("flag", lambda x: [7] * len(x)),
            ("flag", lambda x: ["maybe"] * len(x)),
            ("day", lambda x: ["yesterday"] * len(x)),
        ],
    )
    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_a_column_that_cannot_be_read_is_refused(self, run_folder, tmp_path, column, change, ending):
        folder, frame = run_folder
        broken, path = frame.assign(**{column: change(frame[column])}), tmp_path / f"new.{ending}"
        broken.to_csv(path, index=False, sep=";") if ending == "csv" else broken.to_parquet(path)
        code, _, errors = driftfit("predict", folder, path, "-o", tmp_path / "out.csv")
        assert code == 1
        assert f"column {column!r} cannot be read" in errors
        assert not (tmp_path / "out.csv").exists()
        with pytest.raises(InputError, match="cannot be read"):
            load_run(folder).predictor.predict(broken)

    def test_some_unreadable_rows_are_counted_and_marked(self, run_folder, tmp_path):
        folder, frame = run_folder
        x, y, word = frame["x"].astype(object), frame["y"].copy(), frame["word"].astype(object)
        x.iloc[:3], x.iloc[3], y.iloc[3:6], word.iloc[7:9] = "1,5", np.inf, None, "never seen"
        broken = frame.assign(x=x, y=y, word=word)
        broken.to_csv(tmp_path / "new.csv", index=False)
        code, _, errors = driftfit("predict", folder, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        assert code == 0
        assert f"warning: column 'x': 4 of {N} values cannot be read as numbers (such as '1,5')" in errors
        assert f"warning: column 'y': 3 of {N} values are missing and were filled in" in errors
        assert f"warning: column 'word': 2 of {N} words never occurred in training" in errors
        marks = pd.read_csv(tmp_path / "out.csv")["imputed_columns"]
        assert marks.tolist() == [1, 1, 1, 2, 1, 1] + [0] * (N - 6)
        with pytest.warns(AdaptationWarning, match="4 of 160 values cannot be read"):
            load_run(folder).predictor.predict(broken)

    def test_rows_of_nothing_are_refused(self, run_folder, tmp_path):
        folder, frame = run_folder
        pd.DataFrame({name: [None] * 9 for name in frame.columns}).to_csv(tmp_path / "new.csv", index=False)
        code, _, errors = driftfit("predict", folder, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        assert code == 1
        assert "9 of 9 rows hold nothing" in errors

    def test_a_sound_table_gives_no_warning(self, run_folder, tmp_path):
        folder, frame = run_folder
        frame.assign(flag=frame["flag"].astype(int)).to_csv(tmp_path / "new.csv", index=False)
        code, _, errors = driftfit("predict", folder, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        assert (code, errors) == (0, "")

    def test_predictions_replace_neither_their_table_nor_a_part_of_a_run(self, run_folder, tmp_path):
        folder, frame = run_folder
        frame.to_csv(tmp_path / "new.csv", index=False)
        for target, what in (
            (tmp_path / "new.csv", "the table that is read"),
            (folder / "predictions.parquet", "part"),
        ):
            before = target.read_bytes()
            code, _, errors = driftfit("predict", folder, tmp_path / "new.csv", "-o", target)
            assert code == 1
            assert what in errors
            assert target.read_bytes() == before

    def test_a_table_without_rows_is_refused(self, run_folder, tmp_path):
        folder, frame = run_folder
        for path in (tmp_path / "new.csv", tmp_path / "new.parquet"):
            frame[:0].to_csv(path, index=False) if path.suffix == ".csv" else frame[:0].to_parquet(path)
            code, _, errors = driftfit("predict", folder, path, "-o", tmp_path / "out.csv")
            assert code == 1
            assert "has no rows" in errors


class TestFormulas:
    @pytest.fixture
    def folder(self, tmp_path):
        frame = table()
        frame["label"] = frame["label"].map({0: "=cmd|' /C calc'!A0", 1: "@fine"})
        settings = Settings("label", Column("when"), windows=ByValue(), n_generated=0)
        result = adapt_frame(frame, settings)
        save_run(result, summarise(result), tmp_path / "RUN")
        frame.to_csv(tmp_path / "new.csv", index=False)
        return tmp_path

    def test_labels_do_not_run_in_a_spreadsheet(self, folder):
        driftfit("predict", folder / "RUN", folder / "new.csv", "-o", folder / "out.csv")
        assert set(pd.read_csv(folder / "out.csv")["prediction"].str[:2]) == {"'=", "'@"}
        driftfit("predict", folder / "RUN", folder / "new.csv", "-o", folder / "raw.csv", "--raw-text")
        assert set(pd.read_csv(folder / "raw.csv")["prediction"].str[:1]) == {"=", "@"}
        driftfit("predict", folder / "RUN", folder / "new.csv", "-o", folder / "out.parquet")
        assert set(pd.read_parquet(folder / "out.parquet")["prediction"].str[:1]) == {"=", "@"}

    def test_headers_do_not_run_either_and_come_back(self, tmp_path):
        frame = table().rename(columns={"label": "=evil()", "x": "@x"})
        frame["=evil()"] = frame["=evil()"].map({0: "=1+1", 1: "b"})
        frame.to_csv(tmp_path / "t.csv", index=False)
        options = ["--label", "=evil()", "--order", "when", "--labels-until", "2", "-o"]
        assert driftfit("adapt", tmp_path / "t.csv", *options, tmp_path / "RUN")[0] == 0
        assert driftfit("label", tmp_path / "RUN", "--budget", "20", "-o", tmp_path / "rows.csv")[0] == 0
        header = (tmp_path / "rows.csv").read_text().partition("\n")[0]
        assert header == "row,weight,'=evil(),'@x,y,word"
        rows = pd.read_csv(tmp_path / "rows.csv").assign(**{"'=evil()": "'=1+1"})
        rows.to_csv(tmp_path / "rows.csv", index=False)
        code, _, errors = driftfit(
            "adapt", tmp_path / "t.csv", *options, tmp_path / "NEW", "--labels", tmp_path / "rows.csv"
        )
        assert code == 0, errors


class TestImages:
    @pytest.fixture
    def folder(self, tmp_path):
        image = pytest.importorskip("PIL.Image")
        rng = np.random.default_rng(0)
        labels, years = np.arange(120) % 2, np.repeat([1, 2, 3], 40)
        for k in range(120):
            pixels = (rng.random((5, 6)) * 60 + 120 * labels[k]).astype(np.uint8)
            image.fromarray(pixels).save(tmp_path / f"{k}.png")
        about = {"file": [f"{k}.png" for k in range(120)], "kind": labels, "year": years}
        pd.DataFrame(about).to_csv(tmp_path / "list.csv", index=False)
        return tmp_path

    @pytest.mark.parametrize("name", ["copy", "pixel_3", "pixel_99"])
    def test_other_columns_of_the_csv_are_left_out(self, folder, name):
        plain = self.predictions(folder)
        about = pd.read_csv(folder / "list.csv")
        about.assign(**{name: about["kind"]}).to_csv(folder / "list.csv", index=False)
        pd.testing.assert_frame_equal(self.predictions(folder), plain)
        code, out, errors = driftfit("check", folder, "--label", "kind", "--order", "year", "--json")
        assert code == 0, errors
        assert {column["column"] for column in json.loads(out)["preprocessing"]} == {f"pixel_{k}" for k in range(30)}

    def test_a_label_may_be_called_like_a_pixel(self, folder):
        plain = self.predictions(folder)
        pd.read_csv(folder / "list.csv").rename(columns={"kind": "pixel_3"}).to_csv(folder / "list.csv", index=False)
        pd.testing.assert_frame_equal(self.predictions(folder, label="pixel_3"), plain)

    def predictions(self, folder, label="kind"):
        run = folder / f"RUN{len(list(folder.iterdir()))}"
        options = ["--label", label, "--order", "year", "--window-by", "value", "--generated", "0", "-o", run]
        code, _, errors = driftfit("adapt", folder, *options)
        assert code == 0, errors
        code, _, errors = driftfit("predict", run, folder, "-o", folder / "out.parquet")
        assert code == 0, errors
        return pd.read_parquet(run / "predictions.parquet")

    def test_a_pipe_among_the_images_does_not_hang(self, folder):
        (folder / "3.png").unlink()
        os.mkfifo(folder / "3.png")
        self.refused(folder, "a pipe or a device")

    def test_a_decompression_bomb_is_refused(self, folder):
        for side in (8_000, 60_000):

            def chunk(kind, data):
                return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

            header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0))
            packed = chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
            (folder / "3.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + packed)
            self.refused(folder, "3.png")

    @pytest.mark.parametrize(
        "content", [b"", b"\x89PNG\r\n\x1a\n" + b"\x00" * 40, b"GIF89a" + b"\xff" * 30, b"II*\x00"]
    )
    def test_damaged_images_are_refused(self, folder, content):
        (folder / "3.png").write_bytes(content)
        self.refused(folder, "is not an image")

    def refused(self, folder, words):
        answer = []
        worker = threading.Thread(target=lambda: answer.append(self.error(folder)), daemon=True)
        worker.start()
        worker.join(30)
        assert answer, "still waiting"
        assert words in answer[0]

    @staticmethod
    def error(folder):
        try:
            open_table([folder])
        except InputError as error:
            return str(error)
        return "nothing was wrong"


ODD = {
    "bytes": [b"\xff\x00", b"b"],
    "dates": [pd.Timestamp("2020-01-01").date(), pd.Timestamp("2021-01-01").date()],
    "stamps": list(pd.to_datetime(["2020-01-01", "2021-01-01"])),
    "durations": list(pd.to_timedelta([1, 2], "D")),
    "decimals": [decimal.Decimal("1.5"), decimal.Decimal("10.25")],
    "structs": [{"a": 1}, {"a": 2}],
    "lists": [[1], [2, 3]],
    "times": [datetime.time(1), datetime.time(2)],
    "text": ["[/bold]", "[red]"],
    "html": ["<script>alert(1)</script>", "<b>"],
    "truth": [True, False],
    "categories": ["u", "v"],
}


FIGURES = ("bytes", "durations", "structs", "lists", "html")


class TestMessages:
    @pytest.mark.parametrize("kind", ODD)
    @pytest.mark.parametrize("role", ["label", "when"])
    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_odd_labels_and_orders(self, tmp_path, kind, role, ending):
        low, high = ODD[kind]
        values = [high if (k % 2 if role == "label" else k > N // 2) else low for k in range(N)]
        frame, path = table(**{role: pd.Series(values, dtype=object)}), tmp_path / f"table.{ending}"
        if kind == "categories":
            frame[role] = frame[role].astype("category")
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        options = ["--label", "label", "--order", "when", "--generated", "0"]
        rule = ["--window-by", "value"] if role == "when" else ["--windows", "3"]
        code, _, errors = driftfit("adapt", path, *options, *rule, "-o", tmp_path / "RUN")
        refused = ending == "parquet" and kind in ("structs", "lists")
        # Words that hold figures have no order that anybody could be sure of.
        figures = role == "when" and (kind == "html" or ending == "csv") and kind in FIGURES
        assert code == int(refused or figures), errors
        assert not refused or "lists, records" in errors
        assert not figures or "give the order: --order-words" in errors
        # What adapt takes, check takes.
        assert driftfit("check", path, *options, *rule)[0] == code
        if code == 0:
            assert driftfit("predict", tmp_path / "RUN", path, "-o", tmp_path / "out.csv")[0] == 0

    def test_a_cut_gzip_file(self, tmp_path):
        packed = gzip.compress(table().to_csv(index=False).encode())
        for cut in (5, 20, len(packed) // 2, len(packed) - 4):
            (tmp_path / "table.csv.gz").write_bytes(packed[:cut])
            code, _, errors = driftfit("check", tmp_path / "table.csv.gz", "--label", "label", "--order", "when")
            assert code == 1
            assert "is not a CSV table" in errors
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 255
        (tmp_path / "table.csv.gz").write_bytes(damaged)
        assert driftfit("check", tmp_path / "table.csv.gz", "--label", "label", "--order", "when")[0] == 1

    def test_a_gzip_bomb(self, tmp_path, monkeypatch):
        from driftfit.app import csv_files

        monkeypatch.setattr(csv_files, "_MOST_UNPACKED", 2**20)
        (tmp_path / "table.csv.gz").write_bytes(gzip.compress(b"x,label,when\n" + b"1,1,1\n" * 2_000_000))
        with pytest.raises(InputError, match="far more than a table"):
            read_csv(tmp_path / "table.csv.gz")

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_tables_without_rows(self, tmp_path, ending):
        path = tmp_path / f"table.{ending}"
        table()[:0].to_csv(path, index=False) if ending == "csv" else table()[:0].to_parquet(path)
        for command in (["check"], ["adapt", "-o", tmp_path / "RUN"]):
            code, _, errors = driftfit(*command, path, "--label", "label", "--order", "when")
            assert code == 1
            assert "the table has no rows" in errors

    def test_a_pipe_as_a_table_does_not_hang(self, tmp_path):
        os.mkfifo(tmp_path / "table.csv")
        code, _, errors = driftfit("check", tmp_path / "table.csv", "--label", "label", "--order", "when")
        assert code == 1
        assert "is a pipe or a device" in errors

    @pytest.mark.parametrize("option", ["--model", "--old-model"])
    @pytest.mark.parametrize("code", ["sys.exit(0)", "def x(*rows): sys.exit(0)"])
    def test_code_that_ends_the_program_is_no_success(self, tmp_path, option, code):
        (tmp_path / "bad.py").write_text(f"import sys\n{code}\n")
        table().to_csv(tmp_path / "t.csv", index=False)
        words = ["--label", "label", "--order", "when", option, f"{tmp_path / 'bad.py'}:x", "-o", tmp_path / "RUN"]
        left, _, errors = driftfit("adapt", tmp_path / "t.csv", *words)
        assert left == 1
        assert "was ended from within, with code 0" in errors

    def test_a_regressor_is_no_classifier(self, tmp_path):
        (tmp_path / "own.py").write_text("from sklearn.linear_model import Ridge\nmodel = Ridge()\n")
        table().to_csv(tmp_path / "table.csv", index=False)
        options = ["--label", "label", "--order", "when", "--model", f"{tmp_path / 'own.py'}:model"]
        code, _, errors = driftfit("check", tmp_path / "table.csv", *options)
        assert code == 1
        assert "Ridge" in errors
        assert "classifier" in errors

    def test_names_are_printed_as_they_are(self, tmp_path):
        names = {"x": "[/bold]", "word": "[link=a]<b>|`x`"}
        frame = table(id=[f"u{k}" for k in range(N)]).rename(columns={**names, "id": "[red]id[/red]", "label": "[/]"})
        frame.to_csv(tmp_path / "[bold].csv", index=False)
        options = ["--label", "[/]", "--order", "when", "--generated", "0"]
        code, out, errors = driftfit("adapt", tmp_path / "[bold].csv", *options, "-o", tmp_path / "RUN")
        assert code == 0, errors
        code, out, errors = driftfit("check", tmp_path / "[bold].csv", *options, "--verbose")
        assert code == 0, errors
        assert "column '[red]id[/red]': dropped" in out
        code, out, errors = driftfit("check", tmp_path / "[bold].csv", "--label", "[nope]", "--order", "when")
        assert "no column '[nope]'; it has [/bold], y, [link=a]<b>|`x`" in errors

    def test_names_that_are_no_text(self, tmp_path):
        name = os.fsdecode(b"a\xff.csv")
        table().to_csv(tmp_path / name, index=False)
        options = ["--label", "label", "--order", "when", "--generated", "0"]
        code, out, errors = driftfit("adapt", tmp_path / name, *options, "-o", tmp_path / "RUN")
        assert code == 0, errors
        assert "\udcff" not in out
        code, _, errors = driftfit("adapt", tmp_path / name, *options, "-o", tmp_path / os.fsdecode(b"R\xff"))
        assert code == 2
        assert "must be text in UTF-8" in errors
        code, _, errors = driftfit("check", tmp_path / os.fsdecode(b"b\xff.csv"), *options[:4])
        assert code == 1
        assert "\udcff" not in errors

    def test_too_little_memory_is_said(self, tmp_path, monkeypatch):
        from driftfit.app import csv_files

        def too_much(*given, **options):
            raise MemoryError

        monkeypatch.setattr(csv_files, "hash_file", too_much)
        table().to_csv(tmp_path / "table.csv", index=False)
        code, _, errors = driftfit("check", tmp_path / "table.csv", "--label", "label", "--order", "when")
        assert code == 1
        assert "the memory is full" in errors

    def test_html_in_names_is_escaped_in_the_model_card(self, tmp_path):
        bad = "<img src=x onerror=alert(1)>"
        frame = table().rename(columns={"x": bad, "label": f"`{bad}`"})
        frame[f"`{bad}`"] = frame[f"`{bad}`"].map({0: bad, 1: "b"})
        frame.to_csv(tmp_path / "a <b>x.csv", index=False)
        options = ["--label", f"`{bad}`", "--order", "when", "--generated", "0", "-o", tmp_path / "RUN"]
        code, _, errors = driftfit("adapt", tmp_path / "a <b>x.csv", *options)
        assert code == 0, errors
        card = (tmp_path / "RUN" / "MODEL_CARD.md").read_text()
        assert "<" not in card
        assert "&lt;img src=x onerror=alert(1)&gt;" in card
        assert "a &lt;b&gt;x.csv" in card

    def test_long_numbers_leave_the_table_readable(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        frame = table(when=np.sort(np.random.default_rng(0).normal(size=N)) * 1e-7)
        frame.to_csv(tmp_path / "table.csv", index=False)
        words = ("--label", "label", "--order", "when", "--method", "gst", "--history", "first", "--verbose")
        code, out, _ = driftfit("check", tmp_path / "table.csv", *words)
        assert code == 0
        start = next(k for k, line in enumerate(out.splitlines()) if line.startswith("step "))
        lines = out.splitlines()[start:]
        rows = lines[: lines.index("")]
        assert max(map(len, rows)) <= 80
        assert sum("%" in row for row in rows[1:]) == 4
        assert all(re.search(r" [0-9][.][0-9]-[0-9][.][0-9] ", row) for row in rows[1:] if "%" in row)
        # Every number of every window stands in one piece.
        names = {end for row in rows[1:] for end in re.findall(r"-?[0-9][.][0-9]+e-[0-9]+", row)}
        assert len(names) == 10


def test_a_label_that_hardly_repeats_is_refused():
    # Two classes would be left, of 20 rows out of 100.
    names = pd.Series([f"name {k}" for k in range(80)] + ["a"] * 10 + ["b"] * 10)
    with pytest.raises(InputError, match=r"82 classes in 100 .* 80 rows .* fewer than 3; is it an"):
        read_labels(names, np.arange(100), "label")
    assert set(read_labels(names[65:], np.arange(35), "label")[0].values) == {"a", "b"}

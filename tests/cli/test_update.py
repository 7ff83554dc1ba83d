"""`driftfit update`: new rows, late labels, and the same run as from scratch."""

import json

import numpy as np
import pandas as pd
import pytest

from driftfit.app import Column, Settings, open_table, table_of
from driftfit.app.forecasts import Forecasts
from driftfit.app.update import arrived, whole_frame
from driftfit.cli import main
from driftfit.domains import ByValue
from driftfit.errors import InputError

OPTIONS = ["--label", "kind", "--order", "month", "--by-value"]
N = 90


def table(n_windows, labelled):
    """Windows of a border that moves; a column with gaps and words, so that features depend on which rows there are."""
    rng = np.random.default_rng(0)
    month = np.repeat(np.arange(8), N)
    x = rng.normal(size=(len(month), 2))
    kind = np.where(x[:, 0] > 0.5 * month - 1, "yes", "no").astype(object)
    x[::7, 1] = np.nan
    words = np.array(["a", "b", "c"])[(np.arange(len(month)) % (2 + (month > 3)))]
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(who=np.arange(len(month)), word=words, kind=kind, month=month)
    return frame.assign(kind=frame["kind"].where(month < labelled, None))[month < n_windows]


def called(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    told = capsys.readouterr()
    return left.value.code or 0, told.out, told.err


@pytest.fixture
def run(tmp_path, capsys):
    table(7, 5).to_parquet(tmp_path / "first.parquet")
    code, _, errors = called(
        capsys, "adapt", tmp_path / "first.parquet", *OPTIONS, "--id", "who", "-o", tmp_path / "RUN"
    )
    assert code == 0, errors
    whole = table(8, 6)
    whole[whole["month"].isin([5, 7])].to_parquet(tmp_path / "new.parquet")
    return tmp_path / "RUN"


def test_it_is_the_run_from_scratch_and_what_stays_is_not_made_again(run, capsys):
    code, out, errors = called(capsys, "update", run, run.parent / "new.parquet")
    assert code == 0, errors
    first, second, third, fourth, *_ = out.splitlines()
    assert first == f"{N} new rows."
    assert second == f"Labels came for {N} rows of before, matched by 'who', 'month'."
    assert third.startswith("They had been predicted: ")
    assert fourth == "18 of 24 forecasts of past windows were there already."
    table(8, 6).to_parquet(run.parent / "all.parquet")
    called(capsys, "adapt", run.parent / "all.parquet", *OPTIONS, "--id", "who", "-o", run.parent / "ALL")
    one, other = (pd.read_parquet(folder / "predictions.parquet") for folder in (run, run.parent / "ALL"))
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    mine, scratch = (json.loads((folder / "result.json").read_text()) for folder in (run, run.parent / "ALL"))
    assert mine["backtest"] == scratch["backtest"]
    assert [entry["came"] for entry in mine["log"]] == [scratch_came(630, 4, 450, 2), f"{first} {second}"]
    assert mine["log"][0]["outcome"] in third
    assert mine["log"][1]["done"] == scratch["answer"]["sentences"][1]
    assert sorted(path.name for path in run.parent.iterdir() if path.is_dir()) == ["ALL", "RUN"]
    assert "Decisions so far" in (run / "report.html").read_text(encoding="utf-8")
    assert "Decisions so far" not in (run.parent / "ALL" / "report.html").read_text(encoding="utf-8")
    # The rows are in the run now: the first table may go.
    (run.parent / "first.parquet").unlink()
    assert called(capsys, "label", run, "-o", run.parent / "rows.csv")[0] == 0
    before = (run / "manifest.json").read_bytes()
    code, out, _ = called(capsys, "update", run, run.parent / "new.parquet")
    assert (code, out.splitlines()[-1]) == (0, "Nothing is new: the run stays as it is.")
    assert (run / "manifest.json").read_bytes() == before


def scratch_came(rows, last, labelled, without):
    return f"{rows} rows; labels until {last} used ({labelled} rows); {without} windows without."


def test_an_interrupted_one_changes_nothing_and_goes_on(run, capsys, monkeypatch):
    before, made = (run / "manifest.json").read_bytes(), []
    keep = Forecasts.put

    def stopped(self, way, window, forecast):
        if len(made) == 4:
            raise KeyboardInterrupt
        made.append(way)
        keep(self, way, window, forecast)

    monkeypatch.setattr(Forecasts, "put", stopped)
    assert called(capsys, "update", run, run.parent / "new.parquet")[0] == 130
    assert (run / "manifest.json").read_bytes() == before
    monkeypatch.undo()
    code, out, _ = called(capsys, "update", run, run.parent / "new.parquet")
    assert code == 0
    assert "22 of 24 forecasts of past windows were there already." in out
    assert not [path for path in run.parent.iterdir() if path.name.startswith(".")]


def settings(**more):
    return Settings(label="kind", order=Column("month"), windows=ByValue(), **more)


def test_rows_without_an_id_are_told_apart_by_their_values():
    old, new = table(3, 2), table(4, 3)
    twins = pd.concat([old, old.tail(1)], ignore_index=True)
    found = arrived(twins, new.drop(columns="who").assign(who=new["who"].astype(float)), settings())
    assert (found.n_new, len(found.labels), found.n_changed) == (N, N, 0)
    assert found.rows["kind"].notna().sum() == 3 * N
    # Labels alone are matched by an id, whatever file they come from.
    late = pd.DataFrame({"who": new["who"].map(str), "kind": new["kind"].fillna("").str.upper()})
    found = arrived(old, late[N : 3 * N], settings(id="who"))
    assert found.labels.tolist() == list(range(2 * N, 3 * N))
    assert sorted(found.rows["kind"].unique()) == ["no", "yes"]


def test_rows_from_another_kind_of_file_take_the_types_of_the_table(tmp_path):
    def typed(frame):
        dates = pd.to_datetime("2024-01-01") + pd.to_timedelta(frame["month"], unit="D")
        sizes = pd.Categorical(frame["word"].map({"a": "s", "b": "m", "c": "l"}), ["s", "m", "l"], ordered=True)
        return frame.assign(month=dates, size=sizes, flag=frame["who"] % 3 == 0, code=frame["who"].map("{:04d}".format))

    old, new = typed(table(3, 2)), typed(table(4, 3))
    new.to_csv(tmp_path / "new.csv", index=False)
    read = whole_frame(open_table([tmp_path / "new.csv"], ["code"]))
    found = arrived(old, read, settings(id="who"))
    assert (found.n_new, len(found.labels)) == (N, N)
    pd.testing.assert_frame_equal(found.rows, new, check_dtype=False)
    assert (found.rows.dtypes.drop("kind") == old.dtypes.drop("kind")).all()
    for name, value in (("a", "many"), ("size", "xl"), ("month", "soon")):
        with pytest.raises(InputError, match=f"column '{name}' has the value '{value}' in the new table"):
            arrived(old, read.assign(**{name: value}, who=read["who"] + 5000), settings(id="who"))


def test_another_label_than_before_counts_and_is_said():
    old = table(3, 3)
    other = old["kind"].head(2).map({"yes": "no", "no": "yes"})
    found = arrived(old, old.head(2).assign(kind=other), settings(id="who"))
    assert found.rows["kind"].head(2).tolist() == other.tolist()
    assert (found.n_new, len(found.labels), found.n_changed) == (0, 0, 2)
    assert "2 rows have another label than before; the new one counts." in found.said


@pytest.mark.parametrize(
    ("new", "more", "message"),
    [
        (lambda t: t.head(0), {}, "has no rows"),
        (lambda t: t.assign(kind="1"), {}, "no label of the new table is one of 'no', 'yes', such as '1'"),
        (lambda t: t[["who", "kind"]], {}, "cannot be matched by their values"),
        (lambda t: t[["month", "kind"]], {"id": "who"}, "no column 'who', by which rows are told apart"),
        (lambda t: t[["who", "kind"]].assign(who=-1), {"id": "who"}, "several rows with 'who' = -1"),
        (lambda t: t[["who", "kind"]].assign(who=-t["who"] - 1), {"id": "who"}, "the new table has no column 'a'"),
        (lambda t: t, {"id": "word"}, "name columns that tell rows apart"),
    ],
)
def test_what_cannot_be_matched_is_one_line(new, more, message):
    with pytest.raises(InputError, match=message):
        arrived(table(3, 2), new(table(4, 3)), settings(**more))


def test_a_run_in_python_is_updated_too():
    from driftfit import adapt

    first = adapt(table(5, 4), label="kind", order="month", windows="value", id="who")
    assert first.update(table(5, 4)) is first
    grown = first.update(table(6, 5).tail(2 * N))
    whole = adapt(table_of(table(6, 5)).frame, label="kind", order="month", windows="value", id="who")
    pd.testing.assert_frame_equal(grown.predictions, whole.predictions, check_exact=True)
    assert len(grown.summary["log"]) == 2

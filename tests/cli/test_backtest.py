"""`driftfit backtest`: what it prints, what it keeps, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest

from driftfit.app import Column, Settings, table_of
from driftfit.app.backtests import backtest_table
from driftfit.cli import main
from driftfit.domains import ByValue
from driftfit.parallel import Processes


def table():
    rng = np.random.default_rng(0)
    month = np.repeat(np.arange(6), 150)
    x = rng.normal(size=(len(month), 2))
    kind = np.where(x[:, 0] > 0.5 * month - 1, "yes", "no").astype(object)
    kind[month == 5] = None
    return pd.DataFrame(x, columns=["a", "b"]).assign(kind=kind, month=month)


def called(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    told = capsys.readouterr()
    return left.value.code or 0, told.out, told.err


@pytest.fixture
def words(tmp_path):
    table().to_parquet(tmp_path / "t.parquet")
    return ["backtest", tmp_path / "t.parquet", "--label", "kind", "--order", "month", "--by-value"]


def test_a_line_for_each_way_and_a_sentence_first(words, capsys):
    code, out, _ = called(capsys, *words)
    assert code == 0
    first, _, unit, head, *_ = out.splitlines()
    assert first.startswith("In 4 past windows '")
    assert unit == "accuracy of all labels, and what the others gained over it:"
    assert head.split() == ["way", "1", "2", "3", "4", "to", "expect"]


def test_an_interrupted_run_goes_on_where_it_was(words, tmp_path, capsys):
    _, plain, _ = called(capsys, *words, "--json")
    _, first, _ = called(capsys, *words, "--json", "-o", tmp_path / "kept")
    assert json.loads(first) == json.loads(plain)
    kept = sorted((tmp_path / "kept" / "forecasts").iterdir())
    assert len(kept) == 24
    kept[3].unlink()
    kept[5].write_bytes(b"broken off")
    before = {path: path.stat().st_mtime_ns for path in kept if path.exists()}
    _, again, _ = called(capsys, *words, "--json", "-o", tmp_path / "kept")
    made = [path for path in kept if before.get(path) != path.stat().st_mtime_ns]
    assert made == [kept[3], kept[5]]
    assert json.loads(again) == json.loads(plain) == json.loads((tmp_path / "kept" / "backtest.json").read_text())
    # Other data have other forecasts.
    called(capsys, *words, "--seed", "1", "-o", tmp_path / "kept")
    assert len(list((tmp_path / "kept" / "forecasts").iterdir())) == 48


def test_processes_give_the_same():
    settings = Settings(label="kind", order=Column("month"), windows=ByValue())
    one, other = (backtest_table(table_of(table()), settings, engine=engine)[0] for engine in (None, Processes(2)))
    assert one.sentence == other.sentence


def test_the_metric_is_the_users(words, capsys, tmp_path):
    _, out, _ = called(capsys, *words, "--metric", "roc_auc", "--json")
    assert json.loads(out)["metric"] == "roc_auc"
    (tmp_path / "costs.csv").write_text("true,no,yes\nno,0,1\nyes,4,0\n")
    _, out, _ = called(capsys, *words, "--metric", f"cost:{tmp_path / 'costs.csv'}")
    assert "cost per row of all labels, less is better, and" in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--metric", "auc"], "there is no metric 'auc'"),
        (["--history", "first"], "needs two windows with labels"),
        (["--late", "-1"], "must be at least 0"),
    ],
)
def test_what_makes_no_sense_is_one_line(words, more, message, capsys):
    code, _, errors = called(capsys, *words, *more)
    assert code in (1, 2)
    assert message in errors


def test_a_method_that_is_named_is_measured_as_well(words, capsys):
    _, out, _ = called(capsys, *words, "--method", "own-rank", "--json")
    assert "own-rank" in json.loads(out)["scores"]

"""Sweeps: what a file asks for, paired seeds, failed cells that stay, and a choice that sees no target label."""

import json

import numpy as np
import pandas as pd
import pytest

from driftfit.cli import run_command
from driftfit.errors import InputError
from driftfit.lab.launch import failed_cells
from driftfit.lab.output import sweep_as_markdown
from driftfit.lab.statistics import summarise_sweep
from driftfit.lab.store import Store
from driftfit.lab.sweep import SweepCell, read_sweep, run_sweep
from driftfit.methods import GOAT


@pytest.fixture
def table(tmp_path):
    """Two classes that move a little with each year; the last year has labels too, for measuring."""
    rng = np.random.default_rng(0)
    year = np.repeat(np.arange(4), 150)
    kind = rng.integers(0, 2, 600)
    frame = pd.DataFrame(rng.normal(size=(600, 2)) + 3 * kind[:, None], columns=["u", "v"])
    frame["u"] += 0.9 * year
    frame.assign(kind=np.where(kind, "b", "a"), year=year).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


FILE = """
name: trial
data:
  - {table: t.csv, label: kind, order: year, window_by: value, rows: 100}
models: [logistic]
methods:
  - goat: {n_generated: [0, 2]}
  - gst
  - own-scale
seeds: 3
first_seed: 10
"""


def read(folder, text=FILE):
    (folder / "sweep.yaml").write_text(text)
    return read_sweep(folder / "sweep.yaml")


def test_the_grid_of_a_file(table):
    sweep = read(table)
    assert len(sweep.cells) == 5 * 3
    assert [cell.name for cell in sweep.cells[:5]] == [
        "source",
        "goat n_generated=0",
        "goat n_generated=2",
        "gst",
        "own-scale",
    ]
    assert {cell.seed for cell in sweep.cells} == {10, 11, 12}
    assert len({cell.group for cell in sweep.cells}) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seeds: 3", "seeds: none"), "seeds must be a count"),
        (("gst", "gsd"), "there is no method 'gsd' for a sweep; choose among own-scale, own-rank"),
        (("n_generated", "n_domains"), "goat has no setting 'n_domains'; it has"),
        (("label: kind, ", ""), "the table 't.csv' needs its label"),
        (("rows: 100", "row: 100"), "data have no setting 'row'; a table has"),
        (("rows: 100", "rows: many"), "rows of the data must be of type int, got 'many'"),
        (("models: [logistic]", "models: [logic]"), "there is no model 'logic'"),
        (("table: t.csv", "benchmark: mnist"), "data have no setting 'label'; a benchmark has"),
        (("models", "model"), "has a part 'model'; a sweep has name, data"),
        (("data:", "data: []\nname:"), "must be a list with at least one entry"),
        (("{table", "[table"), "is not YAML"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(table, change, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        read(table, FILE.replace(*change))


def test_a_sweep_end_to_end_and_again(table, capsys):
    read(table)
    arguments = ["sweep", str(table / "sweep.yaml"), "--store", str(table / "s.sqlite"), "--output", str(table / "out")]
    assert run_command(arguments) == 0
    said = capsys.readouterr().out
    assert "| goat n_generated=2 |" in said
    assert "Chosen without target labels:" in said
    content = json.loads((table / "out" / "trial.json").read_text())
    (found,) = content["tables"]
    source, *others = found["rows"]
    assert source["lead"] == [None, None]
    # Paired: the lead is the difference of the means, and its interval that of the differences.
    for row in others:
        assert row["lead"][0] == pytest.approx(row["accuracy"][0] - source["accuracy"][0])
    assert found["with_labels"][0] >= found["without_labels"][0]
    assert sum(found["taken"].values()) == 3
    before = (table / "s.sqlite").stat().st_mtime_ns
    assert run_command(arguments) == 0
    assert capsys.readouterr().out == said
    assert len(content["runs"]) == 15
    assert before


def test_target_labels_change_no_score_and_no_choice(table):
    sweep = read(table)
    plain = run_sweep(sweep, Store(table / "a.sqlite"))
    frame = pd.read_csv(table / "t.csv")
    frame.loc[frame["year"] > 0, "kind"] = None
    frame.to_csv(table / "t.csv", index=False)
    (blind,) = run_sweep(sweep, Store(table / "b.sqlite"))
    assert [row.score for row in blind.rows] == [row.score for row in plain[0].rows]
    assert blind.taken == plain[0].taken
    assert blind.with_labels == (None, None)
    assert "The target has no labels, so nothing is measured." in sweep_as_markdown(blind)


def test_failed_cells_stay_and_are_shown(table, monkeypatch, capsys):
    def broken(self, *given, **more):
        raise ZeroDivisionError("it broke")

    read(table)
    arguments = ["sweep", str(table / "sweep.yaml"), "--store", str(table / "s.sqlite"), "--output", str(table / "out")]
    with monkeypatch.context() as patched:
        patched.setattr(GOAT, "adapt", broken)
        assert run_command(arguments) == 1
    said = capsys.readouterr().out
    assert "| goat n_generated=2 | - | - | - | 0 | 3 |" in said
    assert "Failed: t.csv logistic goat n_generated=2 seed 12" in said
    assert "6 of 15 cells failed" in said
    assert {failed.kind for failed in failed_cells(Store(table / "s.sqlite"))} == {"ZeroDivisionError"}
    assert run_command(arguments) == 0
    assert failed_cells(Store(table / "s.sqlite")) == []


def test_the_choice_keeps_the_source_unless_the_gain_is_clear():
    cells = [SweepCell('{"benchmark":"covtype"}', "logistic", 0, word) for word in ("source", "gst", "direct")]
    record = {"score": 0.5, "gain": 0.0, "gain_low": 0.0, "struck": "", "transductive_last": 60.0}
    better = {**record, "score": 0.9, "gain": 0.4, "gain_low": 0.1, "transductive_last": 70.0}
    doubtful = {**better, "gain_low": -0.1}
    for second, third, taken in (
        (better, doubtful | {"score": 0.7}, "gst"),
        (doubtful, record, "source"),
        (better | {"struck": "a class is lost"}, record, "source"),
    ):
        (found,) = summarise_sweep(cells, dict(zip(cells, (record, second, third), strict=True)))
        assert found.taken == {taken: 1}


def test_a_benchmark(benchmark_data, tmp_path):
    text = "data: [{benchmark: covtype, rows: 150, given: 1}]\nmethods: [gst]\nseeds: 2\n"
    (found,) = run_sweep(read(tmp_path, text), Store(tmp_path / "s.sqlite"))
    assert [row.n_seeds for row in found.rows] == [2, 2]
    assert all(40 < row.accuracy[0] <= 100 for row in found.rows)

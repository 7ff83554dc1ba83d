"""Cells, the store, summaries and their output."""

import csv
import io
import json
import threading

import pytest

from gradapt.errors import InputError
from gradapt.experiments import Cell, Store, published_figure, published_number, settings, summarise, table_cells
from gradapt.experiments.output import as_csv, as_json, as_markdown, print_table, write_outputs
from gradapt.experiments.presets import PRESETS, TABLES
from gradapt.experiments.summary import mean_and_interval


def fake_results(n_seeds=3):
    results = {}
    for cell in table_cells("rotated-mnist", seeds=n_seeds, given=[0, 2], generated=[0, 4]):
        accuracy = 50.0 + cell.seed + cell.n_given
        held = None if cell.method == "label-transport" else accuracy - 1
        results[cell] = {
            **{f"transductive_{name}": accuracy for name in ("last", "selected", "label_selected")},
            **{f"heldout_{name}": held for name in ("last", "selected", "label_selected")},
            "provenance": {"torch": "2"},
            "seconds": 1.0,
            "peak_bytes": 5,
            "finished_at": "now",
            "steps": [],
        }
    return results


def test_cells_are_hashable_and_keys_round_trip():
    cells = [cell for table in TABLES for preset in PRESETS for cell in table_cells(table, preset)]
    assert len(set(cells)) == len(cells) == 4 * 2 * 5 * 5 * 8
    assert [Cell.from_key(cell.key) for cell in cells] == cells


def test_controls_always_belong_to_a_table():
    methods = {cell.method for cell in table_cells("portraits", seeds=1, given=[0], generated=[4])}
    assert methods == {"source-only", "frozen-gst", "label-transport", "goat"}


def test_changed_settings_make_new_cells():
    assert settings("portraits").digest != settings("portraits", "paper").digest
    assert settings("rotated-mnist").digest != settings("color-mnist").digest


@pytest.mark.parametrize("options", [{"seeds": 0}, {"given": []}, {"given": [-1]}, {"table": "mnist"}, {"preset": "x"}])
def test_impossible_tables_are_refused(options):
    chosen = {"table": "covtype", "preset": "reference", **options}
    with pytest.raises(InputError):
        table_cells(chosen.pop("table"), chosen.pop("preset"), **chosen)


def test_store_keeps_the_first_record_of_a_cell_whoever_writes(tmp_path):
    store = Store(tmp_path / "sub" / "store.sqlite")
    cells = table_cells("covtype", seeds=2, given=[0], generated=[0])
    won = []

    def write(number):
        own = Store(store.path)
        won.extend(own.add(cell, {"writer": number}, {"v": 1}, 0.5, 7) for cell in cells)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sum(won) == len(cells)
    results = store.results(cells)
    assert set(results) == store.finished(cells) == set(cells)
    assert results[cells[0]]["provenance"] == {"v": 1}
    assert results[cells[0]]["peak_bytes"] == 7


def test_a_file_that_is_no_store_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look at " * 40)
    with pytest.raises(InputError, match="not a store"):
        Store(path)


def test_published_figures_are_those_of_the_paper():
    assert [published_number(table) for table in TABLES] == [3, 4, 5, 6]
    assert published_figure("rotated-mnist", "gst", 0, 0) == (50.3, 0.7)
    assert published_figure("color-mnist", "goat", 4, 2) == (91.8, 1.8)
    assert published_figure("portraits", "goat", 3, 3) == (82.3, 1.3)
    assert published_figure("covtype", "gst", 4, 0) == (67.7, 1.7)
    assert published_figure("covtype", "frozen-gst", 0, 0) is None
    assert published_figure("covtype", "goat", 9, 1) is None


def test_interval_is_student_s():
    mean, half = mean_and_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half == pytest.approx(2.776 * (2.5 / 5) ** 0.5, rel=1e-3)


def test_outputs_show_ours_theirs_and_the_difference(tmp_path, capsys):
    results = fake_results()
    entries = summarise(results)
    goat = next(entry for entry in entries if entry.method == "goat" and entry.n_given == 2)
    assert goat.means["transductive_last"] == 53.0
    assert goat.difference == pytest.approx(53.0 - 70.3)
    assert "53.0 ± 2.5 (70.3, -17.3)" in as_markdown(entries)
    rows = list(csv.DictReader(io.StringIO(as_csv(entries))))
    assert len(rows) == len(entries)
    assert rows[0]["preset"] == "reference"
    whole = json.loads(as_json(entries, results, {"seeds": 3}))
    assert whole["about"] == {"seeds": 3}
    assert len(whole["runs"]) == len(results)
    paths = write_outputs(entries, results, tmp_path / "out", "name", {})
    assert sorted(path.suffix for path in paths) == [".csv", ".json", ".md"]
    print_table(entries, "title")
    assert "53.0 ± 2.5" in capsys.readouterr().out

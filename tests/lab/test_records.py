"""Cells, the store, summaries and their output."""

import json
import threading

import pytest

from driftfit.errors import InputError
from driftfit.lab.cells import BENCHMARKS, PRESETS, Options, settings
from driftfit.lab.layouts import TABLES, make_table, published_comparison, published_figure, published_number
from driftfit.lab.output import as_json, as_markdown, write_outputs
from driftfit.lab.statistics import mean_and_interval, summarise
from driftfit.lab.store import Store


def table_cells(name, preset="reference", seeds=5, **options):
    return make_table(name, Options(preset, **options)).cells(seeds)


def fake_results(table, n_seeds=3):
    results = {}
    for cell in table.cells(n_seeds):
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


def test_every_cell_has_a_key_of_its_own():
    cells = [cell for table in BENCHMARKS for preset in PRESETS for cell in table_cells(table, preset)]
    assert len(set(cells)) == len(cells) == 4 * 2 * 5 * 5 * 8
    assert len({cell.key for cell in cells}) == len(cells)


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
        won.extend(own.add(cell, {"transductive_last": number}, {"v": 1}, 0.5, 7) for cell in cells)

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
    assert [published_number(table) for table in BENCHMARKS] == [3, 4, 5, 6]
    assert published_figure("rotated-mnist", "gst", 0, 0) == (50.3, 0.7)
    assert published_figure("color-mnist", "goat", 4, 2) == (91.8, 1.8)
    assert published_figure("portraits", "goat", 3, 3) == (82.3, 1.3)
    assert published_figure("covtype", "gst", 4, 0) == (67.7, 1.7)
    assert published_figure("covtype", "frozen-gst", 0, 0) is None
    assert published_figure("covtype", "goat", 9, 1) is None
    assert published_comparison("uda", "deep-jdot", "covtype") == (67.0, 1.2)
    assert published_comparison("uda", "goat", "color-mnist") == (90.3, 1.4)
    assert published_comparison("uda", "source-only", "covtype") is None
    assert published_comparison("covi", "covi", "rotated-mnist", 0) == (48.4, 2.1)
    assert published_comparison("covi", "goat", "portraits", 4) == (83.6, 1.5)
    assert published_comparison("covi", "covi", "covtype", 0) is None
    for n_given in range(5):
        # The paper prints its GST figures twice.
        for benchmark in ("rotated-mnist", "color-mnist", "portraits"):
            twice = published_comparison("covi", "gst", benchmark, n_given)
            assert twice == published_figure(benchmark, "gst", n_given, 0)


def test_interval_is_student_s():
    mean, half = mean_and_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half == pytest.approx(2.776 * (2.5 / 5) ** 0.5, rel=1e-3)


def test_outputs_show_ours_theirs_and_the_difference(tmp_path):
    table = make_table("rotated-mnist", Options(given=[0, 2], generated=[0, 4]))
    results = fake_results(table)
    entries = summarise(table, results)
    goat = next(entry for entry in entries if entry.place.cell.method == "goat" and entry.place.row == "2")
    assert goat.means["transductive_last"] == 53.0
    assert goat.difference == pytest.approx(53.0 - 70.3)
    assert "53.0 ± 2.5 (70.3, -17.3)" in as_markdown(table, entries)
    whole = json.loads(as_json(entries, results, {"seeds": 3}))
    assert whole["about"] == {"seeds": 3}
    assert len(whole["runs"]) == len(results)
    assert [row["means"]["transductive_last"] for row in whole["table"]] == [entry.mean for entry in entries]
    paths = write_outputs(table, entries, results, tmp_path / "out", "name", {})
    assert sorted(path.suffix for path in paths) == [".json", ".md"]


def test_the_contender_is_compared_seed_by_seed(tmp_path):
    table = make_table("uda")
    results = {cell: {**result, "transductive_last": 10.0 * cell.seed} for cell, result in fake_results(table).items()}
    ahead = {place.cell.method: place.row for place in table.places}
    for cell, result in results.items():
        if cell.method == "goat-auto":
            # Over all others by 1, 2 and 3 points: the spread of the seeds themselves is ten times as large.
            result["transductive_last"] += 1.0 + cell.seed
        if cell.method == "dann":
            result["transductive_last"] += 1.5 + cell.seed
    # A seed that the contender lacks is left out of the comparison, not compared with another.
    results = {cell: result for cell, result in results.items() if (cell.method, cell.seed) != ("goat-auto", 1)}
    entries = {entry.place.row: entry for entry in summarise(table, results) if entry.place.column == "portraits"}
    assert table.contender == ahead["goat-auto"]
    assert entries[table.contender].lead == (None, None)
    assert entries[ahead["deep-coral"]].lead == pytest.approx((2.0, 12.706), abs=1e-3)
    assert entries[ahead["dann"]].lead == pytest.approx((-0.5, 0.0))
    write_outputs(table, summarise(table, results), results, tmp_path, "uda", {})
    compared = (tmp_path / "uda.md").read_text().split("Paired differences")[1]
    assert f"| {ahead['deep-coral']} | +2.0 ± 12.7 |" in compared
    assert f"| {ahead['dann']} | **-0.5 ± 0.0** |" in compared


def test_every_table_has_its_cells_and_a_title():
    expected = {
        "uda": 4 * (6 + 4 + 2 + 4 + 1),
        "covi": 45,
        "covi-parts": 18,
        "encoders": 12,
        "plans": 10,
        "selection": 8,
        "frontier": 4 * 5 + 2 + 4,
    }
    for name in TABLES:
        table = make_table(name)
        cells = table.cells(1)
        assert len(cells) == len(set(cells))
        assert table.name == name
        assert table.title
        assert len(cells) == expected.get(name, 40)
        assert len({(place.row, place.column) for place in table.places}) == len(table.places)


def test_with_given_adds_the_rivals_that_see_them():
    rows = [place.row for place in make_table("uda", Options(with_given=True)).places]
    assert len([row for row in rows if row.endswith("given pooled")]) == 16
    assert not any("pooled" in place.row for place in make_table("uda").places)


def test_tables_share_the_cells_that_they_have_in_common():
    uda, covi = (set(make_table(name).cells(1)) for name in ("uda", "covi"))
    portraits = set(make_table("portraits").cells(1))
    assert {cell.method for cell in uda & covi} == {"gst", "goat"}
    assert {cell for cell in covi - portraits if cell.table == "portraits"} == {
        cell for cell in covi if cell.table == "portraits" and cell.method == "covi"
    }


def test_ablations_have_settings_of_their_own():
    plain, plans, encoders = (settings("rotated-mnist", study=study) for study in ("", "plans", "encoders"))
    assert (plain.source_epochs, plans.source_epochs, encoders.self_training_epochs) == (5, 20, 10)
    assert (plans.network, encoders.network) == ("reference-cnn", "ablation-cnn")
    with pytest.raises(InputError, match="study"):
        settings("rotated-mnist", study="colours")


def test_a_figure_is_drawn_with_its_bars(tmp_path):
    table = make_table("plans", Options(given=[0]))
    results = {cell: {**result, "same_class_mass": 30.0} for cell, result in fake_results(table).items()}
    entries = summarise(table, results)
    paths = write_outputs(table, entries, results, tmp_path, "plans", {})
    assert sorted(path.suffix for path in paths) == [".json", ".md", ".png", ".svg"]
    drawn = (tmp_path / "plans.svg").read_text()
    assert "oracle" in drawn
    assert "same-class mass" in drawn
    markdown = (tmp_path / "plans.md").read_text()
    assert "never used by the published code" in markdown
    # Shares of mass are no accuracies: they have no held-out value.
    assert "same-class mass" not in markdown.split("Held-out")[1]


@pytest.mark.parametrize(
    ("name", "options"), [("uda", {"given": [0, 2]}), ("covi", {"generated": [1, 2]}), ("plans", {"generated": [0]})]
)
def test_tables_that_take_one_number_say_so(name, options):
    with pytest.raises(InputError, match="takes one number"):
        make_table(name, Options(**options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"given": [-1]}, "--given takes counts"),
        ({"generated": [2, 2]}, "--generated names a count twice: 2,2"),
        ({"n_samples": 1}, "--samples must be at least 2, got 1"),
        ({"with_given": True}, "--with-given belongs to the table uda"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_their_name(options, words):
    with pytest.raises(InputError, match=words):
        make_table("portraits", Options(**options))

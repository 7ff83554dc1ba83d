"""Whole runs on a CPU: end to end, killed and resumed, reproducible, and true to the library's GOAT."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from sklearn.metrics import pairwise_distances

from driftfit.errors import SolverError
from driftfit.lab.cells import Cell, Options, settings
from driftfit.lab.configurations import ALIGNED, COVI_PARTS, WITH_GIVEN, estimator_of
from driftfit.lab.experiment import Experiment
from driftfit.lab.launch import failed_cells, launch
from driftfit.lab.layouts import LAYERS, make_table
from driftfit.lab.paper import CellWork, Launch, run_cells, run_tables
from driftfit.lab.store import Store
from driftfit.parallel import Processes, Ray, Serial

CPU = torch.device("cpu")


def table_cells(name, seeds=1, **options):
    return make_table(name, Options(**options)).cells(seeds)


def without_time(result):
    return {key: value for key, value in result.items() if key not in ("seconds", "finished_at", "peak_bytes")}


def test_two_runs_agree_bit_for_bit_and_a_finished_one_does_nothing(data, tmp_path):
    cells = table_cells("covtype", seeds=1, given=[1], generated=[0, 1], n_samples=120)
    stores = [Store(tmp_path / f"{number}.sqlite") for number in range(2)]
    seen = []
    for store in stores:
        assert run_cells(cells, store, Launch("cpu"), lambda cell, accuracy: seen.append(cell)) == len(cells)
    assert len(seen) == 2 * len(cells)
    first, second = (store.results(cells) for store in stores)
    assert all(without_time(first[cell]) == without_time(second[cell]) for cell in cells)
    assert run_cells(cells, stores[0], Launch("cpu")) == 0
    for result in first.values():
        assert {"transductive_last", "heldout_last", "transductive_selected", "transductive_label_selected"} <= set(
            result
        )
        assert result["transductive_label_selected"] >= result["transductive_last"]
        if "steps" in result:  # labels that plans carry make no model
            surest = max(result["steps"], key=lambda step: step["information"])
            assert result["transductive_selected"] == surest["transductive"]


def test_resumed_cells_do_not_depend_on_which_were_done_before(data, tmp_path):
    cells = table_cells("covtype", seeds=1, given=[0, 1], generated=[1], n_samples=120)
    whole, pieces = Store(tmp_path / "whole.sqlite"), Store(tmp_path / "pieces.sqlite")
    run_cells(cells, whole, Launch("cpu"))
    for part in (cells[5:], cells[:3], cells):
        run_cells(part, pieces, Launch("cpu"))
    expected, found = whole.results(cells), pieces.results(cells)
    assert all(without_time(expected[cell]) == without_time(found[cell]) for cell in cells)


def test_table_is_printed_and_written(data, tmp_path, capsys):
    options = Options(given=[0], generated=[0], n_samples=100)
    launch = Launch("cpu", store=tmp_path / "s.sqlite")
    entries = run_tables(["covtype"], options, seeds=2, launch=launch, output=tmp_path / "out")
    assert {entry.place.cell.method for entry in entries} == {"source-only", "gst", "frozen-gst", "label-transport"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "covtype-reference-100-samples.json",
        "covtype-reference-100-samples.md",
    ]
    shown = capsys.readouterr().out
    assert "table 6 of the paper" in shown
    assert "| source only |" in shown


@pytest.mark.slow
def test_processes_share_the_store(data, tmp_path):
    cells = table_cells("covtype", seeds=2, given=[0], generated=[0], n_samples=60)
    seen = []
    run_cells(cells, Store(tmp_path / "s.sqlite"), Launch("cpu", Processes(2)), lambda cell, _: seen.append(cell))
    assert sorted(seen) == sorted(cells)


@pytest.mark.slow
def test_every_engine_gives_the_same_cells(data, tmp_path):
    cells = table_cells("covtype", seeds=1, given=[0], generated=[0, 1], n_samples=60)
    found = []
    for number, engine in enumerate((Serial(), Processes(2), Ray(1))):
        store = Store(tmp_path / f"{number}.sqlite")
        assert run_cells(cells, store, Launch("cpu", engine)) == len(cells)
        found.append({cell: without_time(result) for cell, result in store.results(cells).items()})
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["rotated-mnist", "color-mnist", "portraits", "covtype"])
def test_every_table_runs_at_the_paper_preset(data, table):
    experiment = Experiment(table, "paper", 0, CPU, 24)
    result = experiment.run(Cell(table, "paper", 0, 1, "goat", 1))
    assert 0 <= result["transductive_last"] <= 100
    assert experiment.settings == settings(table, "paper")


@pytest.mark.slow
def test_killed_run_resumes_with_no_cell_lost_or_doubled(data, tmp_path):
    """Two cells of Rotated MNIST on 500 images, with their controls; kill -9 in the middle."""
    store = tmp_path / "store.sqlite"
    command = [sys.executable, "-m", "driftfit", "paper", "rotated-mnist", "--seeds", "1", "--given", "0"]
    command += ["--generated", "0,1", "--samples", "500", "--device", "cpu", "--store", str(store)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    cells = table_cells("rotated-mnist", seeds=1, given=[0], generated=[0, 1], n_samples=500)
    run = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while not (store.exists() and _count(store) >= 1):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait()
    before = Store(store).results(cells)
    assert 1 <= len(before) < len(cells)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=200)
    assert f"{len(cells) - len(before)} of {len(cells)} cells run" in done.stdout
    after = Store(store).results(cells)
    assert set(after) == set(cells)
    assert _count(store) == len(cells)
    assert all(after[cell] == before[cell] for cell in before)


def _count(path):
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM records").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


METHODS = [
    *(("source-only", 0, ""), ("nearest-neighbour", 0, ""), ("gst", 0, ""), ("frozen-gst", 0, ""), ("goat", 2, "")),
    *(("goat-auto", 0, ""), ("label-transport", 0, ""), ("dann", 0, WITH_GIVEN)),
    *((method, 0, "") for method in ALIGNED),
    # Parts of CoVi are other weights of the same losses.
    *(("covi", 0, part) for part in list(COVI_PARTS)[:2]),
]


def fitted_estimator(experiment, cell):
    """The public classifier of a cell, fitted by a user who has the data as arrays."""
    sequence = experiment._load(cell.n_given, "adapt")
    X, y, domain = sequence.as_samples()
    return estimator_of(cell, experiment.settings).fit(X, y, sample_domain=domain), sequence.target


def assert_same_predictions(experiment, cell):
    """The model that the cell measures and the public classifier agree bit for bit."""
    clf, target = fitted_estimator(experiment, cell)
    learner, method = experiment.start(cell)
    adapted = experiment.adapt(cell, learner, method)
    if cell.method == "label-transport":
        assert np.array_equal(adapted.carried, clf.adaptation_.carried)
    assert np.array_equal(adapted.learner.estimator.predict_proba(target.samples), clf.predict_proba(target.samples))
    if cell.method not in ("source-only", "nearest-neighbour", "label-transport"):
        assert not np.array_equal(
            clf.predict_proba(target.samples), clf.source_estimator_.predict_proba(target.samples)
        )
    return 100 * float(np.mean(clf.predict(target.samples) == target.labels))


@pytest.mark.parametrize(("method", "n_generated", "variant"), METHODS)
def test_every_cell_is_the_public_classifier_on_a_table(data, method, n_generated, variant):
    experiment = Experiment("covtype", "reference", 0, CPU, 150)
    cell = Cell("covtype", "reference", 0, 1, method, n_generated, variant=variant)
    accuracy = assert_same_predictions(experiment, cell)
    if method != "label-transport":
        assert experiment.run(cell)["transductive_last"] == accuracy


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "n_samples"), [("reference", 500), ("paper", 24)])
def test_goat_on_images_is_the_public_classifier(data, preset, n_samples):
    """At the paper's preset the encoder is trained along the domains first."""
    experiment = Experiment("rotated-mnist", preset, 0, CPU, n_samples)
    cell = Cell("rotated-mnist", preset, 0, 0, "goat", 1)
    # What the table prints is read off the head, on features that are at hand.
    assert experiment.run(cell)["transductive_last"] == pytest.approx(
        assert_same_predictions(experiment, cell), abs=0.21
    )


def test_what_cells_share_changes_none_of_them(data):
    cells = [Cell("covtype", "reference", 0, 1, "goat", k) for k in (1, 2)]
    shared = Experiment("covtype", "reference", 0, CPU, 60)
    alone = [Experiment("covtype", "reference", 0, CPU, 60).run(cell) for cell in cells]
    assert [shared.run(cell) for cell in cells] == alone
    assert [shared.run(cell) for cell in reversed(cells)] == alone[::-1]


def test_baselines_start_from_the_source_model_and_leave_it_alone(data):
    experiment = Experiment("covtype", "reference", 0, CPU, 50)
    cells = [
        Cell("covtype", "reference", 0, 2, method, variant=variant)
        for method in ("dann", "deep-coral", "deep-jdot")
        for variant in ("", WITH_GIVEN)
    ]
    source, _ = experiment.start(cells[0])
    before = {name: value.clone() for name, value in source.trained.state_dict().items()}
    results = []
    for cell in cells:
        results.append(experiment.run(cell))
        assert results[-1] == experiment.run(cell)
        assert experiment.start(cell)[0] is source
    assert all(torch.equal(value, before[name]) for name, value in source.trained.state_dict().items())
    assert len({result["transductive_before"] for result in results}) == 1
    n_samples = [result["steps"][-1]["n_samples"] for result in results]
    assert n_samples == [50, 150] * 3
    # As many samples as gradual self-training sees over two given domains and the target.
    epochs = [experiment.start(cell)[1].epochs for cell in cells]
    seen = {count * size for count, size in zip(epochs, n_samples, strict=True)}
    assert seen == {experiment.settings.self_training_epochs * 3 * 50}


def test_no_method_depends_on_labels_behind_the_source(data):
    cells = [Cell("covtype", "reference", 0, 1, method) for method in ("dann", "deep-jdot", "covi", "goat-auto", "gst")]
    cells.append(Cell("covtype", "reference", 0, 1, "goat", 1))
    scores = []
    for turned in (False, True):
        experiment = Experiment("covtype", "reference", 0, CPU, 40)
        names = [domain.name for domain in experiment.sequence(1)]
        assert all(domain.labels is None for domain in experiment.sequence(1)[1:])
        if turned:
            for name in names[1:]:
                experiment._labels[name] = 1 - experiment._labels[name]
        accuracies = [experiment.run(cell)["transductive_last"] for cell in cells]
        scores.append([100 - accuracy if turned else accuracy for accuracy in accuracies])
    # With every label turned around the models, and so their right answers, are the same.
    assert scores[0] == pytest.approx(scores[1])


def test_the_control_of_the_baselines_never_sees_the_target(data):
    cell = Cell("covtype", "reference", 0, 1, "source-longer")
    found = []
    for change in (0.0, 5.0):
        experiment = Experiment("covtype", "reference", 0, CPU, 120)
        target = experiment.sequence(1).target
        unmoved = target.samples.clone()
        target.samples.add_(change)
        learner, method = experiment.start(cell)
        found.append(experiment.adapt(cell, learner, method).learner.logits(unmoved))
    assert np.array_equal(*found)


def test_covi_visits_neighbour_after_neighbour(data):
    experiment = Experiment("covtype", "reference", 0, CPU, 40)
    steps = experiment.run(Cell("covtype", "reference", 0, 2, "covi"))["steps"]
    assert [step.get("n_samples") for step in steps] == [None, *(len(domain) for domain in experiment.sequence(2)[1:])]


def test_the_choice_of_domains_lies_between_best_and_worst_and_is_one_of_the_runs(data):
    experiment = Experiment("covtype", "reference", 0, CPU, 60)
    cell = Cell("covtype", "reference", 0, 1, "goat-auto")
    found = experiment.run(cell)
    alone = Cell("covtype", "reference", 0, 1, "goat", 2)
    assert found["accuracies"]["2"] == Experiment("covtype", "reference", 0, CPU, 60).run(alone)["transductive_last"]
    assert found["accuracies"][str(found["chosen"])] == found["transductive_last"]
    assert found["scores"][str(found["chosen"])] == max(found["scores"].values())
    assert found["transductive_worst"] <= found["transductive_last"] <= found["transductive_best"]


def test_nearest_neighbours(data):
    experiment = Experiment("covtype", "reference", 0, CPU, 150)
    found = experiment.run(Cell("covtype", "reference", 0, 0, "nearest-neighbour"))
    source, target = experiment._load(0, "adapt")
    nearest = pairwise_distances(target.samples.astype(float), source.samples.astype(float)).argmin(axis=1)
    assert found["transductive_last"] == pytest.approx(100 * np.mean(source.labels[nearest] == target.labels), abs=1.0)
    assert found["heldout_last"] is not None


@pytest.mark.slow
def test_ablations_use_the_plan_and_the_layer_they_name(data):
    experiment = Experiment("rotated-mnist", "reference", 0, CPU, 40, study="plans")
    oracle = experiment.run(Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="plans", variant="oracle"))
    uniform = experiment.run(Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="plans", variant="uniform"))
    optimal = experiment.run(Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="plans", variant="optimal"))
    # The true pairing never joins two classes; random pairs mostly do.
    assert oracle["same_class_mass"] == pytest.approx(100.0)
    assert uniform["same_class_mass"] < optimal["same_class_mass"] < 100.0
    assert oracle["plan_entries"] == uniform["plan_entries"] == optimal["plan_entries"] == 40
    assert "plan_gap" not in oracle
    layers = Experiment("rotated-mnist", "reference", 0, CPU, 40, study="encoders")
    cells = {
        layer: Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="encoders", variant=layer) for layer in LAYERS
    }
    learners = {layer: layers.start(cell)[0] for layer, cell in cells.items()}
    widths = {layer: learner.encode(layers.sequence(0).source.samples).shape[1] for layer, learner in learners.items()}
    assert widths == {"input": 784, **{f"conv{i}": 25_088 for i in (1, 2, 3, 4)}}
    found = layers.run(cells["input"])
    assert 0 <= found["transductive_last"] <= 100


@pytest.mark.parametrize("preset", ["reference", "paper"])
def test_plans_are_optimal_and_thin(data, preset):
    found = Experiment("covtype", preset, 0, CPU, 80).run(Cell("covtype", preset, 0, 0, "goat", 1))
    assert found["plan_entries"] <= 80 + 80
    assert found["plan_gap"] < 1e-9
    assert "lost_mass" not in found


@pytest.mark.parametrize(("jobs", "remedy"), [(1, "--samples"), (4, "fewer than 4 --jobs")])
def test_a_full_device_is_named_with_a_remedy(data, tmp_path, monkeypatch, jobs, remedy):
    def full(experiment, cell):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(Experiment, "run", full)
    cells = table_cells("covtype", given=[0], generated=[0], n_samples=60)
    work, store = CellWork("cpu", jobs), Store(tmp_path / "s.sqlite")
    finished = launch(cells, work, store)
    assert finished.n_run == 0
    assert set(finished.failures) == set(cells)
    assert [failed.name for failed in failed_cells(store)] == [str(cell) for cell in sorted(cells)]
    with pytest.raises(SolverError, match=remedy):
        finished.raise_failed()


def test_the_command_that_starts_workers_does_not_load_torch(tmp_path):
    """It takes seconds; a worker loads it itself. Where it is missing, the command says so at once."""
    code = f"""
import sys
from driftfit.lab import paper
from driftfit.lab.cells import Options
from driftfit.lab.paper import Launch, run_tables
paper.run_cells = lambda *given: print("torch" in sys.modules) or sys.exit()
run_tables(["covtype"], Options(given=[0]), launch=Launch(store={str(tmp_path / "s.sqlite")!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[-1] == "False", done.stderr


def test_a_cell_that_fails_does_not_hold_up_the_others(data, tmp_path, monkeypatch):
    run = Experiment.run

    def sometimes(experiment, cell):
        if cell.method == "frozen-gst":
            raise ValueError("broken")
        return run(experiment, cell)

    monkeypatch.setattr(Experiment, "run", sometimes)
    cells = table_cells("covtype", given=[0], generated=[0, 1], n_samples=60)
    finished = launch(cells, CellWork("cpu"), Store(tmp_path / "s.sqlite"))
    assert [cell.method for cell in finished.failures] == ["frozen-gst"]
    assert finished.n_run == len(cells) - 1

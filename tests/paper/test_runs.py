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

from gradapt.datasets import covtype, rotated_mnist
from gradapt.domains import DomainSequence
from gradapt.errors import SolverError
from gradapt.learners.torch_learner import TorchLearner
from gradapt.learners.torch_samples import logits
from gradapt.learners.torch_training import Adam, Recipe
from gradapt.methods import GOAT, GradualSelfTraining, SelfTraining, logit_range
from gradapt.paper import Cell, Options, Store, make_table, run_cells, run_tables, settings
from gradapt.paper.baseline_cells import ENTRANTS
from gradapt.paper.bench import Bench
from gradapt.paper.columns import _nearest, run_cell
from gradapt.paper.layouts import LAYERS, ONE_OFF
from gradapt.paper.steps import cell_seed

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
        assert run_cells(cells, store, device="cpu", on_cell=lambda cell, accuracy: seen.append(cell)) == len(cells)
    assert len(seen) == 2 * len(cells)
    first, second = (store.results(cells) for store in stores)
    assert all(without_time(first[cell]) == without_time(second[cell]) for cell in cells)
    assert run_cells(cells, stores[0], device="cpu") == 0
    for result in first.values():
        assert {"transductive_last", "heldout_last", "transductive_selected", "transductive_label_selected"} <= set(
            result
        )
        assert result["transductive_label_selected"] >= result["transductive_last"]


def test_resumed_cells_do_not_depend_on_which_were_done_before(data, tmp_path):
    cells = table_cells("covtype", seeds=1, given=[0, 1], generated=[1], n_samples=120)
    whole, pieces = Store(tmp_path / "whole.sqlite"), Store(tmp_path / "pieces.sqlite")
    run_cells(cells, whole, device="cpu")
    for part in (cells[5:], cells[:3], cells):
        run_cells(part, pieces, device="cpu")
    expected, found = whole.results(cells), pieces.results(cells)
    assert all(without_time(expected[cell]) == without_time(found[cell]) for cell in cells)


def test_table_is_printed_and_written(data, tmp_path, capsys):
    entries = run_tables(
        ["covtype"], seeds=2, given=[0], generated=[0], n_samples=100, device="cpu",
        store=tmp_path / "s.sqlite", output=tmp_path / "out",
    )  # fmt: skip
    assert {entry.place.cell.method for entry in entries} == {"source-only", "gst", "frozen-gst", "label-transport"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "covtype-reference-100-samples.csv",
        "covtype-reference-100-samples.json",
        "covtype-reference-100-samples.md",
    ]
    assert "table 6 of the paper" in capsys.readouterr().out


@pytest.mark.slow
def test_processes_share_the_store(data, tmp_path):
    cells = table_cells("covtype", seeds=2, given=[0], generated=[0], n_samples=60)
    seen = []
    run_cells(cells, Store(tmp_path / "s.sqlite"), device="cpu", jobs=2, on_cell=lambda cell, _: seen.append(cell))
    assert sorted(seen) == sorted(cells)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["rotated-mnist", "color-mnist", "portraits", "covtype"])
def test_every_table_runs_at_the_paper_preset(data, table):
    bench = Bench(table, "paper", 0, CPU, 24)
    result = run_cell(bench, Cell(table, "paper", 0, 1, "goat", 1))
    assert 0 <= result["transductive_last"] <= 100
    assert bench.settings == settings(table, "paper")


@pytest.mark.slow
def test_killed_run_resumes_with_no_cell_lost_or_doubled(data, tmp_path):
    """Two cells of Rotated MNIST on 500 images, with their controls; kill -9 in the middle."""
    store = tmp_path / "store.sqlite"
    command = [sys.executable, "-m", "gradapt", "paper", "rotated-mnist", "--seeds", "1", "--given", "0"]
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


@pytest.mark.parametrize(("table", "load"), [("covtype", covtype), ("rotated-mnist", rotated_mnist)])
def test_goat_column_is_the_library_s_goat(data, table, load):
    """The tables keep everything on the device; the algorithm must stay that of `gradapt.methods`."""
    cell = Cell(table, "reference", 0, 1, "goat", 1)
    bench = Bench(table, "reference", 0, CPU, 60)
    run_cell(bench, cell)
    chosen = bench.settings
    recipe = Recipe(chosen.self_training_epochs, chosen.batch_size, Adam(chosen.lr, chosen.weight_decay))
    learner = TorchLearner(
        build=None, classes=np.arange(2 if table == "covtype" else 10), recipe=recipe, refit_recipe=recipe, device=CPU,
        seed=cell_seed(cell), encoder_layer=chosen.encoder, module=bench.source_model,
    )  # fmt: skip
    method = GradualSelfTraining(SelfTraining(chosen.drop_fraction, use_weights=False, confidence=logit_range))
    goat = GOAT(n_generated=1, method=method)
    sequence = load(1, seed=0, n_samples=60)
    # Labels that the library may look at: the source's alone.
    masked = DomainSequence([sequence.source, *(domain.without_labels() for domain in sequence[1:])])
    adapted = goat.adapt(learner, masked).learner
    scores = adapted.logits(sequence.target.samples)
    trainer = bench.workshop.trainers[f"head {chosen.encoder}"]
    mine = logits(trainer.module, bench.judge(1, bench.encoder(1)).target)
    assert np.allclose(mine.numpy(), scores, atol=1e-3)


def test_rivals_run_from_the_source_model_and_leave_it_alone(data):
    bench = Bench("covtype", "reference", 0, CPU, 50)
    before = {name: value.clone() for name, value in bench.source_model.state_dict().items()}
    results = {}
    for method, variant in [(m, v) for m in ("dann", "deep-coral", "deep-jdot") for v in ("", "with given")]:
        cell = Cell("covtype", "reference", 0, 2, method, variant=variant)
        results[method, variant] = run_cell(bench, cell)
        assert results[method, variant] == run_cell(bench, cell)
    assert all(torch.equal(value, before[name]) for name, value in bench.source_model.state_dict().items())
    firsts = {result["transductive_before"] for result in results.values()}
    assert len(firsts) == 1
    steps = [result["steps"][-1] for result in results.values()]
    # As many samples as gradual self-training sees over two given domains and the target.
    seen = {step["epochs"] * step["n_samples"] for step in steps}
    assert seen == {bench.settings.self_training_epochs * 3 * 50}
    assert [step["n_samples"] for step in steps] == [50, 150] * 3


def test_no_rival_depends_on_labels_behind_the_source(data):
    cells = [Cell("covtype", "reference", 0, 1, method) for method in ("dann", "deep-jdot", "covi", "goat-auto")]
    cells.append(Cell("covtype", "reference", 0, 1, "goat", 1))
    scores = []
    for shuffled in (False, True):
        bench = Bench("covtype", "reference", 0, CPU, 120)
        names = bench.names(1)
        if shuffled:
            for name in names[1:]:
                bench._labels[name] = 1 - bench._labels[name]
        found = []
        for cell in cells:
            result = run_cell(bench, cell)
            accuracy = result["transductive_last"]
            found.append(100 - accuracy if shuffled else accuracy)
        scores.append(found)
    # With every label turned around the models, and so their right answers, are the same.
    assert scores[0] == pytest.approx(scores[1])


def test_the_control_of_the_rivals_never_sees_the_target(data):
    cell = Cell("covtype", "reference", 0, 1, "source-longer")
    found = []
    for change in (0.0, 5.0):
        bench = Bench("covtype", "reference", 0, CPU, 120)
        target = bench.names(1)[-1]
        unmoved = bench.samples(target)
        bench._samples[target] = unmoved.values + change
        run_cell(bench, cell)
        (trainer,) = (trainer for name, trainer in bench.workshop.trainers.items() if name == "source-longer")
        found.append(logits(trainer.module, unmoved))
    assert torch.equal(*found)


def test_covi_visits_neighbour_after_neighbour(data):
    bench = Bench("covtype", "reference", 0, CPU, 150)
    steps = run_cell(bench, Cell("covtype", "reference", 0, 2, "covi"))["steps"]
    assert [step.get("epochs") for step in steps] == [None, 5, 5, 5]


def test_the_choice_of_domains_lies_between_best_and_worst_and_is_one_of_the_runs(data):
    bench = Bench("covtype", "reference", 0, CPU, 150)
    cell = Cell("covtype", "reference", 0, 1, "goat-auto")
    found = run_cell(bench, cell)
    alone = Cell("covtype", "reference", 0, 1, "goat", 2)
    assert found["accuracies"]["2"] == run_cell(Bench("covtype", "reference", 0, CPU, 150), alone)["transductive_last"]
    assert found["accuracies"][str(found["chosen"])] == found["transductive_last"]
    assert found["scores"][str(found["chosen"])] == max(found["scores"].values())
    assert found["transductive_worst"] <= found["transductive_last"] <= found["transductive_best"]


def test_nearest_neighbours_far_from_the_origin():
    points, queries = (torch.from_numpy(np.random.default_rng(seed).normal(size=(200, 50))) for seed in (0, 1))
    expected = torch.cdist(queries, points).argmin(1)
    assert torch.equal(_nearest((0.1 * queries + 100).float(), (0.1 * points + 100).float()), expected)


def test_nearest_neighbours_and_floors(data):
    bench = Bench("covtype", "reference", 0, CPU, 150)
    found = run_cell(bench, Cell("covtype", "reference", 0, 0, "nearest-neighbour"))
    source, target = (bench.samples(name).values.double() for name in bench.names(0))
    nearest = torch.cdist(target, source).argmin(1)
    right = bench.labels(bench.names(0)[0])[nearest] == bench.labels(bench.names(0)[1])
    assert found["transductive_last"] == pytest.approx(float(right.double().mean()) * 100, abs=1.0)
    assert found["heldout_last"] is not None


@pytest.mark.slow
def test_ablations_use_the_plan_and_the_layer_they_name(data):
    bench = Bench("rotated-mnist", "reference", 0, CPU, 40, study="plans")
    oracle = run_cell(bench, Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="plans", variant="oracle"))
    uniform = run_cell(bench, Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="plans", variant="uniform"))
    optimal = run_cell(bench, Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="plans", variant="optimal"))
    # The true pairing never joins two classes; random pairs mostly do.
    assert oracle["same_class_mass"] == pytest.approx(100.0)
    assert uniform["same_class_mass"] < optimal["same_class_mass"] < 100.0
    assert oracle["plan_entries"] == uniform["plan_entries"] == optimal["plan_entries"] == 40
    assert "plan_gap" not in oracle
    layers = Bench("rotated-mnist", "reference", 0, CPU, 40, study="encoders")
    widths = {layer: layers.encoded(layers.encoder(0, layer), layers.names(0)[0]).shape[1] for layer in LAYERS}
    assert widths == {"input": 784, **{f"conv{i}": 25_088 for i in (1, 2, 3, 4)}}
    found = run_cell(layers, Cell("rotated-mnist", "reference", 0, 0, "goat", 1, study="encoders", variant="input"))
    assert 0 <= found["transductive_last"] <= 100


def test_an_entropic_plan_is_thin_and_nearly_optimal(data):
    from gradapt.paper.coupling import couple, couple_entropic

    source, target = (torch.from_numpy(domain.samples[:80].copy()) for domain in covtype(0, n_samples=80))
    exact, thin = couple(source, target[:60]), couple_entropic(source, target[:60])
    assert len(thin.rows) <= 80 + 60
    assert float(thin.mass.sum()) == pytest.approx(1.0)
    assert 0 <= thin.lost_mass < 0.2
    assert exact.gap < 1e-9 <= thin.gap < 0.05


def test_every_rival_of_the_tables_has_an_entrant():
    assert set(ONE_OFF) == set(ENTRANTS)


@pytest.mark.parametrize(("jobs", "remedy"), [(1, "--samples"), (4, "fewer than 4 --jobs")])
def test_a_full_device_is_named_with_a_remedy(data, tmp_path, monkeypatch, jobs, remedy):
    from gradapt.paper import columns as methods
    from gradapt.paper import launch

    def full(bench, cell):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(methods, "run_cell", full)
    cells = table_cells("covtype", given=[0], generated=[0], n_samples=60)
    Store(tmp_path / "s.sqlite")
    with pytest.raises(SolverError, match=remedy):
        launch.run_group(cells, tmp_path / "s.sqlite", "cpu", jobs=jobs)

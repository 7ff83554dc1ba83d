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

from gradapt.adapt import GOAT, GradualSelfTraining, SelfTraining, logit_range
from gradapt.datasets import covtype, rotated_mnist
from gradapt.domains import DomainSequence
from gradapt.experiments import Cell, Store, run_cells, run_tables, settings, table_cells
from gradapt.experiments.bench import Bench
from gradapt.experiments.methods import _seed, run_cell
from gradapt.learners.torch_learner import TorchLearner
from gradapt.learners.torch_samples import logits
from gradapt.learners.torch_training import Adam, Recipe

CPU = torch.device("cpu")


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
    assert {entry.method for entry in entries} == {"source-only", "gst", "frozen-gst", "label-transport"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "covtype-reference.csv",
        "covtype-reference.json",
        "covtype-reference.md",
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
    command = [sys.executable, "-m", "gradapt.experiments", "rotated-mnist", "--seeds", "1", "--given", "0"]
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
    """The tables keep everything on the device; the algorithm must stay that of `gradapt.adapt`."""
    cell = Cell(table, "reference", 0, 1, "goat", 1)
    bench = Bench(table, "reference", 0, CPU, 60)
    run_cell(bench, cell)
    chosen = bench.settings
    recipe = Recipe(chosen.self_training_epochs, chosen.batch_size, Adam(chosen.lr, chosen.weight_decay))
    learner = TorchLearner(
        build=None, classes=np.arange(2 if table == "covtype" else 10), recipe=recipe, refit_recipe=recipe, device=CPU,
        seed=_seed(cell), encoder_layer=chosen.encoder, module=bench.source_model,
    )  # fmt: skip
    method = GradualSelfTraining(SelfTraining(chosen.drop_fraction, use_weights=False, confidence=logit_range))
    goat = GOAT(n_generated=1, method=method)
    sequence = load(1, seed=0, n_samples=60)
    # Labels that the library may look at: the source's alone.
    masked = DomainSequence([sequence.source, *(domain.without_labels() for domain in sequence[1:])])
    adapted = goat.adapt(learner, masked).learner
    scores = adapted.logits(sequence.target.samples)
    trainer = bench.workshop.trainers[f"{table} reference head"]
    mine = logits(trainer.module, bench.judge(1, bench.encoder(1)).target)
    assert np.allclose(mine.numpy(), scores, atol=1e-3)

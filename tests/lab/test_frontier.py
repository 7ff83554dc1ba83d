"""The frontier: data without a sample in two domains, candidates beside each other, a choice that sees no label."""

import numpy as np
import pytest
import torch

from driftfit.datasets import color_mnist, portraits, rotated_mnist
from driftfit.datasets.common import distinct_rows
from driftfit.lab.cells import FRONTIER, Options
from driftfit.lab.experiment import Experiment
from driftfit.lab.layouts import make_table
from driftfit.lab.statistics import summarise

CANDIDATES = {"source", "gst", "goat", "covi", "deep-coral", "carried", "structure"}


def frontier_cells(table, given, n_samples, seeds=1):
    cells = make_table(FRONTIER, Options(given=given, n_samples=n_samples, first_seed=100)).cells(seeds)
    return [cell for cell in cells if cell.table == table]


def experiment_of(cell):
    return Experiment(cell.table, cell.preset, cell.seed, torch.device("cpu"), cell.n_samples, study=FRONTIER)


@pytest.mark.parametrize("load", [rotated_mnist, color_mnist])
def test_no_image_is_in_two_domains_and_the_ends_stay(data, load):
    rows = distinct_rows(600, 5, 100, seed=3)
    assert len(np.unique(np.concatenate(rows))) == 500
    apart, ends = (load(n_given, distinct=True, n_samples=60, seed=1, download=False) for n_given in (3, 0))
    assert len(apart) == 5
    for one, other in ((apart.source, ends.source), (apart.target, ends.target)):
        assert (one.samples == other.samples).all()
    held = load(0, distinct=True, split="heldout", n_samples=60, seed=1, download=False)
    assert (held.source.samples == ends.source.samples).all()
    assert not any((held.target.samples[0] == image).all() for image in ends.target.samples)


def test_a_quarter_of_the_target_s_portraits_is_held_out(data):
    whole = portraits(0, download=False)
    adapt, held = (portraits(0, distinct=True, split=split, seed=1, download=False) for split in ("adapt", "heldout"))
    assert len(adapt.target) + len(held.target) == len(whole.target)
    assert len(held.target) == len(whole.target) // 4
    assert adapt.target.name == held.target.name


def test_every_candidate_is_measured_and_the_choice_is_one_of_them(data):
    cells = frontier_cells("covtype", [0, 1], 60)
    experiment = experiment_of(cells[0])
    results = {cell: experiment.run(cell) for cell in cells}
    for result in results.values():
        ran = {key.removeprefix("transductive_") for key in result if key.startswith("transductive_")}
        assert ran | set(result["failed"]) >= CANDIDATES | {"chosen", "supervised"}
        for side in ("transductive", "heldout"):
            # Members of a committee teach a model of its own.
            assert result["members"] or result[f"{side}_chosen"] == result[f"{side}_{result['choice']}"]
        assert "times as much" in result["isometry"]
    # What does not see the given domains is the same, whatever is given.
    first, second = results.values()
    for name in ("source", "deep-coral", "structure", "supervised"):
        assert first[f"heldout_{name}"] == second[f"heldout_{name}"]
    entries = summarise(make_table(FRONTIER, Options(given=[0, 1], n_samples=60)), _timed(results))
    assert {entry.place.column for entry in entries} >= {"structure", "chosen without labels"}


def test_labels_behind_the_source_change_no_choice_and_no_score(data):
    (cell,) = frontier_cells("covtype", [0], 60)
    plain, shuffled = experiment_of(cell), experiment_of(cell)
    shuffled.sequence(0)
    target = shuffled.sequence(0).target.name
    shuffled._labels[target] = np.random.default_rng(0).permutation(shuffled._labels[target])
    one, two = plain.run(cell), shuffled.run(cell)
    assert one["choice"] == two["choice"]
    assert {key: one[key] for key in one if key.startswith("score_")} == {
        key: two[key] for key in two if key.startswith("score_")
    }
    judged = [name for name in one if name.startswith("transductive_")]
    assert [one[name] for name in judged] != [two[name] for name in judged]


def test_seeds_begin_where_they_are_told():
    table = make_table(FRONTIER, Options(first_seed=100))
    assert {cell.seed for cell in table.cells(5)} == {100, 101, 102, 103, 104}
    many = [cell for cell in table.cells(1) if cell.variant == "many"]
    assert {cell.table for cell in many} == {"rotated-mnist", "rotated-mnist-60", "rotated-mnist-90", "color-mnist"}
    assert all(cell.n_samples == 16_000 for cell in many)


def _timed(results):
    return {cell: {**result, "seconds": 1.0} for cell, result in results.items()}

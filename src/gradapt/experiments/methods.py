"""The columns of the tables: each a function from a bench and a cell to a result."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from gradapt.experiments.bench import Bench
from gradapt.experiments.cells import Cell
from gradapt.experiments.steps import Walk
from gradapt.learners.torch_samples import Between, Stored
from gradapt.seeds import derive_seed

__all__ = ["METHODS", "run_cell"]


def gradual_self_training(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Gradual self-training of the whole network over the given domains."""
    names = bench.names(cell.n_given)
    walk = Walk(bench.trainer("whole", bench.source_model), bench.settings, bench.judge(cell.n_given), _seed(cell))
    for name in names[1:]:
        walk.step(bench.samples(name))
    return walk.result()


def along_geodesics(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Gradual self-training of the head alone, over given and generated domains.

    Without generated domains this is the control with a frozen encoder.
    """
    names = bench.names(cell.n_given)
    encoder = bench.encoder(cell.n_given)
    walk = Walk(bench.trainer("head", encoder.head), bench.settings, bench.judge(cell.n_given, encoder), _seed(cell))
    gaps, same = [], []
    for before, after in pairwise(names):
        end = bench.encoded(encoder, after)
        if cell.n_generated:
            plan = bench.plan(encoder, before, after)
            gaps.append(plan.gap)
            same.append(bench.same_class_mass(plan, before, after))
            start = bench.encoded(encoder, before)
            mass = plan.mass if bench.settings.use_plan_weights and not plan.uniform else None
            for i in range(1, cell.n_generated + 1):
                position = i / (cell.n_generated + 1)
                walk.step(Between(start, end, plan.rows, plan.cols, position), mass)
        walk.step(Stored(end))
    result = walk.result()
    if gaps:
        result |= {"plan_gap": max(gaps), "same_class_mass": sum(same) / len(same)}
    return result


def label_transport(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Source labels carried along the plans; no model is trained."""
    names = bench.names(cell.n_given)
    encoder = bench.encoder(cell.n_given)
    values = torch.nn.functional.one_hot(bench.labels(names[0])).double()
    for before, after in pairwise(names):
        values = bench.plan(encoder, before, after).push(values)
    accuracy = float((values.argmax(1) == bench.labels(names[-1])).double().mean()) * 100
    # Labels arrive at the samples of the plan alone: there is nothing to say about held-out ones.
    result: dict[str, Any] = {}
    for name in ("last", "selected", "label_selected"):
        result[f"transductive_{name}"], result[f"heldout_{name}"] = accuracy, None
    return result


def source_only(bench: Bench, cell: Cell) -> dict[str, Any]:
    """The source model as it is."""
    walk = Walk(bench.trainer("whole", bench.source_model), bench.settings, bench.judge(cell.n_given), _seed(cell))
    return walk.result()


METHODS: dict[str, Callable[[Bench, Cell], dict[str, Any]]] = {
    "source-only": source_only,
    "gst": gradual_self_training,
    "frozen-gst": along_geodesics,
    "goat": along_geodesics,
    "label-transport": label_transport,
}


def run_cell(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Run one cell on a bench."""
    return METHODS[cell.method](bench, cell)


def _seed(cell: Cell) -> int:
    return derive_seed(cell.seed, cell.method, cell.n_given, cell.n_generated)

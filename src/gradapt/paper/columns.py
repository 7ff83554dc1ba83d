"""The columns of the tables: each a function from a bench and a cell to a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from gradapt.choice import CANDIDATES, score_candidates
from gradapt.learners.torch_samples import Between, Stored
from gradapt.paper.baseline_cells import ENTRANTS, align, mix_along_domains
from gradapt.paper.bench import Bench
from gradapt.paper.cells import Cell
from gradapt.paper.coupling import Coupling
from gradapt.paper.steps import Walk, accuracy, cell_seed, single_model

__all__ = ["METHODS", "run_cell"]


def gradual_self_training(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Gradual self-training of the whole network over the given domains."""
    names = bench.names(cell.n_given)
    walk = Walk(bench.trainer("whole", bench.source_model), bench.settings, bench.judge(cell.n_given), cell_seed(cell))
    for name in names[1:]:
        walk.step(bench.samples(name))
    return walk.result()


def along_geodesics(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Gradual self-training of the head alone, over given and generated domains.

    Without generated domains this is the control with a frozen encoder. In the ablations
    the variant names the layer that ends the encoder, or the kind of plan.
    """
    names = bench.names(cell.n_given)
    encoder = bench.encoder(cell.n_given, cell.variant if cell.study == "encoders" else "")
    kind = cell.variant if cell.study == "plans" and cell.variant else "optimal"
    trainer = bench.trainer(f"head {encoder.layer}", encoder.head)
    walk = Walk(trainer, bench.settings, bench.judge(cell.n_given, encoder), cell_seed(cell))
    plans: list[dict[str, float]] = []
    for before, after in pairwise(names):
        end = bench.encoded(encoder, after)
        if cell.n_generated:
            plan = bench.plan(encoder, before, after, kind)
            plans.append(_describe(bench, plan, before, after))
            start = bench.encoded(encoder, before)
            mass = plan.mass if bench.settings.use_plan_weights and not plan.uniform else None
            for i in range(1, cell.n_generated + 1):
                position = i / (cell.n_generated + 1)
                walk.step(Between(start, end, plan.rows, plan.cols, position), mass)
        walk.step(Stored(end))
    result = walk.result()
    for measure, value in _over_plans(plans).items():
        result[measure] = value
    bench.memory["goat", cell.n_given, cell.n_generated, cell.variant] = result, walk.target_shares()
    return result


def _describe(bench: Bench, plan: Coupling, before: str, after: str) -> dict[str, float]:
    found = {"same_class_mass": bench.same_class_mass(plan, before, after), "plan_entries": float(len(plan.rows))}
    if plan.gap is not None:
        found["plan_gap"] = plan.gap
    if plan.lost_mass:
        found["lost_mass"] = plan.lost_mass
    return found


def _over_plans(plans: list[dict[str, float]]) -> dict[str, float]:
    """The largest gap and loss, and the mean of everything else."""
    combine = {"plan_gap": max, "lost_mass": max}
    measures = dict.fromkeys(measure for plan in plans for measure in plan)
    return {
        measure: combine.get(measure, _mean)([plan[measure] for plan in plans if measure in plan])
        for measure in measures
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def label_transport(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Source labels carried along the plans; no model is trained."""
    values = bench.carried_labels(cell.n_given)
    arrived = values.sum(1) > 0
    # Where nothing arrives there is no label, and so no right one.
    guesses = torch.where(arrived, values.argmax(1), -1)
    right = accuracy(guesses, bench.labels(bench.names(cell.n_given)[-1]))
    # Labels arrive at the samples of the plan alone: there is nothing to say about held-out ones.
    return single_model(right, None) | {"labelled_share": float(arrived.double().mean()) * 100}


def nearest_neighbour(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Each target sample takes the label of the nearest source sample, in the space of the input."""
    names = bench.names(cell.n_given)
    source, labels = bench.samples(names[0]).values.flatten(1), bench.labels(names[0])

    def labelled(name: str | None) -> float | None:
        if name is None:
            return None
        guesses = labels[_nearest(bench.samples(name).values.flatten(1), source)]
        return accuracy(guesses, bench.labels(name))

    return single_model(labelled(names[-1]), labelled(bench.heldout))


@torch.no_grad()
def _nearest(queries: Tensor, points: Tensor) -> Tensor:
    """Row number of the nearest point of each query, in blocks of queries."""
    # Squares of what all have in common would cost digits.
    middle = points.mean(0)
    points, queries = points - middle, queries - middle
    norms = points.square().sum(1)
    step = max(1, 2**26 // len(points))
    return torch.cat([(norms - 2.0 * (part @ points.T)).argmin(1) for part in torch.split(queries, step)])


def choose_candidate(bench: Bench, cell: Cell) -> dict[str, Any]:
    """GOAT with the number of generated domains chosen by `gradapt.choice`, beside the best and the worst choice."""
    runs = {}
    for count in CANDIDATES:
        key = ("goat", cell.n_given, count, "")
        if key not in bench.memory:
            along_geodesics(bench, replace(cell, method="goat" if count else "frozen-gst", n_generated=count))
        runs[count] = bench.memory[key]
    carried = bench.carried_labels(cell.n_given)
    scores = score_candidates({count: shares.numpy() for count, (_, shares) in runs.items()}, carried.cpu().numpy())
    results = {count: result for count, (result, _) in runs.items()}
    # Best and worst are found with target labels, to say what the choice was worth.
    ranked = sorted(results, key=lambda count: float(results[count]["transductive_last"]))
    found = {key: value for key, value in results[scores.best].items() if key != "steps"}
    for name, count in (("best", ranked[-1]), ("worst", ranked[0])):
        for side in ("transductive", "heldout"):
            found[f"{side}_{name}"] = results[count][f"{side}_last"]
    accuracies = {str(count): result["transductive_last"] for count, result in results.items()}
    scored = {str(count): value for count, value in scores.values.items()}
    return found | {"chosen": scores.best, "accuracies": accuracies, "scores": scored}


def source_only(bench: Bench, cell: Cell) -> dict[str, Any]:
    """The source model as it is."""
    walk = Walk(bench.trainer("whole", bench.source_model), bench.settings, bench.judge(cell.n_given), cell_seed(cell))
    return walk.result()


METHODS: dict[str, Callable[[Bench, Cell], dict[str, Any]]] = {
    "source-only": source_only,
    "nearest-neighbour": nearest_neighbour,
    "gst": gradual_self_training,
    "frozen-gst": along_geodesics,
    "goat": along_geodesics,
    "goat-auto": choose_candidate,
    "label-transport": label_transport,
    **dict.fromkeys(ENTRANTS, align),
    "covi": mix_along_domains,
}


def run_cell(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Run one cell on a bench."""
    return METHODS[cell.method](bench, cell)

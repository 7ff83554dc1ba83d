"""The rivals as columns of the tables: same network, same source model, same optimiser and epochs as the others."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

from gradapt.adapt.rivals import DANN, CoVi, DeepCoral, DeepJDOT, Rival
from gradapt.experiments.bench import Bench
from gradapt.experiments.cells import Cell
from gradapt.experiments.steps import Walk, cell_seed
from gradapt.learners.torch_samples import Stored, logits

__all__ = ["AT_ENCODER", "RIVALS", "WITH_GIVEN", "align", "mix_along_domains"]

# Every rival with the defaults of its own paper; nothing is tuned on the benchmarks.
RIVALS: dict[str, Rival] = {
    "dann": DANN(),
    "deep-coral": DeepCoral(),
    "deep-jdot": DeepJDOT(),
    # The control of them all: nothing is aligned, only the training on the source goes on for as long.
    "source-longer": DANN(strength=0.0),
}
# Variants: the given domains pooled with the target; features aligned where GOAT's encoder ends.
WITH_GIVEN, AT_ENCODER = "with given", "at encoder"


def align(bench: Bench, cell: Cell, rival: Rival) -> dict[str, Any]:
    """Align source and target in one go, for as many epochs as gradual self-training takes in all."""
    names = bench.names(cell.n_given)
    chosen = bench.settings
    layer = chosen.encoder if cell.variant == AT_ENCODER else chosen.rival_layer
    trainer = bench.paired_trainer(f"{cell.method} {layer}", rival, layer)
    walk = Walk(trainer, chosen, bench.judge(cell.n_given), cell_seed(cell))
    seen = names[1:] if cell.variant == WITH_GIVEN else names[-1:]
    unlabelled = Stored(torch.cat([bench.samples(name).values for name in seen]))
    epochs = chosen.self_training_epochs * (cell.n_given + 1)
    walk.paired_step(bench.samples(names[0]), bench.labels(names[0]), unlabelled, epochs)
    return walk.result()


def mix_along_domains(bench: Bench, cell: Cell) -> dict[str, Any]:
    """CoVi between every two neighbours; behind the source the labels are the model's own."""
    names = bench.names(cell.n_given)
    trainer = bench.paired_trainer(cell.method, CoVi(), bench.settings.rival_layer)
    walk = Walk(trainer, bench.settings, bench.judge(cell.n_given), cell_seed(cell))
    labels = bench.labels(names[0])
    for before, after in pairwise(names):
        if before != names[0]:
            labels = logits(trainer.module, bench.samples(before)).argmax(1)
        walk.paired_step(bench.samples(before), labels, bench.samples(after), bench.settings.self_training_epochs)
    return walk.result()

"""The baselines as rows of the tables: same network, source model and optimiser as the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch

from gradapt.learners.torch_samples import Stored, logits
from gradapt.methods.baselines import DANN, SCORES, Baseline, CoVi, DeepCoral, DeepJDOT, TargetStatistics
from gradapt.networks import INPUT
from gradapt.paper.bench import Bench
from gradapt.paper.cells import Cell
from gradapt.paper.steps import Walk, cell_seed

__all__ = ["COVI_PARTS", "ENTRANTS", "WITH_GIVEN", "Entrant", "align", "mix_along_domains"]

# Variant of a baseline that also sees the given domains, pooled with the target.
WITH_GIVEN = "with given"


@dataclass(frozen=True)
class Entrant:
    """A baseline and the place where it aligns; nothing of it is tuned on the benchmarks.

    Attributes
    ----------
    baseline : Baseline
    place : {"encoder", "hidden", "scores"}
        Where GOAT's encoder ends (for tables, which have none, the last fully connected layer but the
        output); the last hidden layer, normalised; or the scores.
    """

    baseline: Baseline
    place: Literal["encoder", "hidden", "scores"] = "hidden"

    def layer(self, bench: Bench) -> str:
        """The layer of a bench's network."""
        chosen = bench.settings
        if self.place == "scores":
            return SCORES
        if self.place == "hidden":
            return "norm"
        return chosen.last_fully_connected if chosen.encoder == INPUT else chosen.encoder


ENTRANTS: dict[str, Entrant] = {
    # The paper's discriminator for digits stands behind the convolutions.
    "dann": Entrant(DANN(), "encoder"),
    "deep-coral": Entrant(DeepCoral(), "scores"),
    "deep-jdot": Entrant(DeepJDOT()),
    # With the weights of the paper's text labels hardly matter; this one weighs them as the classification loss.
    "deep-jdot-labels": Entrant(DeepJDOT(alpha=0.001, lambda_t=1.0)),
    # Controls: the training on the source goes on for as long; the same with the target in normalisation layers.
    "source-longer": Entrant(DANN(strength=0.0)),
    "target-statistics": Entrant(TargetStatistics()),
}

# CoVi taken apart: by name, what is left of it.
COVI_PARTS: dict[str, CoVi] = {
    "": CoVi(),
    "nothing mixed": CoVi(weight=0.0),
    "mixtures": CoVi(contrast_weight=0.0, consensus_weight=0.0),
    "mixtures and contrast": CoVi(consensus_weight=0.0),
    "mixtures and consensus": CoVi(contrast_weight=0.0),
}


def align(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Align source and target in one go, for as many passes as gradual self-training makes in all.

    A pass is over the larger side, so that these are more steps where given domains are smaller.
    """
    names = bench.names(cell.n_given)
    entrant = ENTRANTS[cell.method]
    trainer = bench.paired_trainer(cell.method, entrant.baseline, entrant.layer(bench))
    walk = Walk(trainer, bench.settings, bench.judge(cell.n_given), cell_seed(cell))
    epochs = bench.settings.self_training_epochs
    if cell.variant == WITH_GIVEN:
        # A pass over the pool is as long as one over every domain of the path.
        seen = names[1:]
    else:
        seen, epochs = names[-1:], epochs * (cell.n_given + 1)
    unlabelled = Stored(torch.cat([bench.samples(name).values for name in seen]))
    walk.paired_step(bench.samples(names[0]), bench.labels(names[0]), unlabelled, epochs)
    return walk.result()


def mix_along_domains(bench: Bench, cell: Cell) -> dict[str, Any]:
    """CoVi, or a part of it, between every two neighbours; behind the source the labels are the model's own."""
    names = bench.names(cell.n_given)
    # CoVi needs no cut.
    trainer = bench.paired_trainer(f"{cell.method} {cell.variant}", COVI_PARTS[cell.variant], SCORES)
    walk = Walk(trainer, bench.settings, bench.judge(cell.n_given), cell_seed(cell))
    labels = bench.labels(names[0])
    for before, after in pairwise(names):
        if before != names[0]:
            labels = logits(trainer.module, bench.samples(before)).argmax(1)
        walk.paired_step(bench.samples(before), labels, bench.samples(after), bench.settings.self_training_epochs)
    return walk.result()

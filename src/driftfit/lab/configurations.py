"""A cell of a table as a configuration of public objects: a classifier and a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch import nn

from driftfit.errors import InputError
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.lab.cells import Cell, Settings
from driftfit.methods import (
    GOAT,
    CarriedLabels,
    GradualSelfTraining,
    Method,
    SelfTraining,
    SourceOnly,
    Transport,
    logit_range,
)
from driftfit.methods.baselines import (
    DANN,
    SCORES,
    Baseline,
    BaselineMethod,
    CoVi,
    DeepCoral,
    DeepJDOT,
    TargetStatistics,
)
from driftfit.methods.pretrained_encoder import PretrainedEncoder
from driftfit.models.networks import INPUT, conv_net, mlp, paper_conv_net, reference_conv_net
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.training import Adam, EarlyStopping
from driftfit.seeds import derive_seed
from driftfit.selection import ChosenGOAT
from driftfit.transport import Exact, OracleCoupling, RandomCoupling, Solver, UniformCoupling

# Variant of a baseline that also sees the given domains, pooled with the target.
WITH_GIVEN = "with given"
# Plans of the ablation that do not look at the costs, from a seed to their solver.
_COUPLINGS: dict[str, Callable[[int], Solver]] = {
    "random": lambda seed: RandomCoupling(seed=seed),
    "uniform": lambda seed: UniformCoupling(seed=seed),
    "oracle": lambda seed: OracleCoupling(),
}


@dataclass(frozen=True)
class Aligned:
    """A baseline and the place where it aligns; nothing of it is tuned on the benchmarks.

    ``place``: where GOAT's encoder ends (for tables, which have none, the last fully connected layer but the output);
    the last hidden layer, normalised; or the scores.
    """

    baseline: Baseline
    place: Literal["encoder", "hidden", "scores"] = "hidden"

    def layer(self, chosen: Settings) -> str:
        """The layer of a network."""
        if self.place == "scores":
            return SCORES
        if self.place == "hidden":
            return "norm"
        return chosen.last_fully_connected if chosen.encoder == INPUT else chosen.encoder


ALIGNED: dict[str, Aligned] = {
    # The paper's discriminator for digits stands behind the convolutions.
    "dann": Aligned(DANN(), "encoder"),
    "deep-coral": Aligned(DeepCoral(), "scores"),
    "deep-jdot": Aligned(DeepJDOT()),
    # With the weights of the paper's text labels hardly matter; this one weighs them as the classification loss.
    "deep-jdot-labels": Aligned(DeepJDOT(alpha=0.001, lambda_t=1.0)),
    # Controls: the training on the source goes on for as long; the same with the target in normalisation layers.
    "source-longer": Aligned(DANN(strength=0.0)),
    "target-statistics": Aligned(TargetStatistics()),
}

# CoVi taken apart: by name, what is left of it.
COVI_PARTS: dict[str, CoVi] = {
    "": CoVi(),
    "nothing mixed": CoVi(weight=0.0),
    "mixtures": CoVi(contrast_weight=0.0, consensus_weight=0.0),
    "mixtures and contrast": CoVi(consensus_weight=0.0),
    "mixtures and consensus": CoVi(contrast_weight=0.0),
}


def estimator_of(cell: Cell, chosen: Settings, device: str = "cpu") -> AdaptedClassifier:
    """The public classifier whose predictions a cell measures: ``estimator_of(...).fit_path(sequence)``."""
    return AdaptedClassifier(
        classifier_of(cell, chosen, device), method=method_of(cell, chosen), random_state=cell.seed
    )


def is_network(cell: Cell) -> bool:
    """Whether the cell trains a network; otherwise its samples stay on the host."""
    return cell.method != "nearest-neighbour"


def classifier_of(cell: Cell, chosen: Settings, device: str = "cpu") -> Any:
    """The classifier of a cell, not fitted."""
    if not is_network(cell):
        # Each target sample takes the label of the nearest source sample, in the space of the input.
        return make_pipeline(FunctionTransformer(_flattened), KNeighborsClassifier(1, algorithm="brute"))
    return TorchClassifier(
        partial(_network, chosen.network),
        encoder=cell.variant if cell.study == "encoders" and cell.variant else chosen.encoder,
        epochs=chosen.source_epochs,
        refit_epochs=chosen.self_training_epochs,
        batch_size=chosen.batch_size,
        optimiser=Adam(chosen.lr, chosen.weight_decay),
        early_stopping=None if chosen.patience is None else EarlyStopping(chosen.patience),
        device=device,
    )


def method_of(cell: Cell, chosen: Settings) -> Method:
    """The method of a cell."""
    if cell.method in ("source-only", "nearest-neighbour"):
        return SourceOnly()
    if cell.method in ALIGNED:
        return _one_off(cell, chosen)
    if cell.method == "covi":
        # Mixtures are made of samples and measured by scores: CoVi needs no cut.
        return BaselineMethod(COVI_PARTS[cell.variant], sequential=True, layer=SCORES)
    gradual = _gradual(chosen)
    if cell.method == "gst":
        return gradual
    transport = _transport(cell)
    frozen: dict[str, Method] = {
        "frozen-gst": _gradual(chosen, freeze_encoder=True),
        "label-transport": CarriedLabels(transport, refit=False),
        "goat": GOAT(cell.n_generated, gradual, transport),
        "goat-auto": ChosenGOAT(GOAT(0, gradual, transport)),
    }
    if cell.method not in frozen:
        raise InputError(f"there is no method {cell.method!r} in the tables")
    method = frozen[cell.method]
    # Nothing in front of the input could be trained.
    if not chosen.pretrain_encoder or chosen.encoder == INPUT:
        return method
    small = partial(_small_network, chosen.encoder)
    return PretrainedEncoder(method, small, gradual)


def _gradual(chosen: Settings, *, freeze_encoder: bool = False) -> GradualSelfTraining:
    step = SelfTraining(
        chosen.drop_fraction, use_weights=None if chosen.use_plan_weights else False, confidence=logit_range
    )
    return GradualSelfTraining(step, freeze_encoder=freeze_encoder, measure_shift=False)


def _one_off(cell: Cell, chosen: Settings) -> BaselineMethod:
    """Align source and target in one go, for as many passes as gradual self-training makes in all.

    A pass is over the larger side, so that these are more steps where given domains are smaller.
    """
    aligned = ALIGNED[cell.method]
    pooled = cell.variant == WITH_GIVEN
    # A pass over the pool is as long as one over every domain of the path.
    epochs = chosen.self_training_epochs * (1 if pooled else cell.n_given + 1)
    return BaselineMethod(aligned.baseline, with_given=pooled, layer=aligned.layer(chosen), epochs=epochs)


def _transport(cell: Cell) -> Transport:
    if cell.study == "plans" and cell.variant in _COUPLINGS:
        solver = _COUPLINGS[cell.variant](derive_seed(cell.seed, cell.variant))
        # There is nothing to prove about a plan that does not look at the costs.
        return Transport(solver, certified=False)
    return Transport(Exact())


def _network(kind: str, sample_shape: tuple[int, ...], n_classes: int) -> nn.Module:
    size = sample_shape[-1]
    if kind == "mlp":
        return mlp(size, n_classes)
    if kind == "reference-cnn":
        return reference_conv_net(size, n_classes)
    if kind == "ablation-cnn":
        return conv_net(size, n_classes, n_conv=4, hidden=(128, 128))
    return paper_conv_net(size, n_classes)


def _small_network(encoder: str, sample_shape: tuple[int, ...], n_classes: int) -> nn.Module:
    """The convolutions up to the encoder's layer, and a small head that is thrown away."""
    n_conv = int(encoder.removeprefix("conv"))
    return conv_net(sample_shape[-1], n_classes, n_conv=n_conv, hidden=(256, 256))


def _flattened(samples: Any) -> Any:
    return np.asarray(samples).reshape(len(samples), -1)

"""A cell of a table as a configuration of public objects: a classifier and a method, by preset."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch import nn

from driftfit.errors import InputError
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.lab.cells import Cell
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


BENCHMARKS = ("rotated-mnist", "color-mnist", "portraits", "covtype")
PRESETS = ("reference", "paper")
# Ablations with settings of their own; the empty name stands for the tables.
FRONTIER = "frontier"
STUDIES = ("", "encoders", "plans", FRONTIER)


@dataclass(frozen=True)
class Settings:
    """Everything about a run that the preset decides, data aside.

    ``network``: ``ablation-cnn`` is the reference network with a fourth convolution. ``encoder``: layer at which the
    network is cut; ``"input"`` for no encoder. ``pretrain_encoder``: self-train encoder and a small head along the
    given domains first, then discard the head and freeze the encoder; otherwise the encoder is that of the source
    model. ``lr`` and ``weight_decay``: of Adam; a new optimiser for each domain. ``patience``: early stopping on a
    tenth of the training data. ``drop_fraction``: share of the least confident pseudo-labels, by largest minus smallest
    logit. ``use_plan_weights``: weigh generated samples in the loss by the mass of the plan. ``tf32``: whether matrix
    products of the networks may use TF32 on a GPU, as torch lets convolutions do; transport never does.
    """

    network: Literal["reference-cnn", "ablation-cnn", "paper-cnn", "mlp"]
    encoder: str
    pretrain_encoder: bool
    source_epochs: int
    self_training_epochs: int
    lr: float = 1e-4
    weight_decay: float = 1e-4
    batch_size: int = 128
    patience: int | None = None
    drop_fraction: float = 0.1
    use_plan_weights: bool = False
    tf32: bool = True

    @property
    def last_fully_connected(self) -> str:
        """Name of the last fully connected layer but the output."""
        return "fc2" if self.network in ("reference-cnn", "ablation-cnn") else "fc3"

    @property
    def of_a_table(self) -> bool:
        """Whether samples are rows of a table, not images."""
        return self.network == "mlp"

    @property
    def digest(self) -> str:
        """Changes whenever a setting does."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]


# Epochs on the source and on each domain behind it.
_REFERENCE_EPOCHS = {"rotated-mnist": (5, 5), "color-mnist": (20, 10), "portraits": (20, 5), "covtype": (5, 5)}
_ABLATION_EPOCHS, _FRONTIER_EPOCHS = (20, 10), (20, 5)


def settings(table: str, preset: str = "reference", study: str = "") -> Settings:
    """The settings of a benchmark at a preset, for the tables or for an ablation.

    >>> settings("portraits").source_epochs, settings("portraits", "paper").encoder
    (20, 'conv2')
    >>> settings("rotated-mnist", study="encoders").network
    'ablation-cnn'
    """
    table = next((known for known in BENCHMARKS if table.startswith(f"{known}-")), table)
    if table not in BENCHMARKS:
        raise InputError(f"there is no benchmark {table!r}; choose one of {', '.join(BENCHMARKS)}")
    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    if study not in STUDIES:
        raise InputError(f"study must be one of {', '.join(map(repr, STUDIES))}, got {study!r}")
    chosen = _reference(table) if preset == "reference" else _paper(table)
    if study and preset == "reference":
        source_epochs, epochs = _FRONTIER_EPOCHS if study == FRONTIER else _ABLATION_EPOCHS
        chosen = replace(chosen, source_epochs=source_epochs, self_training_epochs=epochs)
    if study == "encoders" and chosen.network == "reference-cnn":
        chosen = replace(chosen, network="ablation-cnn")
    return chosen


def _reference(table: str) -> Settings:
    if table == "covtype":
        return Settings("mlp", "input", False, *_REFERENCE_EPOCHS[table])
    return Settings("reference-cnn", "conv3", False, *_REFERENCE_EPOCHS[table])


def _paper(table: str) -> Settings:
    images = table != "covtype"
    return Settings(
        network="paper-cnn" if images else "mlp",
        encoder="conv2" if images else "input",
        pretrain_encoder=images,
        source_epochs=_REFERENCE_EPOCHS[table][0],
        self_training_epochs=10,
        # The text names one batch size, for its auto-encoder.
        batch_size=512,
        patience=2,
        use_plan_weights=True,
    )

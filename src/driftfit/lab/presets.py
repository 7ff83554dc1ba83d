"""The two readings of the paper as executable settings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

from driftfit.errors import InputError

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

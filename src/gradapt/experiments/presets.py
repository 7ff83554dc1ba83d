"""The two readings of the paper as executable settings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from gradapt.errors import InputError

__all__ = ["PRESETS", "TABLES", "Settings", "settings"]

TABLES = ("rotated-mnist", "color-mnist", "portraits", "covtype")
PRESETS = ("reference", "paper")


@dataclass(frozen=True)
class Settings:
    """Everything about a run that the preset decides, data aside.

    Attributes
    ----------
    network : {"reference-cnn", "paper-cnn", "mlp"}
    encoder : str
        Layer at which the network is cut; ``"input"`` for no encoder.
    pretrain_encoder : bool
        Self-train encoder and a small head along the given domains first, then discard the
        head and freeze the encoder; otherwise the encoder is that of the source model.
    source_epochs, self_training_epochs : int
    lr, weight_decay : float
        Of Adam; a new optimiser for each domain.
    batch_size : int
    patience : int or None
        Early stopping on a tenth of the training data.
    drop_fraction : float
        Share of the least confident pseudo-labels, by largest minus smallest logit.
    use_plan_weights : bool
        Weigh generated samples in the loss by the mass of the plan.
    tf32 : bool
        Whether matrix products of the training may use TF32 on a GPU; transport never does.
    """

    network: Literal["reference-cnn", "paper-cnn", "mlp"]
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
    tf32: bool = False

    @property
    def digest(self) -> str:
        """Changes whenever a setting does."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]


# Epochs on the source and on each domain behind it.
_REFERENCE_EPOCHS = {"rotated-mnist": (5, 5), "color-mnist": (20, 10), "portraits": (20, 5), "covtype": (5, 5)}


def settings(table: str, preset: str = "reference") -> Settings:
    """The settings of a table at a preset.

    >>> settings("portraits").source_epochs, settings("portraits", "paper").encoder
    (20, 'conv2')
    """
    if table not in TABLES:
        raise InputError(f"there is no table {table!r}; choose one of {', '.join(TABLES)}")
    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    source_epochs, epochs = _REFERENCE_EPOCHS[table]
    images = table != "covtype"
    if preset == "reference":
        if images:
            return Settings("reference-cnn", "conv3", False, source_epochs, epochs)
        return Settings("mlp", "input", False, source_epochs, epochs)
    return Settings(
        network="paper-cnn" if images else "mlp",
        encoder="conv2" if images else "input",
        pretrain_encoder=images,
        source_epochs=source_epochs,
        self_training_epochs=10,
        # The text names one batch size, for its auto-encoder.
        batch_size=512,
        patience=2,
        use_plan_weights=True,
        tf32=True,
    )

"""What is measured of the VAE, its plans and its images; labels serve the diagnosis alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from driftfit.errors import InputError
from driftfit.lab.vae_paths import TARGET_ANGLE, Data, ImagePath
from driftfit.models.networks import ConvVAE, conv_net
from driftfit.models.torch.samples import Stored, logits
from driftfit.models.torch.training import Adam, Recipe, Trainer, seeded
from driftfit.seeds import derive_seed
from driftfit.transport import Plan

__all__ = ["VAESettings", "measure_paths", "pixel_error", "plan_numbers"]

# Generated images whose distances to all real ones are held at a time.
_PART = 2048


@dataclass(frozen=True)
class VAESettings:
    """Everything about a run but the data: Adam and the batch size are the paper's.

    Attributes
    ----------
    epochs : int
        The paper names none. With so small a learning rate the loss still sinks after thousands of steps;
        300 epochs are 12,000 steps on the full data.
    n_generated : int
        Generated domains between source and target.
    batch_size : int
        The paper's is 512; with few images on a CPU a smaller one makes more steps of the same time.
    lr : float
    classifier_epochs, classifier_batch_size : int
    classifier_lr : float
        Of the classifiers of real digits that look at generated images, one for each angle.
    """

    epochs: int = 300
    n_generated: int = 4
    batch_size: int = 512
    lr: float = 1e-4
    classifier_epochs: int = 10
    classifier_batch_size: int = 128
    classifier_lr: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("epochs", "n_generated", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    @property
    def positions(self) -> list[float]:
        """Positions of all domains, source and target included."""
        return [i / (self.n_generated + 1) for i in range(self.n_generated + 2)]


def plan_numbers(plan: Plan, labels: Tensor) -> dict[str, float | None]:
    """How much of a plan joins images of one class, and the same image."""
    codes = labels.cpu().numpy()
    return {
        "same_class_percent": float(plan.mass[codes[plan.rows] == codes[plan.cols]].sum()) * 100,
        "same_image_percent": float(plan.mass[plan.rows == plan.cols].sum()) * 100,
        "gap": None if plan.certificate is None else plan.certificate.gap,
    }


def pixel_error(vae: ConvVAE, images: Tensor) -> float:
    """Root mean square error of a pixel after encoding and decoding."""
    return float((vae.images(vae.latents(images)) - images).square().mean().sqrt())


def measure_paths(
    paths: dict[str, ImagePath], data: Data, seed: int, chosen: VAESettings, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """How near images at each position are to real digits of that angle; labels serve the diagnosis alone."""
    rows = []
    angles = torch.tensor([p * TARGET_ANGLE for p in chosen.positions], device=data.labels.device)
    for number, position in enumerate(chosen.positions):
        classifier = _digit_classifier(
            data.heldout[number], data.heldout_labels, derive_seed(seed, "judge", number), chosen
        )
        for name, path in paths.items():
            images, mass = path.images[number], path.mass
            distances = _nearest(images, data.heldout)
            found = angles[distances.argmin(1)]
            chances = logits(classifier, Stored(images)).softmax(1)
            top = chances.max(1)
            own = (images - data.own[number][path.rows]).flatten(1).norm(dim=1)
            values = {
                "nearest": distances[:, number],
                "own": own,
                "angle": found,
                "angle_error": (found - angles[number]).abs(),
                "classifier_accuracy": (top.indices == data.labels[path.rows]) * 100.0,
                "classifier_confidence": top.values * 100.0,
            }
            means = {key: float((value.double() * mass).sum()) for key, value in values.items()}
            rows.append({"images": name, "position": position, "true_angle": float(angles[number]), **means})
        tell(f"position {position:.2f} measured")
    return rows


def _nearest(images: Tensor, references: list[Tensor]) -> Tensor:
    """Distance of each image (row) to the nearest of each set of real ones (column)."""
    parts = torch.split(images.flatten(1), _PART)
    return torch.stack([torch.cat([torch.cdist(x, real.flatten(1)).amin(1) for x in parts]) for real in references], 1)


def _digit_classifier(images: Tensor, labels: Tensor, seed: int, chosen: VAESettings) -> torch.nn.Module:
    """A classifier of real digits of one angle, none of which is on a path."""
    with seeded(seed, torch.device("cpu")):
        module = conv_net(images.shape[-1], 10, n_conv=2, hidden=(128,), width=16, in_channels=images.shape[1])
    recipe = Recipe(chosen.classifier_epochs, chosen.classifier_batch_size, Adam(lr=chosen.classifier_lr))
    trainer = Trainer(module.to(images.device), recipe)
    trainer.train(Stored(images), torch.arange(len(images), device=images.device), labels, seed=seed)
    return trainer.module

"""Digits at every angle, and images along plans between the first and the last angle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradapt.datasets import rotated_mnist
from gradapt.datasets.common import Preset
from gradapt.domains import Domain
from gradapt.learners.torch_samples import Between
from gradapt.networks import ConvVAE
from gradapt.paper.coupling import Coupling, couple, couple_without_cost

__all__ = [
    "INPUT_OT",
    "INPUT_TRUE",
    "LATENT_OT",
    "LATENT_TRUE",
    "REAL",
    "REAL_DECODED",
    "TARGET_ANGLE",
    "Data",
    "ImagePath",
    "load_digits",
    "make_paths",
]

TARGET_ANGLE = 45.0

# What each row of numbers is about; the last two are what the others are to be compared with.
INPUT_OT = "input space, optimal plan"
LATENT_OT = "latent space, optimal plan"
INPUT_TRUE = "input space, true pairs"
LATENT_TRUE = "latent space, true pairs"
REAL = "real rotation"
REAL_DECODED = "real rotation, through the VAE"


@dataclass(frozen=True, eq=False)
class Data:
    """Own images at every angle, source first and target last, and real images that no path is made of."""

    own: list[Tensor]
    labels: Tensor
    heldout: list[Tensor]
    heldout_labels: Tensor


@dataclass(frozen=True, eq=False)
class ImagePath:
    """Images at every position, the source row of each image, and its mass."""

    images: list[Tensor]
    rows: Tensor
    mass: Tensor


def load_digits(preset: Preset, seed: int, n_samples: int | None, positions: list[float], device: torch.device) -> Data:
    """The same digits at every angle, in the same order, and other digits at every angle."""
    own: list[Domain] = []
    heldout: list[Domain] = []
    for position in positions:
        angle = position * TARGET_ANGLE
        shared: dict[str, Any] = {"preset": preset, "seed": seed, "n_samples": n_samples, "target_angle": angle}
        own.append(rotated_mnist(0, **shared).target)
        heldout.append(rotated_mnist(0, split="heldout", **shared).target)
    images = [[torch.from_numpy(np.ascontiguousarray(d.samples)).to(device) for d in kept] for kept in (own, heldout)]
    labels = [torch.as_tensor(np.array(kept[0].labels), device=device) for kept in (own, heldout)]
    return Data(images[0], labels[0], images[1], labels[1])


def make_paths(data: Data, vae: ConvVAE, positions: list[float]) -> tuple[dict[str, Coupling], dict[str, ImagePath]]:
    """Plans by name, and images along them and along the real rotation."""
    pixels = [data.own[0], data.own[-1]]
    latents = [vae.latents(images) for images in pixels]
    plans = {INPUT_OT: couple(*(x.flatten(1) for x in pixels)), LATENT_OT: couple(*latents)}
    # Each image with its own rotation, as no method can know it.
    n = len(pixels[0])
    true = couple_without_cost("oracle", n, n, pixels[0].device)
    paths = {
        INPUT_OT: _path(plans[INPUT_OT], pixels, positions),
        LATENT_OT: _path(plans[LATENT_OT], latents, positions, vae),
        INPUT_TRUE: _path(true, pixels, positions),
        LATENT_TRUE: _path(true, latents, positions, vae),
        REAL: ImagePath(data.own, true.rows, true.mass),
        REAL_DECODED: ImagePath([vae.images(vae.latents(images)) for images in data.own], true.rows, true.mass),
    }
    return plans, paths


def _path(plan: Coupling, ends: list[Tensor], positions: list[float], vae: ConvVAE | None = None) -> ImagePath:
    """Images on the straight lines of a plan, decoded where the lines lie in a latent space."""
    entries = torch.arange(len(plan.rows), device=plan.rows.device)
    points = [Between(ends[0], ends[1], plan.rows, plan.cols, position).take(entries) for position in positions]
    return ImagePath([x if vae is None else vae.images(x) for x in points], plan.rows, plan.mass)

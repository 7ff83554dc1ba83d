"""Digits at every angle, and images along plans between the first and the last angle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from driftfit.datasets import rotated_mnist
from driftfit.datasets.common import Preset
from driftfit.domains import Domain, Interpolated
from driftfit.models.networks import ConvVAE
from driftfit.transport import Exact, OracleCoupling, Plan, Problem, solve, transport

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
    "true_pairs",
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


def make_paths(data: Data, vae: ConvVAE, positions: list[float]) -> tuple[dict[str, Plan], dict[str, ImagePath]]:
    """Plans by name, and images along them and along the real rotation."""
    pixels = [data.own[0], data.own[-1]]
    latents = [vae.latents(images) for images in pixels]
    plans = {
        INPUT_OT: transport(pixels[0].flatten(1), pixels[1].flatten(1), solver=Exact()),
        LATENT_OT: transport(latents[0], latents[1], solver=Exact()),
    }
    # Each image with its own rotation, as no method can know it.
    true = true_pairs(len(pixels[0]))
    paths = {
        INPUT_OT: _path(plans[INPUT_OT], pixels, positions),
        LATENT_OT: _path(plans[LATENT_OT], latents, positions, vae),
        INPUT_TRUE: _path(true, pixels, positions),
        LATENT_TRUE: _path(true, latents, positions, vae),
        REAL: _image_path(data.own, true),
        REAL_DECODED: _image_path([vae.images(vae.latents(images)) for images in data.own], true),
    }
    return plans, paths


def true_pairs(n: int) -> Plan:
    """Row i with row i: the same objects in the same order.

    >>> true_pairs(2).cols.tolist()
    [0, 1]
    """
    # The costs are not looked at, so the samples are left out.
    return solve(Problem.of([[0.0]] * n, [[0.0]] * n), OracleCoupling(), certified=False)


def _path(plan: Plan, ends: list[Tensor], positions: list[float], vae: ConvVAE | None = None) -> ImagePath:
    """Images on the straight lines of a plan, decoded where the lines lie in a latent space."""
    points = [Interpolated.of(ends[0], ends[1], plan.rows, plan.cols, position).whole() for position in positions]
    return _image_path([x if vae is None else vae.images(x) for x in points], plan)


def _image_path(images: list[Tensor], plan: Plan) -> ImagePath:
    device = images[0].device
    return ImagePath(images, torch.from_numpy(plan.rows).to(device), torch.from_numpy(plan.mass).to(device))

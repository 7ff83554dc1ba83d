"""Rotated MNIST: the same images, turned further in every domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.common import (
    Preset,
    Split,
    check_count,
    check_words,
    distinct_rows,
    image_domain,
    limit_domains,
    positions,
)
from driftfit.datasets.mnist import mnist
from driftfit.datasets.rotation import rotate
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError

__all__ = ["angles", "rotated_mnist"]

# The text of the paper speaks of 50,000 images; MNIST holds 60,000 for training.
_PAPER_IMAGES = 50_000
_HELDOUT_IMAGES = 10_000


def rotated_mnist(
    n_given: int = 2,
    *,
    preset: Preset = "reference",
    seed: int = 0,
    split: Split = "adapt",
    target_angle: float = 45.0,
    distinct: bool = False,
    n_samples: int | None = None,
    download: bool = True,
) -> DomainSequence:
    """MNIST upright as the source, turned by ``target_angle`` as the target.

    Parameters
    ----------
    n_given : int
        Domains between source and target.
    preset : {"reference", "paper"}
        ``reference``: the 10,000 test images, whole angles. ``paper``: 50,000 training
        images, evenly spaced angles.
    seed : int
        Draws the images of a small version; the full data do not depend on it.
    split : {"adapt", "heldout"}
        ``heldout``: the target made of images that ``adapt`` does not hold.
    target_angle : float
        In degrees, counter-clockwise.
    distinct : bool
        Training images of its own for each domain, drawn by the seed, so that no image is there twice; held-out
        ones are test images. Otherwise the same images are in all domains.
    n_samples : int, optional
        At most this many images in each domain.
    download : bool
    """
    check_words(preset, split)
    check_count(n_given, 90)
    if not np.isfinite(target_angle):
        raise InputError(f"target_angle must be a number of degrees, got {target_angle!r}")
    if distinct:
        return _distinct(angles(n_given, target_angle, preset), split, n_samples, seed, download)
    own = mnist("test" if preset == "reference" else "train", download=download)
    if preset == "paper":
        own = own[0][:_PAPER_IMAGES], own[1][:_PAPER_IMAGES]
    if split == "heldout":
        other = mnist("train" if preset == "reference" else "test", download=download)
        other = other[0][:_HELDOUT_IMAGES], other[1][:_HELDOUT_IMAGES]
        domains = [_turned(*own, 0.0), _turned(*other, target_angle)]
    else:
        domains = [_turned(*own, angle) for angle in angles(n_given, target_angle, preset)]
    return limit_domains(DomainSequence(domains), n_samples, seed)


def _distinct(turns: list[float], split: Split, n_samples: int | None, seed: int, download: bool) -> DomainSequence:
    images, labels = mnist("train", download=download)
    rows = distinct_rows(len(images), len(turns), n_samples, seed)
    domains = [_turned(images[own], labels[own], angle) for own, angle in zip(rows, turns, strict=True)]
    if split == "heldout":
        domains = [domains[0], _turned(*mnist("test", download=download), turns[-1])]
    return limit_domains(DomainSequence(domains), n_samples, seed)


def angles(n_given: int, target_angle: float = 45.0, preset: Preset = "reference") -> list[float]:
    """Angles of all domains, source and target included.

    >>> angles(2), angles(1, preset="paper")
    ([0.0, 15.0, 30.0, 45.0], [0.0, 22.5, 45.0])
    """
    if preset == "reference":
        between = [float(i * target_angle // (n_given + 1)) for i in range(1, n_given + 1)]
    else:
        between = [position * target_angle for position in positions(n_given)]
    return [0.0, *between, float(target_angle)]


def _turned(images: NDArray[np.uint8], labels: NDArray[np.int64], angle: float) -> Domain:
    return image_domain(images if angle == 0 else rotate(images, angle), labels, f"{angle:g} degrees")

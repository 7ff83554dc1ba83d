"""Color-Shift MNIST: every pixel is brighter by the same amount in every domain."""

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
from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.seeds import derive_seed

__all__ = ["color_mnist", "shifts"]

# The reference cut: 6,000 source images, 20 shifts with 2,100 images each, 2,000 target images.
_SOURCE, _BLOCK, _BLOCKS, _TARGET = 6_000, 2_100, 20, 2_000
_NEEDED = _SOURCE + _BLOCK * _BLOCKS + _TARGET
_PAPER_IMAGES = 50_000
_HELDOUT_IMAGES = 10_000


def color_mnist(
    n_given: int = 2,
    *,
    preset: Preset = "reference",
    seed: int = 0,
    split: Split = "adapt",
    distinct: bool = False,
    n_samples: int | None = None,
    download: bool = True,
) -> DomainSequence:
    """MNIST with pixels in [0, 1] as the source, in [1, 2] as the target.

    Parameters
    ----------
    n_given : int
        Domains between source and target.
    preset : {"reference", "paper"}
        ``reference``: different images in every domain: 6,000 in the source, 2,100 in each
        given domain, 2,000 in the target. ``paper``: the same 50,000 images everywhere.
    seed : int
        Decides which image goes where.
    split : {"adapt", "heldout"}
    distinct : bool
        Training images of its own for each domain, as many as for the others; held-out ones are test images.
    n_samples : int, optional
        At most this many images in each domain.
    download : bool
    """
    check_words(preset, split)
    check_count(n_given, _BLOCKS - 1)
    images, labels = mnist("train", download=download)
    if len(images) < 20:
        raise InputError(f"Color-Shift MNIST needs at least 20 training images, found {len(images)}")
    if distinct:
        return _distinct(n_given, split, n_samples, seed, download)
    if preset == "paper":
        parts = _same_images(len(images), n_given, split)
    else:
        order = np.random.default_rng(derive_seed(seed, "color-mnist")).permutation(len(images))
        parts = _different_images(order, n_given, split)
    domains = [image_domain(images[rows], labels[rows], f"shift {shift:g}", shift) for rows, shift in parts]
    return limit_domains(DomainSequence(domains), n_samples, seed)


def _distinct(n_given: int, split: Split, n_samples: int | None, seed: int, download: bool) -> DomainSequence:
    images, labels = mnist("train", download=download)
    parts = distinct_rows(len(images), n_given + 2, n_samples, seed)
    domains = [
        image_domain(images[rows], labels[rows], f"shift {shift:g}", shift)
        for rows, shift in zip(parts, (0.0, *shifts(n_given), 1.0), strict=True)
    ]
    if split == "heldout":
        domains = [domains[0], image_domain(*mnist("test", download=download), "shift 1", 1.0)]
    return limit_domains(DomainSequence(domains), n_samples, seed)


def _same_images(n_images: int, n_given: int, split: Split) -> list[tuple[NDArray[np.int64], float]]:
    """Rows and shift of each domain of the text: the same images in all of them."""
    n_used = min(_PAPER_IMAGES, n_images * _PAPER_IMAGES // 60_000)
    used, rest = np.arange(n_used), np.arange(n_used, n_images)
    if split == "heldout":
        return [(used, 0.0), (rest[:_HELDOUT_IMAGES], 1.0)]
    return [(used, shift) for shift in (0.0, *shifts(n_given, "paper"), 1.0)]


def _different_images(order: NDArray[np.int64], n_given: int, split: Split) -> list[tuple[NDArray[np.int64], float]]:
    """Rows and shift of each domain of the reference: every image is in one domain alone."""
    # A made-up MNIST with fewer images keeps the proportions.
    share = min(1.0, len(order) / 60_000)
    source, block, target = (max(2, int(size * share)) for size in (_SOURCE, _BLOCK, _TARGET))
    last = source + block * _BLOCKS
    first = (order[:source], 0.0)
    if split == "heldout":
        return [first, (order[last + target :][:_HELDOUT_IMAGES], 1.0)]
    between = [(order[source + block * (round(s * _BLOCKS) - 1) :][:block], s) for s in shifts(n_given)]
    return [first, *between, (order[last : last + target], 1.0)]


def shifts(n_given: int, preset: Preset = "reference") -> list[float]:
    """Shifts of the given domains.

    >>> shifts(2), shifts(3, "paper")
    ([0.35, 0.65], [0.25, 0.5, 0.75])
    """
    if preset == "paper":
        return positions(n_given)
    step = _BLOCKS // (n_given + 1)
    return [(i * step + 1) / _BLOCKS for i in range(1, n_given + 1)]

"""What the benchmark loaders share: presets, splits, given positions and small versions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.seeds import derive_seed

__all__ = ["Preset", "Split", "check_count", "check_words", "image_domain", "limit_domains", "positions"]

# Images of a domain where each has its own.
_DISTINCT = 10_000

Preset = Literal["reference", "paper"]
# "adapt": source, given domains and the target that a method adapts to; "heldout": the same
# source and fresh samples of the target that no method sees.
Split = Literal["adapt", "heldout"]


def check_words(preset: str, split: str) -> None:
    """Raise unless both words are known."""
    if preset not in ("reference", "paper"):
        raise InputError(f"preset must be 'reference' or 'paper', got {preset!r}")
    if split not in ("adapt", "heldout"):
        raise InputError(f"split must be 'adapt' or 'heldout', got {split!r}")


def check_count(n_given: int, most: int) -> None:
    """Raise unless the number of given domains can be cut."""
    if not 0 <= n_given <= most:
        raise InputError(f"n_given must lie between 0 and {most}, got {n_given!r}")


def positions(n_given: int) -> list[float]:
    """Evenly spaced positions strictly between 0 and 1.

    >>> positions(3)
    [0.25, 0.5, 0.75]
    """
    return [i / (n_given + 1) for i in range(1, n_given + 1)]


def image_domain(images: NDArray[Any], labels: NDArray[np.int64], name: str, shift: float = 0.0) -> Domain:
    """Byte images as float32 of shape (n, 1, height, width) with values ``pixel / 255 + shift``."""
    samples = images[:, None].astype(np.float32) / np.float32(255)
    return Domain(samples + np.float32(shift) if shift else samples, labels=labels, name=name)


def distinct_rows(n_images: int, n_domains: int, n_samples: int | None, seed: int) -> list[NDArray[np.int64]]:
    """Numbers of images for each domain, no image in two of them; at most 10,000 each unless more are asked for.

    Source and target are the same whatever is given between them, while there are images enough.

    >>> [len(rows) for rows in distinct_rows(60_000, 2, None, 0)], len(distinct_rows(60_000, 6, 16_000, 0)[0])
    ([10000, 10000], 10000)
    """
    size = min(n_samples or _DISTINCT, n_images // n_domains)
    order = np.random.default_rng(derive_seed(seed, "distinct")).permutation(n_images)
    blocks = [order[number * size : (number + 1) * size] for number in range(n_domains)]
    return [blocks[0], *blocks[2:], blocks[1]]


def limit_domains(sequence: DomainSequence, n_samples: int | None, seed: int) -> DomainSequence:
    """Every domain reduced to ``n_samples``, for small trials; the draw depends on the seed alone.

    Domains of one size are thinned alike, so that pairs of samples stay together.
    """
    if n_samples is None:
        return sequence
    if n_samples < 2:
        raise InputError(f"n_samples must be at least 2, got {n_samples!r}")
    return DomainSequence([domain.subsample(n_samples, derive_seed(seed, "limit", len(domain))) for domain in sequence])

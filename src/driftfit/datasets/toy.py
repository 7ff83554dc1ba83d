"""Small data that need no download: rotated digits, rotating moons, moving Gaussians, a drifting table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.seeds import derive_seed

__all__ = ["drifting_events", "moving_gaussians", "rotated_digits", "rotating_moons"]

# The digits fill their 8 x 8 frame; a margin keeps their corners inside when they turn.
DIGIT_MARGIN = 2
DIGIT_SHAPE = (8 + 2 * DIGIT_MARGIN, 8 + 2 * DIGIT_MARGIN)
_HELD_OUT = 0.5


def rotated_digits(angles: Sequence[float] = (0, 20, 40, 60), *, split: str = "train", seed: int = 0) -> DomainSequence:
    """scikit-learn's bundled 8 x 8 digits, the same images turned by each of the angles.

    Row ``i`` shows the same image in every domain, so the true pairing is known.

    Parameters
    ----------
    angles : sequence of float
        Degrees, from source to target.
    split : {"train", "held_out"}
        One half of the images, or the other.

    >>> rotated_digits((0, 45), split="held_out")
    DomainSequence([Domain('0', 898 x 144, labelled), Domain('45', 898 x 144, labelled)])
    """
    from scipy.ndimage import rotate
    from sklearn.datasets import load_digits

    digits = load_digits()
    rows = _split_rows(len(digits.images), split, seed)
    images = np.pad(digits.images[rows] / 16.0, ((0, 0), (DIGIT_MARGIN,) * 2, (DIGIT_MARGIN,) * 2))
    labels = digits.target[rows]
    return DomainSequence(
        Domain(
            rotate(images, angle, axes=(1, 2), reshape=False, order=1).reshape(len(images), -1),
            labels=labels,
            name=f"{angle:g}",
        )
        for angle in angles
    )


def rotating_moons(
    angles: Sequence[float] = (0, 30, 60, 90), *, n_samples: int = 400, split: str = "train", seed: int = 0
) -> DomainSequence:
    """Two interleaved half circles that turn about the origin; fresh points in every domain."""
    from sklearn.datasets import make_moons

    domains = []
    for number, angle in enumerate(angles):
        points, labels = make_moons(n_samples, noise=0.1, random_state=derive_seed(seed, split, "moons", number))
        turn = np.deg2rad(angle)
        rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        domains.append(Domain((points - [0.5, 0.25]) @ rotation, labels=labels, name=f"{angle:g}"))
    return DomainSequence(domains)


def moving_gaussians(
    shifts: Sequence[float] = (0, 1, 2, 3),
    *,
    n_samples: int = 400,
    n_features: int = 2,
    split: str = "train",
    seed: int = 0,
) -> DomainSequence:
    """Two unit Gaussians, three apart along the first axis, that move along it; fresh points in every domain."""
    domains = []
    for number, shift in enumerate(shifts):
        rng = np.random.default_rng(derive_seed(seed, split, "gaussians", number))
        labels = rng.permutation(np.arange(n_samples) % 2)
        points = 0.5 * rng.standard_normal((n_samples, n_features))
        points[:, 0] += 3.0 * labels + shift
        domains.append(Domain(points, labels=labels, name=f"{shift:g}"))
    return DomainSequence(domains)


def drifting_events(n_rows: int = 3000, *, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Columns of a made-up table of customers: who leaves, in a year in which prices rise and more people call.

    ``bill`` and ``calls`` are higher for those who leave, and both move with ``month``; ``minutes`` and ``plan`` do
    not move. ``churned`` is known for every row: a table of your own would have it for the first months alone.

    Parameters
    ----------
    seed : int

    >>> events = drifting_events(4)
    >>> [str(value) for value in events["month"]], sorted(events)
    (['2025-01', '2025-04', '2025-07', '2025-10'], ['bill', 'calls', 'churned', 'minutes', 'month', 'plan'])
    """
    if n_rows < 1:
        raise InputError(f"n_rows must be at least 1, got {n_rows!r}")
    rng = np.random.default_rng(derive_seed(seed, "events"))
    passed = np.arange(n_rows) / n_rows
    leaves = rng.random(n_rows) < 0.3
    bill = (rng.normal(40, 6, n_rows) + 14 * leaves) * (1 + 0.4 * passed)
    return {
        "month": np.array([f"2025-{1 + int(12 * share):02d}" for share in passed]),
        "bill": bill.round(2),
        "calls": rng.poisson(1.5 + 2.5 * leaves + passed),
        "minutes": rng.normal(300, 60, n_rows).round(),
        "plan": np.where(rng.random(n_rows) < 0.6, "basic", "plus"),
        "churned": np.where(leaves, "yes", "no"),
    }


def _split_rows(n: int, split: str, seed: int) -> NDArray[np.int64]:
    order = np.random.default_rng(derive_seed(seed, "split")).permutation(n)
    n_held_out = round(n * _HELD_OUT)
    parts = {"train": order[n_held_out:], "held_out": order[:n_held_out]}
    if split not in parts:
        raise InputError(f"split must be 'train' or 'held_out', got {split!r}")
    return np.asarray(parts[split])

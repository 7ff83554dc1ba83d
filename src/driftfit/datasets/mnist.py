"""MNIST from its original files, and its two benchmarks: turned further, or brighter, in every domain."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.common import (
    DataFile,
    Preset,
    Split,
    check_count,
    check_words,
    distinct_rows,
    image_domain,
    limit_domains,
    positions,
    read_bytes,
    stamp,
)
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.seeds import derive_seed

Part = Literal["train", "test"]
_ADDRESS = "https://ossci-datasets.s3.amazonaws.com/mnist/"
# The text of the paper speaks of 50,000 images; MNIST holds 60,000 for training.
_PAPER_IMAGES = 50_000
_HELDOUT_IMAGES = 10_000
# The reference cut: 6,000 source images, 20 shifts with 2,100 images each, 2,000 target images.
_SOURCE, _BLOCK, _BLOCKS, _TARGET = 6_000, 2_100, 20, 2_000


def _file(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(f"mnist/{name}", sha256, size, url=_ADDRESS + name)


FILES: dict[str, DataFile] = {
    "train-images": _file(
        "train-images-idx3-ubyte.gz", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", 47_040_016
    ),
    "train-labels": _file(
        "train-labels-idx1-ubyte.gz", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", 60_008
    ),
    "test-images": _file(
        "t10k-images-idx3-ubyte.gz", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", 7_840_016
    ),
    "test-labels": _file(
        "t10k-labels-idx1-ubyte.gz", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", 10_008
    ),
}


def mnist(part: Part = "train", *, download: bool = True) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images of shape (n, 28, 28) and labels 0-9."""
    if part not in ("train", "test"):
        raise InputError(f"part must be 'train' or 'test', got {part!r}")
    files = FILES[f"{part}-images"], FILES[f"{part}-labels"]
    return _read(part, stamp(*files), download)


@lru_cache(maxsize=2)
def _read(
    part: Part, _stamp: tuple[tuple[str, int, int], ...], download: bool
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    # Files are read and checked once for each state they are in; the arrays are read-only.
    images = read_idx(read_bytes(FILES[f"{part}-images"], download=download))
    labels = read_idx(read_bytes(FILES[f"{part}-labels"], download=download)).astype(np.int64)
    labels.flags.writeable = False
    if images.ndim != 3 or len(images) != len(labels):
        raise InputError(f"the MNIST files do not belong together: images {images.shape}, labels {labels.shape}")
    return images, labels


def read_idx(content: bytes) -> NDArray[np.uint8]:
    """Decode an idx file of unsigned bytes.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])).tolist()
    [7, 9]
    """
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise InputError(f"not an idx file of bytes: it begins with {content[:4].hex(' ')!r}; fetch it again")
    n_axes = content[3]
    start = 4 + 4 * n_axes
    if len(content) < start:
        raise InputError(f"an idx file ends within its header ({len(content)} bytes); fetch it again")
    shape = struct.unpack(f">{n_axes}I", content[4:start])
    expected = int(np.prod(shape))
    if len(content) - start != expected:
        raise InputError(f"an idx file of shape {shape} holds {len(content) - start} values, not {expected}; re-fetch")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


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

    ``preset``: ``reference``: the 10,000 test images, whole angles. ``paper``: 50,000 training images, evenly spaced
    angles. ``target_angle``: in degrees, counter-clockwise. ``distinct``: training images of its own for each domain,
    drawn by the seed, so that no image is there twice; held-out ones are test images. Otherwise the same images are in
    all domains.
    """
    check_words(preset, split)
    check_count(n_given, 90)
    if not np.isfinite(target_angle):
        raise InputError(f"target_angle must be a number of degrees, got {target_angle!r}")
    if distinct:
        return _distinct(_turned, angles(n_given, target_angle, preset), split, n_samples, seed, download)
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


def rotate(images: NDArray[Any], degrees: float) -> NDArray[Any]:
    """Turn images (n, height, width) counter-clockwise about their centre; pixels from outside are 0.

    Each pixel takes the value of the nearest pixel before the rotation, so no grey levels are made up.

    >>> rotate(np.array([[[1, 2], [3, 4]]]), 90).tolist()
    [[[2, 4], [1, 3]]]
    """
    height, width = images.shape[1:]
    angle = np.deg2rad(degrees)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    y -= (height - 1) / 2
    x -= (width - 1) / 2
    # Where each pixel of the result came from; row numbers grow downwards.
    from_x = np.cos(angle) * x - np.sin(angle) * y + (width - 1) / 2
    from_y = np.sin(angle) * x + np.cos(angle) * y + (height - 1) / 2
    # A hair of slack keeps right angles free of rounding at pixel borders.
    column = np.rint(np.round(from_x, 9)).astype(np.int64)
    row = np.rint(np.round(from_y, 9)).astype(np.int64)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    turned = images[:, row.clip(0, height - 1), column.clip(0, width - 1)]
    return np.where(inside, turned, np.zeros((), images.dtype))


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

    ``preset``: ``reference``: different images in every domain: 6,000 in the source, 2,100 in each given domain, 2,000
    in the target. ``paper``: the same 50,000 images everywhere. ``distinct``: training images of its own for each
    domain, as many as for the others; held-out ones are test images.
    """
    check_words(preset, split)
    check_count(n_given, _BLOCKS - 1)
    images, labels = mnist("train", download=download)
    if len(images) < 20:
        raise InputError(f"Color-Shift MNIST needs at least 20 training images, found {len(images)}")
    if distinct:
        return _distinct(_brighter, (0.0, *shifts(n_given), 1.0), split, n_samples, seed, download)
    if preset == "paper":
        parts = _same_images(len(images), n_given, split)
    else:
        order = np.random.default_rng(derive_seed(seed, "color-mnist")).permutation(len(images))
        parts = _different_images(order, n_given, split)
    domains = [_brighter(images[rows], labels[rows], shift) for rows, shift in parts]
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


def _brighter(images: NDArray[np.uint8], labels: NDArray[np.int64], shift: float) -> Domain:
    return image_domain(images, labels, f"shift {shift:g}", shift)


def _distinct(
    made: Callable[..., Domain], places: Sequence[float], split: Split, n_samples: int | None, seed: int, download: bool
) -> DomainSequence:
    """Training images of its own for each domain, made for its place; held-out ones are test images."""
    images, labels = mnist("train", download=download)
    rows = distinct_rows(len(images), len(places), n_samples, seed)
    domains = [made(images[own], labels[own], place) for own, place in zip(rows, places, strict=True)]
    if split == "heldout":
        domains = [domains[0], made(*mnist("test", download=download), places[-1])]
    return limit_domains(DomainSequence(domains), n_samples, seed)

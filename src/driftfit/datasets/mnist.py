"""The MNIST images, from the original idx files."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.downloads import DataFile, read_bytes, stamp
from driftfit.errors import InputError

__all__ = ["FILES", "Part", "mnist", "read_idx"]

Part = Literal["train", "test"]

_ADDRESS = "https://ossci-datasets.s3.amazonaws.com/mnist/"


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

"""Small made-up files in the layout of the real ones, for trials without the data."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.downloads import SUMS_NAME

__all__ = ["write_made_data"]


def write_made_data(folder: str | Path, *, n_images: int = 600, n_rows: int = 2_000, seed: int = 0) -> Path:
    """Fill a folder with small stand-ins for MNIST, Portraits and Cover Type, and their sums.

    Set ``DRIFTFIT_DATA`` to the folder to use them. The numbers mean nothing; classes differ
    enough for a network to learn them.

    Parameters
    ----------
    folder : path
    n_images : int
        MNIST images for training, a third as many for testing, and portraits.
    n_rows : int
        Rows of Cover Type.
    seed : int
    """
    folder = Path(folder)
    rng = np.random.default_rng(seed)
    files: dict[str, bytes] = {}
    for part, count in (("train", n_images), ("t10k", max(20, n_images // 3))):
        images, labels = _mnist(rng, count)
        files[f"mnist/{part}-images-idx3-ubyte.gz"] = _packed(_idx(images))
        files[f"mnist/{part}-labels-idx1-ubyte.gz"] = _packed(_idx(labels))
    files["covtype/covtype.data.gz"] = _packed(_covtype(rng, n_rows))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "portraits").mkdir(parents=True, exist_ok=True)
    portrait_path = folder / "portraits" / "portraits_32x32.npz"
    images, labels, years = _portraits(rng, n_images)
    np.savez(portrait_path, images=images, labels=labels, years=years)
    files["portraits/portraits_32x32.npz"] = portrait_path.read_bytes()
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
    (folder / SUMS_NAME).write_text("".join(sums))
    return folder


def _mnist(rng: np.random.Generator, count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    labels = (np.arange(count) % 10).astype(np.uint8)
    images = rng.integers(0, 40, (count, 28, 28))
    for i, label in enumerate(labels):
        # One bar for each class, at its own height.
        images[i, 4 + 2 * label : 6 + 2 * label, 6:22] += 180
    return images.astype(np.uint8), labels


def _portraits(rng: np.random.Generator, count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint16]]:
    years = np.sort(rng.integers(1905, 1982, count)).astype(np.uint16)
    labels = rng.integers(0, 2, count).astype(np.uint8)
    images = rng.integers(0, 60, (count, 32, 32)) + (years[:, None, None] - 1905) // 2
    images[labels == 1, 8:24, 8:24] += 100
    return images.astype(np.uint8), labels, years


def _covtype(rng: np.random.Generator, count: int) -> bytes:
    table = rng.integers(0, 100, (count, 55))
    table[:, 10:54] = rng.integers(0, 2, (count, 44))
    table[:, 54] = rng.integers(1, 4, count)
    table[:, 0] += 60 * table[:, 54]
    table[:, 3] = rng.integers(0, 1400, count)
    return "".join(",".join(map(str, row)) + "\n" for row in table.tolist()).encode()


def _idx(values: NDArray[np.uint8]) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)

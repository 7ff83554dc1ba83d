"""The benchmarks by name, what of them is on this machine, and small made-up files in their place."""

from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.common import SUMS_NAME, DataFile, locate, read_bytes
from driftfit.datasets.covtype import FILES as COVTYPE_FILES
from driftfit.datasets.covtype import covtype
from driftfit.datasets.mnist import FILES as MNIST_FILES
from driftfit.datasets.mnist import color_mnist, rotated_mnist
from driftfit.datasets.portraits import FILES as PORTRAITS_FILES
from driftfit.datasets.portraits import portraits
from driftfit.domains import DomainSequence
from driftfit.errors import InputError, meant


@dataclass(frozen=True)
class Dataset:
    """One benchmark: ``load(n_given, preset=..., seed=..., split=..., n_samples=...)`` to a `DomainSequence`."""

    name: str
    title: str
    load: Callable[..., DomainSequence]
    files: tuple[DataFile, ...]
    n_classes: int


@dataclass(frozen=True)
class FileState:
    """Whether a file is at hand; ``state`` is "whole", "present" (not checked), "damaged" or "missing"."""

    file: DataFile
    path: Path | None
    state: str
    detail: str = ""


def _turned_further(angle: float) -> Dataset:
    name, title = f"rotated-mnist-{angle:g}", f"Rotated MNIST, by {angle:g} degrees"
    return Dataset(name, title, partial(rotated_mnist, target_angle=angle), tuple(MNIST_FILES.values()), 10)


DATASETS: dict[str, Dataset] = {
    entry.name: entry
    for entry in (
        Dataset("rotated-mnist", "Rotated MNIST", rotated_mnist, tuple(MNIST_FILES.values()), 10),
        _turned_further(60.0),
        _turned_further(90.0),
        Dataset("color-mnist", "Color-Shift MNIST", color_mnist, tuple(MNIST_FILES.values()), 10),
        Dataset("portraits", "Portraits", portraits, tuple(PORTRAITS_FILES.values()), 2),
        Dataset("covtype", "Cover Type", covtype, tuple(COVTYPE_FILES.values()), 2),
    )
}


def dataset(name: str) -> Dataset:
    """A benchmark by its name.

    >>> dataset("portraits").title
    'Portraits'
    """
    if name not in DATASETS:
        raise InputError(f"there is no data set {name!r}; choose one of {', '.join(DATASETS)}{meant(name, DATASETS)}")
    return DATASETS[name]


def file_states(name: str, *, check: bool = False) -> list[FileState]:
    """State of each file of a benchmark; with ``check`` the sums are verified."""
    states = []
    for file in dataset(name).files:
        path = locate(file)
        if path is None:
            states.append(FileState(file, None, "missing", file.url or file.remedy))
            continue
        state, detail = "present", ""
        if check:
            try:
                read_bytes(file, download=False)
                state = "whole"
            except InputError as error:
                state, detail = "damaged", str(error)
        states.append(FileState(file, path, state, detail))
    return states


def write_made_data(folder: str | Path, *, n_images: int = 600, n_rows: int = 2_000, seed: int = 0) -> Path:
    """Fill a folder with small stand-ins for MNIST, Portraits and Cover Type, and their sums.

    Set ``DRIFTFIT_DATA`` to the folder to use them. The numbers mean nothing; classes differ
    enough for a network to learn them. There are a third as many MNIST images for testing as for training.
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

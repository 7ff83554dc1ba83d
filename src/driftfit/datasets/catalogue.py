"""The benchmarks by name, and what of them is on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from driftfit.datasets.color_mnist import color_mnist
from driftfit.datasets.covtype import FILES as COVTYPE_FILES
from driftfit.datasets.covtype import covtype
from driftfit.datasets.downloads import DataFile, locate, read_bytes
from driftfit.datasets.mnist import FILES as MNIST_FILES
from driftfit.datasets.portraits import FILES as PORTRAITS_FILES
from driftfit.datasets.portraits import portraits
from driftfit.datasets.rotated_mnist import rotated_mnist
from driftfit.domains import DomainSequence
from driftfit.errors import InputError

__all__ = ["DATASETS", "Dataset", "FileState", "dataset", "file_states"]


@dataclass(frozen=True)
class Dataset:
    """One benchmark.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
    load : callable
        ``load(n_given, preset=..., seed=..., split=..., n_samples=...)`` to a `DomainSequence`.
    files : tuple of DataFile
    n_classes : int
    """

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
        raise InputError(f"there is no data set {name!r}; choose one of {', '.join(DATASETS)}")
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

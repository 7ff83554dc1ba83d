"""The four benchmarks as `DomainSequence`s, from files on this machine or a checked download."""

from driftfit.datasets.catalogue import DATASETS, Dataset, FileState, dataset, file_states
from driftfit.datasets.color_mnist import color_mnist
from driftfit.datasets.covtype import covtype
from driftfit.datasets.downloads import DataFile
from driftfit.datasets.made import write_made_data
from driftfit.datasets.mnist import mnist
from driftfit.datasets.portraits import portraits, portraits_cut
from driftfit.datasets.rotated_mnist import angles, rotated_mnist
from driftfit.datasets.rotation import rotate

__all__ = [
    "DATASETS",
    "DataFile",
    "Dataset",
    "FileState",
    "angles",
    "color_mnist",
    "covtype",
    "dataset",
    "file_states",
    "mnist",
    "portraits",
    "portraits_cut",
    "rotate",
    "rotated_mnist",
    "write_made_data",
]

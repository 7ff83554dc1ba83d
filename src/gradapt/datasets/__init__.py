"""The four benchmarks as `DomainSequence`s, from files on this machine or a checked download."""

from gradapt.datasets.catalogue import DATASETS, Dataset, FileState, dataset, file_states
from gradapt.datasets.color_mnist import color_mnist
from gradapt.datasets.covtype import covtype
from gradapt.datasets.downloads import DataFile
from gradapt.datasets.made import write_made_data
from gradapt.datasets.mnist import mnist
from gradapt.datasets.portraits import portraits, portraits_cut
from gradapt.datasets.rotated_mnist import angles, rotated_mnist
from gradapt.datasets.rotation import rotate

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

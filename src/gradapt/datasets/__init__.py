"""The four benchmarks as `DomainSequence`s, from files on this machine or a checked download."""

from gradapt.datasets.catalogue import DATASETS, Dataset, FileState, dataset, file_states
from gradapt.datasets.color import color_mnist
from gradapt.datasets.digits import mnist
from gradapt.datasets.files import DataFile
from gradapt.datasets.forest import covtype
from gradapt.datasets.made import write_made_data
from gradapt.datasets.rotated import angles, rotated_mnist
from gradapt.datasets.rotation import rotate
from gradapt.datasets.yearbook import portraits, portraits_cut

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

"""The four benchmarks as `DomainSequence`s, from files on this machine or a checked download.

All loaders take the number of given domains, a preset (the reference code's cut or the paper's), a seed that draws the
rows, a split ("adapt", or "heldout" with the same source and fresh samples of the target), ``distinct`` domains with no
sample in two of them, at most ``n_samples`` for each domain, and whether files may be downloaded.
"""

from driftfit.datasets.catalogue import DATASETS, Dataset, FileState, dataset, file_states, write_made_data
from driftfit.datasets.common import DataFile
from driftfit.datasets.covtype import covtype
from driftfit.datasets.mnist import angles, color_mnist, mnist, rotate, rotated_mnist
from driftfit.datasets.portraits import portraits, portraits_cut

__all__ = [
    "dataset",
]

"""POT's entry points with driftfit's solver below them: one import line is the switch.

``from driftfit.transport.pot import emd, emd2`` in place of ``from ot import emd, emd2``: parameters, values, logs,
warnings and errors are those of POT 0.9.7, for lists, NumPy arrays, torch tensors and arrays of JAX (the last are not
tested). Plans and costs come back where the input lives. POT itself is needed only for what is regularised, unbalanced
or a method of its own: this goes on to it, with a warning that says so.
"""

from driftfit.transport.pot.histograms import emd, emd2
from driftfit.transport.pot.line import emd2_1d, emd_1d, wasserstein_1d
from driftfit.transport.pot.unified import Result, solve, solve_batch, solve_sample, solve_sample_batch

__all__ = [
    "Result", "emd", "emd2", "emd2_1d", "emd_1d", "solve", "solve_batch", "solve_sample", "solve_sample_batch",
    "wasserstein_1d",
]  # fmt: skip

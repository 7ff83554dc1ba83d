"""Sweeps: data x models x methods x settings x seeds, and which setting is chosen without target labels."""

from driftfit.sweeps.sweep_cells import SweepCell, SweepWork
from driftfit.sweeps.sweep_file import Sweep, read_sweep
from driftfit.sweeps.sweep_tables import SweepRow, SweepTable, as_markdown, summarise_sweep
from driftfit.sweeps.sweeping import run_sweep

__all__ = [
    "Sweep",
    "SweepCell",
    "SweepRow",
    "SweepTable",
    "SweepWork",
    "as_markdown",
    "read_sweep",
    "run_sweep",
    "summarise_sweep",
]

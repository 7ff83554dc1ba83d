"""The paper's tables and figures, and sweeps: cells, a store that survives interruption, output."""

from driftfit.lab.cells import Cell
from driftfit.lab.launch import Launch, run_cells
from driftfit.lab.layouts import TABLES, make_table
from driftfit.lab.presets import BENCHMARKS, PRESETS, Settings, settings
from driftfit.lab.published import published_comparison, published_figure, published_number
from driftfit.lab.run import EXHIBITS, run_tables
from driftfit.lab.statistics import Entry, summarise
from driftfit.lab.store import Store
from driftfit.lab.sweep_cells import SweepCell, SweepWork
from driftfit.lab.sweep_file import Sweep, read_sweep
from driftfit.lab.sweep_tables import SweepRow, SweepTable, as_markdown, summarise_sweep
from driftfit.lab.sweeping import run_sweep
from driftfit.lab.table import Options, Place, Table

__all__ = [
    "BENCHMARKS",
    "EXHIBITS",
    "PRESETS",
    "TABLES",
    "Cell",
    "Entry",
    "Launch",
    "Options",
    "Place",
    "Settings",
    "Store",
    "Sweep",
    "SweepCell",
    "SweepRow",
    "SweepTable",
    "SweepWork",
    "Table",
    "as_markdown",
    "make_table",
    "published_comparison",
    "published_figure",
    "published_number",
    "read_sweep",
    "run_cells",
    "run_sweep",
    "run_tables",
    "settings",
    "summarise",
    "summarise_sweep",
]

"""The paper's tables and figures: cells, a store that survives interruption, launchers, output."""

from driftfit.engines import Store
from driftfit.paper.cells import Cell
from driftfit.paper.launch import Launch, run_cells
from driftfit.paper.layouts import TABLES, make_table
from driftfit.paper.presets import BENCHMARKS, PRESETS, Settings, settings
from driftfit.paper.published import published_comparison, published_figure, published_number
from driftfit.paper.run import EXHIBITS, run_tables
from driftfit.paper.statistics import Entry, summarise
from driftfit.paper.table import Options, Place, Table

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
    "Table",
    "make_table",
    "published_comparison",
    "published_figure",
    "published_number",
    "run_cells",
    "run_tables",
    "settings",
    "summarise",
]

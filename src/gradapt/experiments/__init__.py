"""The paper's tables and figures: cells, a store that survives interruption, launchers, output."""

from gradapt.experiments.cells import Cell
from gradapt.experiments.launch import run_cells
from gradapt.experiments.paper import EXHIBITS, run_tables
from gradapt.experiments.presets import BENCHMARKS, PRESETS, Settings, settings
from gradapt.experiments.published import published_comparison, published_figure, published_number
from gradapt.experiments.store import Store
from gradapt.experiments.summary import Entry, summarise
from gradapt.experiments.tables import TABLES, Options, Place, Table, make_table

__all__ = [
    "BENCHMARKS",
    "EXHIBITS",
    "PRESETS",
    "TABLES",
    "Cell",
    "Entry",
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

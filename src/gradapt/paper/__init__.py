"""The paper's tables and figures: cells, a store that survives interruption, launchers, output."""

from gradapt.engines import Store
from gradapt.paper.cells import Cell
from gradapt.paper.launch import Launch, run_cells
from gradapt.paper.layouts import TABLES, make_table
from gradapt.paper.presets import BENCHMARKS, PRESETS, Settings, settings
from gradapt.paper.published import published_comparison, published_figure, published_number
from gradapt.paper.run import EXHIBITS, run_tables
from gradapt.paper.statistics import Entry, summarise
from gradapt.paper.table import Options, Place, Table

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

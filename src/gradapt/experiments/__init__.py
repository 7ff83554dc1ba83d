"""The paper's tables: cells, a store that survives interruption, launchers, output."""

from gradapt.experiments.cells import Cell
from gradapt.experiments.launch import run_cells
from gradapt.experiments.paper import run_tables, table_cells
from gradapt.experiments.presets import PRESETS, TABLES, Settings, settings
from gradapt.experiments.store import Store
from gradapt.experiments.summary import Entry, published_figure, published_number, summarise

__all__ = [
    "PRESETS",
    "TABLES",
    "Cell",
    "Entry",
    "Settings",
    "Store",
    "published_figure",
    "published_number",
    "run_cells",
    "run_tables",
    "settings",
    "summarise",
    "table_cells",
]

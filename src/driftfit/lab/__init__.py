"""The paper's tables and figures: cells, a store that survives interruption, output. Sweeps are beside it."""

from driftfit.lab.cells import Cell, Options, Place, Table
from driftfit.lab.layouts import TABLES, make_table, published_comparison, published_figure, published_number
from driftfit.lab.paper import EXHIBITS, Launch, run_cells, run_tables
from driftfit.lab.presets import BENCHMARKS, PRESETS, Settings, settings
from driftfit.lab.statistics import Entry, summarise
from driftfit.lab.store import Store

"""A user's own table: read, check, adapt, choose a model, predict, write the run folder."""

from driftfit.extras import need

need("pandas", "tables", "driftfit.app")

from driftfit.app.checked import Checked, check_frame, check_table
from driftfit.app.folder import load_run, save_run
from driftfit.app.job import Result, adapt_checked, adapt_frame, adapt_table
from driftfit.app.predictor import Predictor
from driftfit.app.read import from_skada, open_table, table_of
from driftfit.app.run_summary import check_summary, summarise
from driftfit.app.settings import Column, FilePosition, History, Keep, Limits, RowPosition, Settings
from driftfit.app.windows import ByCalendar

__all__ = [
    "Column",
    "Settings",
    "adapt_frame",
    "load_run",
    "save_run",
    "summarise",
    "table_of",
]

"""A user's own table: read, check, adapt, choose a model, predict, write the run folder."""

from gradapt.extras import need

need("pandas", "tables", "gradapt.tables")

from gradapt.tables.checked import Checked, check_frame, check_table
from gradapt.tables.folder import load_run, save_run
from gradapt.tables.job import Result, adapt_checked, adapt_frame, adapt_table
from gradapt.tables.predictor import Predictor
from gradapt.tables.read import open_table, table_of
from gradapt.tables.run_summary import check_summary, summarise
from gradapt.tables.settings import Column, FilePosition, Keep, Limits, RowPosition, Settings
from gradapt.tables.skada import from_skada
from gradapt.tables.windowing import ByCalendar

__all__ = [
    "ByCalendar",
    "Checked",
    "Column",
    "FilePosition",
    "Keep",
    "Limits",
    "Predictor",
    "Result",
    "RowPosition",
    "Settings",
    "adapt_checked",
    "adapt_frame",
    "adapt_table",
    "check_frame",
    "check_summary",
    "check_table",
    "from_skada",
    "load_run",
    "open_table",
    "save_run",
    "summarise",
    "table_of",
]

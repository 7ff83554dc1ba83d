"""A user's own table, end to end: read, check, adapt, gate, predict, write a folder that says it all."""

from gradapt.runs.folder import load_run, save_run
from gradapt.runs.job import Result, adapt_frame, adapt_table
from gradapt.runs.predictor import Predictor
from gradapt.runs.read import open_table, table_of
from gradapt.runs.settings import Column, FilePosition, Keep, Limits, Method, RowPosition, Settings
from gradapt.runs.skada import from_skada
from gradapt.runs.summary import summarise
from gradapt.runs.windows import ByCalendar

__all__ = [
    "ByCalendar",
    "Column",
    "FilePosition",
    "Keep",
    "Limits",
    "Method",
    "Predictor",
    "Result",
    "RowPosition",
    "Settings",
    "adapt_frame",
    "adapt_table",
    "from_skada",
    "load_run",
    "open_table",
    "save_run",
    "summarise",
    "table_of",
]

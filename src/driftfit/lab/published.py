"""The paper's own numbers, as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Figure", "published_comparison", "published_figure", "published_number"]

# Mean and half width of the 95 % confidence interval, in percent.
Figure = tuple[float, float]

_COLUMNS = ("rotated-mnist", "color-mnist", "portraits", "covtype")


@cache
def _published() -> dict[str, Any]:
    text = files("driftfit.lab").joinpath("published.json").read_text()
    tables: dict[str, Any] = json.loads(text)
    return tables


def published_number(table: str) -> int:
    """The number a table has in the paper.

    >>> published_number("rotated-mnist"), published_number("uda")
    (3, 2)
    """
    everything = _published()
    return int((everything["tables"].get(table) or everything[table])["number"])


def published_figure(table: str, method: str, n_given: int, n_generated: int) -> Figure | None:
    """A cell of tables 3 to 6.

    >>> published_figure("rotated-mnist", "goat", 2, 4)
    (70.3, 2.4)
    """
    cells = _published()["tables"][table]["cells"]
    column = {"gst": 0, "goat": n_generated}.get(method)
    if column is None or n_given >= len(cells) or column >= len(cells[n_given]) or (method == "goat" and column == 0):
        return None
    mean, interval = cells[n_given][column]
    return float(mean), float(interval)


def published_comparison(table: str, method: str, benchmark: str, n_given: int = 2) -> Figure | None:
    """A cell of the comparison with one-off baselines (``uda``) or with CoVi (``covi``).

    >>> published_comparison("uda", "dann", "portraits"), published_comparison("covi", "covi", "portraits", 4)
    ((73.8, 1.5), (83.1, 1.9))
    """
    row = _published()[table]["methods"].get(method)
    if row is None:
        return None
    if table == "uda":
        mean, interval = row[_COLUMNS.index(benchmark)]
    elif benchmark not in row or n_given >= len(row[benchmark]):
        return None
    else:
        mean, interval = row[benchmark][n_given]
    return float(mean), float(interval)

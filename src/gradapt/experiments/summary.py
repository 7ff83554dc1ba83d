"""From records of single runs to the table: mean, confidence interval, published figure, difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.stats import t as student

from gradapt.experiments.cells import Cell

__all__ = ["Entry", "mean_and_interval", "published_figure", "published_number", "summarise"]

_MEASURES = (
    "transductive_last",
    "heldout_last",
    "transductive_selected",
    "heldout_selected",
    "transductive_label_selected",
    "heldout_label_selected",
    "same_class_mass",
    "plan_gap",
)


@dataclass(frozen=True)
class Entry:
    """One cell of a table over all seeds; accuracies in percent.

    Attributes
    ----------
    table, preset, method : str
    n_given, n_generated, n_seeds : int
    means, intervals : dict
        By measure: mean and half width of the 95 % confidence interval (Student's t); None
        where nothing was measured, or where one seed gives no interval.
    published, published_interval : float or None
        The paper's figure for this cell.
    seconds : float
        Mean time of a run.
    """

    table: str
    preset: str
    method: str
    n_given: int
    n_generated: int
    n_seeds: int
    means: dict[str, float | None]
    intervals: dict[str, float | None]
    published: float | None
    published_interval: float | None
    seconds: float

    @property
    def difference(self) -> float | None:
        """Ours minus the published figure, by the accuracy that it was measured with."""
        ours = self.means["transductive_last"]
        return None if self.published is None or ours is None else ours - self.published

    @property
    def column(self) -> str:
        """Name of the table's column this entry belongs to."""
        return f"goat {self.n_generated}" if self.method == "goat" else self.method


def mean_and_interval(values: list[float]) -> tuple[float | None, float | None]:
    """Mean and half width of the 95 % confidence interval by Student's t.

    >>> [round(value, 3) for value in mean_and_interval([1.0, 3.0])]
    [2.0, 12.706]
    >>> mean_and_interval([1.0])
    (1.0, None)
    """
    if not values:
        return None, None
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return mean, float(student.ppf(0.975, len(values) - 1)) * error


@cache
def _published() -> dict[str, Any]:
    text = files("gradapt.experiments").joinpath("published", "tables.json").read_text()
    tables: dict[str, Any] = json.loads(text)
    return tables


def published_number(table: str) -> int:
    """The number a table has in the paper.

    >>> published_number("rotated-mnist")
    3
    """
    return int(_published()["tables"][table]["number"])


def published_figure(table: str, method: str, n_given: int, n_generated: int) -> tuple[float, float] | None:
    """Mean and confidence interval as printed in the paper, in percent.

    >>> published_figure("rotated-mnist", "goat", 2, 4)
    (70.3, 2.4)
    """
    cells = _published()["tables"][table]["cells"]
    column = {"gst": 0, "goat": n_generated}.get(method)
    if column is None or n_given >= len(cells) or column >= len(cells[n_given]) or (method == "goat" and column == 0):
        return None
    mean, interval = cells[n_given][column]
    return float(mean), float(interval)


def summarise(results: Mapping[Cell, Mapping[str, Any]]) -> list[Entry]:
    """One entry for each cell of the table, over the seeds."""
    grouped: dict[tuple[str, str, int, str, int], list[Mapping[str, Any]]] = {}
    for cell, result in sorted(results.items()):
        key = (cell.table, cell.preset, cell.n_given, cell.method, cell.n_generated)
        grouped.setdefault(key, []).append(result)
    entries = []
    for (table, preset, n_given, method, n_generated), runs in grouped.items():
        means: dict[str, float | None] = {}
        intervals: dict[str, float | None] = {}
        for measure in _MEASURES:
            values = [run[measure] for run in runs if run.get(measure) is not None]
            means[measure], intervals[measure] = mean_and_interval(values)
        published = published_figure(table, method, n_given, n_generated)
        mean, interval = published or (None, None)
        seconds = float(np.mean([run["seconds"] for run in runs]))
        entries.append(
            Entry(table, preset, method, n_given, n_generated, len(runs), means, intervals, mean, interval, seconds)
        )
    return entries

"""From records of single runs to the table: mean, confidence interval, published figure, difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from gradapt.experiments.cells import Cell
from gradapt.experiments.tables import Place, Table

__all__ = ["Entry", "mean_and_interval", "summarise"]

_ACCURACIES = tuple(
    f"{side}_{name}" for name in ("last", "selected", "label_selected") for side in ("transductive", "heldout")
)
_MEASURES = (
    *_ACCURACIES,
    "transductive_best",
    "heldout_best",
    "transductive_worst",
    "heldout_worst",
    "chosen",
    "same_class_mass",
    "plan_gap",
    "plan_entries",
    "lost_mass",
)


@dataclass(frozen=True)
class Entry:
    """One place of a table over all seeds; accuracies in percent.

    Attributes
    ----------
    place : Place
    n_seeds : int
    means, intervals : dict
        By measure: mean and half width of the 95 % confidence interval (Student's t); None
        where nothing was measured, or where one seed gives no interval.
    seconds : float
        Mean time of a run.
    """

    place: Place
    n_seeds: int
    means: dict[str, float | None]
    intervals: dict[str, float | None]
    seconds: float

    @property
    def mean(self) -> float | None:
        """The mean that the table shows."""
        return self.means[self.place.measure]

    @property
    def difference(self) -> float | None:
        """Ours minus the published figure, by the accuracy that it was measured with."""
        return None if self.place.published is None or self.mean is None else self.mean - self.place.published[0]


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


def summarise(table: Table, results: Mapping[Cell, Mapping[str, Any]]) -> list[Entry]:
    """One entry for each place of the table that has a run, over the seeds."""
    grouped: dict[Cell, list[Mapping[str, Any]]] = {}
    for cell, result in sorted(results.items()):
        grouped.setdefault(replace(cell, seed=0), []).append(result)
    entries = []
    for place in table.places:
        runs = grouped.get(place.cell, [])
        if not runs:
            continue
        means: dict[str, float | None] = {}
        intervals: dict[str, float | None] = {}
        for measure in _MEASURES:
            values = [run[measure] for run in runs if run.get(measure) is not None]
            means[measure], intervals[measure] = mean_and_interval(values)
        seconds = float(np.mean([run["seconds"] for run in runs]))
        entries.append(Entry(place, len(runs), means, intervals, seconds))
    return entries

"""From records of single runs to the table: mean, confidence interval, published figure, difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from driftfit.lab.cells import Cell
from driftfit.lab.table import Place, Table

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
    lead : (float or None, float or None)
        Mean and half width of what the table's contender has more, over the seeds that both have.
    """

    place: Place
    n_seeds: int
    means: dict[str, float | None]
    intervals: dict[str, float | None]
    seconds: float
    lead: tuple[float | None, float | None] = (None, None)

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
    return mean, float(stdtrit(len(values) - 1, 0.975)) * error


def summarise(table: Table, results: Mapping[Cell, Mapping[str, Any]]) -> list[Entry]:
    """One entry for each place of the table that has a run, over the seeds."""
    grouped: dict[Cell, dict[int, Mapping[str, Any]]] = {}
    for cell, result in sorted(results.items()):
        grouped.setdefault(replace(cell, seed=0), {})[cell.seed] = result
    contenders = {place.column: place for place in table.places if place.row == table.contender}
    entries = []
    own = (name for place in table.places for name in (place.measure, place.measure.replace("transductive", "heldout")))
    measures = tuple(dict.fromkeys((*_MEASURES, *own)))
    for place in table.places:
        runs = grouped.get(place.cell, {})
        if not runs:
            continue
        means: dict[str, float | None] = {}
        intervals: dict[str, float | None] = {}
        for measure in measures:
            values = [run[measure] for run in runs.values() if run.get(measure) is not None]
            means[measure], intervals[measure] = mean_and_interval(values)
        seconds = float(np.mean([run["seconds"] for run in runs.values()]))
        lead = _lead(contenders.get(place.column), place, grouped)
        entries.append(Entry(place, len(runs), means, intervals, seconds, lead))
    return entries


def _lead(
    contender: Place | None, place: Place, grouped: Mapping[Cell, Mapping[int, Mapping[str, Any]]]
) -> tuple[float | None, float | None]:
    if contender is None or contender == place:
        return None, None
    theirs, ours = grouped[place.cell], grouped.get(contender.cell, {})
    return mean_and_interval(
        [ours[seed][contender.measure] - theirs[seed][place.measure] for seed in theirs if seed in ours]
    )

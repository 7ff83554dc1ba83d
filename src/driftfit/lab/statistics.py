"""From records of single runs to tables: measures, means, confidence intervals, published figures, differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, stdtrit

from driftfit.domains import LabelledDomain
from driftfit.lab.cells import Cell, Place, Table
from driftfit.methods import StepRecord
from driftfit.models import Learner
from driftfit.selection import Gain
from driftfit.selection.chosen import SOURCE, pick
from driftfit.transport import Plan

if TYPE_CHECKING:
    from driftfit.lab.sweep import SweepCell


# Mean and half width of the 95 % confidence interval; None where nothing was measured, or where one seed gives none.
Interval = tuple[float | None, float | None]

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

    ``means`` and ``intervals``: by measure: mean and half width of the 95 % confidence interval (Student's t); None
    where nothing was measured, or where one seed gives no interval. ``seconds``: mean time of a run. ``lead``: mean and
    half width of what the table's contender has more, over the seeds that both have.
    """

    place: Place
    n_seeds: int
    means: dict[str, float | None]
    intervals: dict[str, float | None]
    seconds: float
    lead: Interval = (None, None)

    @property
    def mean(self) -> float | None:
        """The mean that the table shows."""
        return self.means[self.place.measure]

    @property
    def difference(self) -> float | None:
        """Ours minus the published figure, by the accuracy that it was measured with."""
        return None if self.place.published is None or self.mean is None else self.mean - self.place.published[0]


def mean_and_interval(values: list[float]) -> Interval:
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


def _lead(contender: Place | None, place: Place, grouped: Mapping[Cell, Mapping[int, Mapping[str, Any]]]) -> Interval:
    if contender is None or contender == place:
        return None, None
    theirs, ours = grouped[place.cell], grouped.get(contender.cell, {})
    return mean_and_interval(
        [ours[seed][contender.measure] - theirs[seed][place.measure] for seed in theirs if seed in ours]
    )


@dataclass(frozen=True)
class SweepRow:
    """One method with its settings, over the seeds.

    ``accuracy``: in percent, on the labels of the target; None where it has none, or one seed gives no interval.
    ``score``: without labels; higher is better. ``lead``: what it has more than the source model, in points, seed by
    seed.
    """

    name: str
    n_seeds: int
    n_failed: int
    accuracy: Interval
    score: Interval
    lead: Interval


@dataclass(frozen=True)
class SweepTable:
    """The rows of one data set and model.

    ``without_labels`` and ``with_labels``: accuracy of the setting that each seed's choice took, by the score without
    labels, and by the labels. ``difference``: by how much the former is behind, seed by seed. ``taken``: how often each
    setting was taken without labels. ``failed``: cells without a record.
    """

    data: str
    model: str
    rows: tuple[SweepRow, ...]
    without_labels: Interval
    with_labels: Interval
    difference: Interval
    taken: dict[str, int]
    failed: tuple[str, ...]


def summarise_sweep(cells: Sequence[SweepCell], results: Mapping[SweepCell, Mapping[str, Any]]) -> list[SweepTable]:
    """A table for each data set and model."""
    groups: dict[tuple[str, str], list[SweepCell]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.model), []).append(cell)
    return [_table(own, results) for own in groups.values()]


def _table(cells: list[SweepCell], results: Mapping[SweepCell, Mapping[str, Any]]) -> SweepTable:
    seeds = sorted({cell.seed for cell in cells})
    names = list(dict.fromkeys(cell.name for cell in cells))
    found = {(cell.name, cell.seed): results[cell] for cell in cells if cell in results}
    rows = tuple(_row(name, seeds, found) for name in names)
    picked, best, taken = [], [], dict[str, int]()
    for seed in seeds:
        own = {name: found[name, seed] for name in names if (name, seed) in found}
        if SOURCE not in own:
            continue
        chosen = _chosen(own)
        taken[chosen] = taken.get(chosen, 0) + 1
        right = [one["transductive_last"] for one in own.values() if one["transductive_last"] is not None]
        if own[chosen]["transductive_last"] is not None:
            picked.append(own[chosen]["transductive_last"])
            best.append(max(right))
    behind = mean_and_interval([one - other for one, other in zip(picked, best, strict=True)])
    failed = tuple(str(cell) for cell in cells if cell not in results)
    told = cells[0].data_name, cells[0].model
    return SweepTable(*told, rows, mean_and_interval(picked), mean_and_interval(best), behind, taken, failed)


def _row(name: str, seeds: list[int], found: Mapping[tuple[str, int], Mapping[str, Any]]) -> SweepRow:
    own = {seed: found[name, seed] for seed in seeds if (name, seed) in found}
    known = {seed: one["transductive_last"] for seed, one in own.items() if one["transductive_last"] is not None}
    base = {seed: found[SOURCE, seed]["transductive_last"] for seed in known if (SOURCE, seed) in found}
    lead = mean_and_interval([known[seed] - base[seed] for seed in base if base[seed] is not None])
    score = mean_and_interval([one["score"] for one in own.values()])
    accuracy = mean_and_interval(list(known.values()))
    return SweepRow(name, len(own), len(seeds) - len(own), accuracy, score, (None, None) if name == SOURCE else lead)


def _chosen(own: Mapping[str, Mapping[str, Any]]) -> str:
    """The setting that the score takes, by the rule of every choice."""
    scores = {name: one["score"] for name, one in own.items()}
    struck = {name: one["struck"] for name, one in own.items() if one["struck"]}
    gains = {name: Gain(one["gain"], one["gain_low"], float("inf")) for name, one in own.items()}
    return str(pick(list(own), scores, struck, gains, SOURCE, cautious=True)[0])


# From a learner and a labelled domain to the scores of its samples.
ScoresOf = Callable[[Learner, LabelledDomain], NDArray[np.float64]]


def accuracy(guesses: NDArray[Any], labels: NDArray[Any]) -> float:
    """In percent.

    >>> accuracy(np.array([0, 1]), np.array([0, 0]))
    50.0
    """
    return float((guesses == labels).mean()) * 100


@dataclass(eq=False)
class Measured:
    """The models of one cell, measured after every step.

    ``target``: the very samples that were adapted to. ``heldout``: fresh samples of the target. ``scores_of``: how a
    model's scores are found, such as from features that are at hand. ``steps``: measurements; the first is the model
    before any adaptation.
    """

    target: LabelledDomain
    heldout: LabelledDomain | None
    scores_of: ScoresOf
    steps: list[dict[str, Any]] = field(default_factory=list)

    def add(self, learner: Learner, record: StepRecord | None = None) -> None:
        """Measure a model; ``record`` is of the step that made it."""
        found: dict[str, Any] = self.of(learner)
        if record is not None:
            found |= {"n_samples": record.n_samples, "kept": record.kept_fraction}
        self.steps.append(found)

    def of(self, learner: Learner) -> dict[str, float | None]:
        """Accuracies in percent, and a score that needs no labels.

        The score is the mutual information between sample and predicted class on the
        target: predictions should be sure one by one and varied as a whole.
        """
        scores = self.scores_of(learner, self.target)
        shares = softmax(scores, axis=1)
        information = _entropy(shares.mean(axis=0)) - _entropy(shares).mean()
        fresh = None
        if self.heldout is not None:
            guesses = learner.classes[self.scores_of(learner, self.heldout).argmax(axis=1)]
            fresh = accuracy(guesses, self.heldout.labels)
        return {
            "transductive": accuracy(learner.classes[scores.argmax(axis=1)], self.target.labels),
            "heldout": fresh,
            "information": float(information),
        }

    def result(self) -> dict[str, Any]:
        """Accuracies of the last, the label-free selected and the label-selected model, named so."""
        chosen = {
            "last": self.steps[-1],
            "selected": max(self.steps, key=lambda step: step["information"]),
            "label_selected": max(self.steps, key=lambda step: step["transductive"]),
        }
        result = {f"{side}_{name}": step[side] for name, step in chosen.items() for side in ("transductive", "heldout")}
        return {**result, "transductive_before": self.steps[0]["transductive"], "steps": self.steps}


def plan_measures(plans: Sequence[Plan], labels: Sequence[NDArray[Any]]) -> dict[str, float]:
    """Over the plans between neighbours: the largest gap and loss, the mean of everything else.

    ``labels`` are the true ones of each domain: the share of mass within a class is a diagnosis that no method sees.
    """
    found: dict[str, list[float]] = {}
    for plan, before, after in zip(plans, labels[:-1], labels[1:], strict=True):
        same = before[plan.rows] == after[plan.cols]
        found.setdefault("same_class_mass", []).append(float(plan.mass[same].sum()) * 100)
        found.setdefault("plan_entries", []).append(float(len(plan)))
        if plan.certificate is not None:
            found.setdefault("plan_gap", []).append(plan.certificate.gap)
        if plan.lost_mass:
            found.setdefault("lost_mass", []).append(float(plan.lost_mass))
    return {
        name: max(values) if name in ("plan_gap", "lost_mass") else sum(values) / len(values)
        for name, values in found.items()
    }


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-(shares * np.log(np.maximum(shares, 1e-12))).sum(axis=-1))

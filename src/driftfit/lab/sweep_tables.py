"""What a sweep found: means, intervals, paired differences, and the settings chosen without labels and with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftfit.lab.statistics import mean_and_interval
from driftfit.lab.sweep_cells import SweepCell
from driftfit.selection import Gain
from driftfit.selection.chosen import SOURCE, pick

__all__ = ["SweepRow", "SweepTable", "as_markdown", "summarise_sweep"]

Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class SweepRow:
    """One method with its settings, over the seeds.

    Attributes
    ----------
    name : str
    n_seeds, n_failed : int
    accuracy : (mean, half width)
        In percent, on the labels of the target; None where it has none, or one seed gives no interval.
    score : (mean, half width)
        Without labels; higher is better.
    lead : (mean, half width)
        What it has more than the source model, in points, seed by seed.
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

    Attributes
    ----------
    data, model : str
    rows : tuple of SweepRow
    without_labels, with_labels : Interval
        Accuracy of the setting that each seed's choice took, by the score without labels, and by the labels.
    difference : Interval
        By how much the former is behind, seed by seed.
    taken : dict of str to int
        How often each setting was taken without labels.
    failed : tuple of str
        Cells without a record.
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


def as_markdown(table: SweepTable) -> str:
    """The table for people."""
    lines = [f"## {table.data}, {table.model}", ""]
    lines += ["| method | accuracy % | minus source | score | seeds | failed |", "|---|---|---|---|---|---|"]
    for row in table.rows:
        parts = [row.name, _shown(row.accuracy, 1), _shown(row.lead, 1, signed=True), _shown(row.score, 3)]
        lines.append("| " + " | ".join([*parts, str(row.n_seeds), str(row.n_failed)]) + " |")
    taken = ", ".join(f"{name} ({count})" for name, count in sorted(table.taken.items(), key=lambda own: -own[1]))
    lines += ["", f"Chosen without target labels: {taken or 'nothing'}; accuracy {_shown(table.without_labels, 1)}."]
    if table.with_labels[0] is None:
        lines.append("The target has no labels, so nothing is measured.")
    else:
        lines.append(
            f"Chosen with target labels, seed by seed: accuracy {_shown(table.with_labels, 1)}; the choice without "
            f"is {_shown(table.difference, 1, signed=True)} points from it."
        )
    lines += [f"Failed: {name}" for name in table.failed]
    return "\n".join(lines) + "\n"


def _shown(pair: Interval, digits: int, *, signed: bool = False) -> str:
    mean, half = pair
    if mean is None:
        return "-"
    text = f"{mean:+.{digits}f}" if signed else f"{mean:.{digits}f}"
    return text if half is None else f"{text} ± {half:.{digits}f}"

"""One step between two domains: how far each class moves, measured in the margins of the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftfit.seeds import derive_seed
from driftfit.selection.moves import LabelledPoints, Moves
from driftfit.selection.view import Weights, mean, quantile, total_variation
from driftfit.transport import Plan, transport, wasserstein

# Distances are measured on at most this many samples of each half domain.
_HALF = 400
# Classes with fewer samples in a half than this say nothing about their shift.
_FEWEST = 5
# Share of samples that count as out of the ordinary in a domain compared with itself.
_TAIL = 0.05
_MOST = 0.5


@dataclass(frozen=True)
class StepCheck:
    """What a step looks like to a classifier that comes from the domain before.

    Distances are 2-Wasserstein in the classifier's feature space with the distance between two
    halves of one domain, which is sampling noise alone, taken out.

    ``before`` and ``after``: names of the two domains. ``shift``: distance between the domains. ``class_shifts``:
    distance between the samples of each class, by the classifier's labels; NaN for rare classes. ``margins``: for each
    class, half the median distance to the nearest sample that gets another label. ``ratio``: shift over margin of a
    typical class, the median over the samples of ``after``: 1 or more means that it moves across the boundary.
    ``drift``: mean over the samples of the squared shift over the squared margin of their class. Unlike ``ratio`` it
    may be negative where noise outweighs the shift, so that noise averages out over the classes. ``jumped``: share of
    samples that are further from the whole domain before than noise plus margin explain, and have come further by a
    margin than noise and twice the move of their class: what came from nowhere, not what moved along. ``crossing``:
    share of the plan's mass that couples samples with different labels. ``crossing_noise``: the same between two halves
    of the domain before. ``proportion_change``: total variation between the class shares of the two domains: by the
    classifier's labels, or by the groups that grow around the moved class means, whichever is less. Labels alone take a
    class that moved for another. ``worst_ratio``: largest shift over margin of a class, by labels, or along the plan
    where most of a class arrives under another label: the condition R * Delta < 1 of Kumar et al. is about this one.
    ``worst_class``: the class that it belongs to. ``crossing_chance``: what ``crossing_noise`` would be if halves were
    coupled at random.
    """

    before: str
    after: str
    shift: float
    class_shifts: tuple[float, ...]
    margins: tuple[float, ...]
    ratio: float
    drift: float
    jumped: float
    crossing: float
    crossing_noise: float
    proportion_change: float
    worst_ratio: float = float("nan")
    worst_class: str = ""
    crossing_chance: float = 1.0

    @property
    def largest_ratio(self) -> float:
        """The worst class's ratio, or the typical one where no class could be measured by itself."""
        return self.worst_ratio if np.isfinite(self.worst_ratio) else self.ratio

    @property
    def mixing(self) -> float:
        """How little a plan knows of the classes where nothing moves: 0 for all of them, 1 for a coupling at random."""
        return self.crossing_noise / self.crossing_chance if self.crossing_chance > 0 else 0.0

    @property
    def excess_crossing(self) -> float:
        """Cross-class mass beyond what sampling noise gives."""
        return max(self.crossing - self.crossing_noise, 0.0)


@dataclass(frozen=True, eq=False)
class Halves:
    """A domain in two halves, and the plan between them: sampling noise alone, whatever the labels are.

    ``rows``: at most 400 of each half.
    """

    features: NDArray[np.float64]
    weights: Weights
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, points: LabelledPoints, seed: int) -> Halves:
        """Split by a seed; domains of one size are split alike."""
        order = np.random.default_rng(derive_seed(seed, "halves", len(points))).permutation(len(points))
        if points.weights is not None:
            # What weighs nothing is not there.
            order = order[points.weights[order] > 0]
        middle = len(order) // 2
        return cls(points.features, points.weights, (order[:middle][:_HALF], order[middle:][:_HALF]))

    @cached_property
    def plan(self) -> Plan:
        """The optimal plan from the first half to the second, solved for once."""
        one, other = self.rows
        weights = (None, None) if self.weights is None else (self.weights[one], self.weights[other])
        return transport(self.features[one], self.features[other], *weights)

    def taken(self, points: LabelledPoints) -> tuple[LabelledPoints, LabelledPoints]:
        """Both halves of the domain with labels."""
        return points.take(self.rows[0]), points.take(self.rows[1])


def measure_step(
    before: LabelledPoints,
    after: LabelledPoints,
    n_classes: int,
    *,
    names: tuple[str, str] = ("before", "after"),
    classes: Sequence[Any] | None = None,
    seed: int = 0,
    halves: tuple[Halves, Halves] | None = None,
) -> StepCheck:
    """Compare two domains, given features and a label for each sample.

    Domains of one size are split alike, so that a sample that occurs in both (the same image,
    turned further) is never compared with itself. ``halves`` are those of both domains, where they are shared with
    other steps.

    >>> x = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0]], 100, axis=0)
    >>> codes = np.repeat([0, 1], 100)
    >>> step = measure_step(LabelledPoints(x, codes), LabelledPoints(x + [0.0, 2.0], codes), 2)
    >>> round(step.shift), step.ratio < 1, step.jumped, round(step.excess_crossing, 2)
    (2, True, 0.0, 0.0)
    """
    split0, split1 = halves or (Halves.of(before, seed), Halves.of(after, seed))
    a0, b0 = split0.taken(before)
    a1, b1 = split1.taken(after)
    codes = range(n_classes)
    squares = np.array([_excess_square(a0.of_class(c), b0.of_class(c), a1.of_class(c), b1.of_class(c)) for c in codes])
    class_shifts = np.sqrt(np.maximum(squares, 0.0))
    margins = np.array([_margin(a0, b0, c) for c in codes])
    moved, still = Moves.between(a0, b1), Moves.along(a0, b0, split0.plan)
    carried = np.sqrt(np.maximum(moved.typical(n_classes) ** 2 - still.typical(n_classes) ** 2, 0.0))
    # Along the plan only where most of a class arrives under another label: there labels do not see its move.
    carried[~(moved.class_crossing(n_classes) > _MOST)] = np.nan
    # Where samples of different classes are equal the margin is 0, and the ratio is not known.
    with np.errstate(divide="ignore", invalid="ignore"):
        farthest, typical, squared = (
            np.fmax(class_shifts, carried) / margins,
            class_shifts / margins,
            squares / margins**2,
        )
    worst, worst_ratio = _worst(farthest)
    shares0, shares1 = before.shares(n_classes), after.shares(n_classes)
    return StepCheck(
        *names,
        shift=float(np.sqrt(max(_whole_square((a0, b0, a1, b1), (split0, split1), moved), 0.0))),
        class_shifts=tuple(class_shifts.tolist()),
        margins=tuple(margins.tolist()),
        ratio=_known_median(typical, shares1),
        drift=_known_mean(squared, shares1),
        jumped=_jumped(a0, b0, (moved, still), margins),
        crossing=moved.crossing,
        crossing_noise=still.crossing,
        proportion_change=min(total_variation(shares0, shares1), moved.share_change(n_classes)),
        worst_ratio=worst_ratio,
        worst_class="" if worst is None else str(worst if classes is None else classes[worst]),
        crossing_chance=1.0 - float(a0.shares(n_classes) @ b0.shares(n_classes)),
    )


def _worst(ratios: NDArray[np.float64]) -> tuple[int | None, float]:
    if not np.isfinite(ratios).any():
        return None, float("nan")
    worst = int(np.nanargmax(ratios))
    return worst, float(ratios[worst])


def _known_median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The value that half of the weight does not exceed; NaN where no value is known."""
    known = np.isfinite(values) & (weights > 0)
    return quantile(values[known], 0.5, weights[known]) if known.any() else float("nan")


def _known_mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    known = np.isfinite(values) & (weights > 0)
    return mean(values[known], weights[known]) if known.any() else float("nan")


def _whole_square(
    points: tuple[LabelledPoints, LabelledPoints, LabelledPoints, LabelledPoints],
    halves: tuple[Halves, Halves],
    moved: Moves,
) -> float:
    """`_excess_square` of whole domains; where the halves are of one size, by plans that are there already."""
    a0, b0, a1, b1 = points
    if len({len(half) for half in points}) > 1:
        return _excess_square(a0, b0, a1, b1)
    noise = halves[0].plan.cost + halves[1].plan.cost
    back = wasserstein(a1.features, b0.features, 2.0, a1.weights, b0.weights)
    return float(0.5 * (moved.plan.cost + back**2 - noise))


def _excess_square(a0: LabelledPoints, b0: LabelledPoints, a1: LabelledPoints, b1: LabelledPoints) -> float:
    """Mean squared distance between halves of two domains less that between halves of one; NaN for few samples.

    All halves are cut to the size of the smallest, because noise depends on it.
    """
    size = min(len(a0), len(b0), len(a1), len(b1))
    if size < _FEWEST:
        return float("nan")

    def square(one: LabelledPoints, other: LabelledPoints) -> float:
        weights = [None if own.weights is None else own.weights[:size] for own in (one, other)]
        return wasserstein(one.features[:size], other.features[:size], 2.0, *weights) ** 2

    return float(0.5 * (square(a0, b1) + square(b0, a1) - square(a0, b0) - square(a1, b1)))


def _margin(a: LabelledPoints, b: LabelledPoints, code: int) -> float:
    own = a.of_class(code)
    others = np.concatenate([a.features[a.codes != code], b.features[b.codes != code]])
    if len(own) < _FEWEST or len(others) == 0:
        return float("nan")
    return 0.5 * quantile(cdist(own.features, others).min(axis=1), 0.5, own.weights)


def _jumped(a0: LabelledPoints, b0: LabelledPoints, moves: tuple[Moves, Moves], margins: NDArray[np.float64]) -> float:
    known = margins[np.isfinite(margins)]
    margin = float(np.median(known)) if len(known) else 0.0
    noise = quantile(cdist(b0.features, a0.features).min(axis=1), 1.0 - _TAIL, b0.weights)
    moved, still = moves
    far = cdist(moved.after.features, a0.features).min(axis=1) > noise + margin
    return mean(far & (moved.unusual(still, len(margins)) > margin), moved.after.weights)

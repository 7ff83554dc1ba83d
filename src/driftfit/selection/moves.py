"""`Moves`: a transport plan between two labelled domains, read as moves of their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftfit.selection.view import Weights, class_shares, quantile, total_variation
from driftfit.transport import Plan, transport

# Classes with fewer samples than this have no typical move.
_FEWEST = 10
_LLOYD_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """Features of a domain with a class code for each sample, and weights where they differ."""

    features: NDArray[np.float64]
    codes: NDArray[np.int64]
    weights: Weights = None

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[Any]) -> LabelledPoints:
        """Some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return LabelledPoints(self.features[rows], self.codes[rows], weights)

    def of_class(self, code: int) -> LabelledPoints:
        """The samples of one class."""
        return self.take(self.codes == code)

    def shares(self, n_classes: int) -> NDArray[np.float64]:
        """Share of each class."""
        return class_shares(self.codes, n_classes, self.weights)


@dataclass(frozen=True, eq=False)
class Moves:
    """The optimal plan from one domain to another, with the class that each move starts from.

    ``lengths``: how far each entry of the plan goes.

    >>> x, codes = np.repeat([[0.0], [9.0]], 20, axis=0), np.repeat([0, 1], 20)
    >>> moves = Moves.between(LabelledPoints(x, codes), LabelledPoints(x + [[2.0]], codes))
    >>> moves.typical(2).tolist(), moves.crossing, round(moves.share_change(2), 6)
    ([2.0, 2.0], 0.0, 0.0)
    """

    before: LabelledPoints
    after: LabelledPoints
    plan: Plan
    lengths: NDArray[np.float64]

    @classmethod
    def between(cls, before: LabelledPoints, after: LabelledPoints) -> Moves:
        """Solve for the plan."""
        return cls.along(before, after, transport(before.features, after.features, before.weights, after.weights))

    @classmethod
    def along(cls, before: LabelledPoints, after: LabelledPoints, plan: Plan) -> Moves:
        """Along a plan that is known."""
        lengths = np.linalg.norm(before.features[plan.rows] - after.features[plan.cols], axis=1)
        return cls(before, after, plan, lengths)

    @property
    def crossing(self) -> float:
        """Share of the mass that joins samples with different labels."""
        return float(self.plan.mass[self.before.codes[self.plan.rows] != self.after.codes[self.plan.cols]].sum())

    def typical(self, n_classes: int) -> NDArray[np.float64]:
        """Median move of each class, over its mass; NaN for rare classes."""
        starts = self.before.codes[self.plan.rows]
        found = np.full(n_classes, np.nan)
        for code in range(n_classes):
            own = starts == code
            if (self.before.codes == code).sum() >= _FEWEST and own.any():
                found[code] = quantile(self.lengths[own], 0.5, self.plan.mass[own])
        return found

    def class_crossing(self, n_classes: int) -> NDArray[np.float64]:
        """Share of each class's mass that arrives under another label; NaN for absent classes."""
        starts = self.before.codes[self.plan.rows]
        left = np.bincount(starts, self.plan.mass, n_classes)
        crossed = np.bincount(starts, self.plan.mass * (starts != self.after.codes[self.plan.cols]), n_classes)
        return np.asarray(np.divide(crossed, left, out=np.full(n_classes, np.nan), where=left > 0))

    def unusual(self, still: Moves, n_classes: int) -> NDArray[np.float64]:
        """For each sample of ``after``, how much further it has come than noise and twice the move of its class.

        Twice, because a turn moves the far end of a class further than its middle. Noise is what ``still``, the moves
        between two halves of the domain before, shows.
        """
        noise, moved = still.typical(n_classes), self.typical(n_classes)
        usual = noise + 2.0 * np.sqrt(np.maximum(moved**2 - noise**2, 0.0))
        # A class too rare for a typical move of its own is measured by the others.
        fallback = float(np.nanmedian(usual)) if np.isfinite(usual).any() else 0.0
        usual = np.where(np.isfinite(usual), usual, fallback)
        excess = self.lengths - usual[self.before.codes[self.plan.rows]]
        arrived = np.bincount(self.plan.cols, self.plan.mass, len(self.after))
        summed = np.bincount(self.plan.cols, self.plan.mass * excess, len(self.after))
        return np.asarray(summed / np.maximum(arrived, 1e-300))

    def share_change(self, n_classes: int) -> float:
        """Total variation between the shares of groups around the class means, before and after they moved.

        The groups grow around the means of the classes in ``before`` and around where the plan carries these means, by
        rounds of nearest mean; no label of ``after`` takes part.
        """
        present = np.unique(self.before.codes)
        starts = self.before.codes[self.plan.rows]
        own, carried = [], []
        for code in present:
            chosen = starts == code
            mass = self.plan.mass[chosen]
            own.append(np.average(self.before.features[self.plan.rows[chosen]], axis=0, weights=mass))
            carried.append(np.average(self.after.features[self.plan.cols[chosen]], axis=0, weights=mass))
        return total_variation(_group_shares(self.before, np.array(own)), _group_shares(self.after, np.array(carried)))


def _group_shares(points: LabelledPoints, means: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.ones(len(points)) if points.weights is None else points.weights
    groups = np.full(len(points), -1)
    for _ in range(_LLOYD_ROUNDS):
        nearest = cdist(points.features, means).argmin(axis=1)
        if (nearest == groups).all():
            break
        groups = nearest
        for group in np.unique(groups):
            own = groups == group
            if weights[own].sum() > 0:
                means[group] = np.average(points.features[own], axis=0, weights=weights[own])
    return class_shares(groups, len(means), points.weights)

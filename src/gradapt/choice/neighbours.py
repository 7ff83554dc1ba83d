"""Neighbours in the target: a labelling that follows its structure says much about the labels next door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.checks import check_weights
from gradapt.choice.evidence import Judgement
from gradapt.choice.runs import Runs
from gradapt.domains import Domain, is_tensor, some_rows
from gradapt.errors import InputError
from gradapt.seeds import derive_seed
from gradapt.transport.kernels.arrays import beside, smallest, to_numpy
from gradapt.transport.problem.problem import Problem
from gradapt.transport.problem.reductions import groups

__all__ = ["NeighbourInformation", "nearest_neighbours", "shared_information"]


@dataclass(frozen=True)
class NeighbourInformation:
    """Mutual information between the label of a target row and the labels of its nearest neighbours, in nats.

    It is high where a candidate's classes are where the target's samples lie close together, and each of them is
    used: one label for all rows has none. It does not see what the classes are called (`Names`).

    Parameters
    ----------
    n_neighbours : int
    max_rows : int
        Of a larger target so many rows are drawn, and neighbours are looked for among these.
    feature_space : bool
        Measure distances in the space of the source model's encoder; otherwise between the samples themselves, or in
        that space where they hold words or missing values.
    own_scale : bool
        Divide each feature by its deviation in the target first, for tables whose columns have units of their own.

    Examples
    --------
    >>> from gradapt.choice import choose
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.methods import GOAT
    >>> choose({"two": GOAT(2)}, moving_gaussians((0, 1.5)), score=NeighbourInformation(5)).best
    'two'
    """

    n_neighbours: int = 10
    max_rows: int = 10_000
    feature_space: bool = False
    own_scale: bool = False

    def __post_init__(self) -> None:
        if self.n_neighbours < 1:
            raise InputError(f"n_neighbours must be at least 1, got {self.n_neighbours!r}")
        if self.max_rows < 2:
            raise InputError(f"max_rows must be at least 2, got {self.max_rows!r}")

    def judge(self, runs: Runs) -> Judgement:
        points, place = self._points(runs)
        rows = _judged(runs.target, self.max_rows)
        some = points[beside(points, rows)]
        # Equal rows have equal labels, whatever the candidate: they are one row that weighs more.
        group = groups(to_numpy(some) if is_tensor(some) else some)
        first = np.unique(group, return_index=True)[1]
        mass = check_weights(runs.target.weights, len(runs.target))[rows]
        weights = np.asarray(np.bincount(group, mass), dtype=np.float64)
        rows = rows[first]
        around = nearest_neighbours(self._scaled(some[beside(some, first)]), self.n_neighbours)
        k = len(runs.learner.classes)
        contributions = {name: shared_information(runs.labels(name)[rows], around, k, weights) for name in runs.names}
        drawn = f" of {len(runs.target):,}" if len(rows) < len(runs.target) else ""
        words = (
            f"information (nats) between the label of a target row and those of its {around.shape[1]} nearest "
            f"neighbours{place}, on {len(rows):,}{drawn} rows"
        )
        return Judgement(contributions, weights, words, rows)

    def _points(self, runs: Runs) -> tuple[Any, str]:
        """The rows as points, and in words where they are not the samples themselves."""
        if not self.feature_space:
            try:
                return runs.target.matrix(), ""
            except InputError:
                pass  # words and missing values have no distance of their own
        return runs.workspace.encoded_domain(runs.learner, runs.target).matrix(), " in the space of the encoder"

    def _scaled(self, points: Any) -> Any:
        if not self.own_scale:
            return points
        if hasattr(points, "tocsr"):
            spread = np.sqrt(np.maximum(points.multiply(points).mean(axis=0) - np.square(points.mean(axis=0)), 0.0))
            return points / np.where(spread > 0, spread, 1.0)
        spread = points.std(0)
        spread[spread == 0] = 1.0
        return points / spread


def nearest_neighbours(points: Any, n_neighbours: int) -> NDArray[np.int64]:
    """Row numbers of the nearest other rows of each row, in no order; distances are formed block by block.

    With fewer rows there are fewer neighbours; a single row has none. Tensors stay on their device.

    >>> nearest_neighbours(np.array([[0.0], [1.0], [5.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    n = points.shape[0]
    count = min(n_neighbours, n - 1)
    if count < 1:
        return np.empty((n, 0), dtype=np.int64)
    found = []
    for part, block in Problem.of(points, points).cost_blocks():
        own = np.arange(part.start, part.stop)
        block[beside(block, own - part.start), beside(block, own)] = np.inf
        found.append(to_numpy(smallest(block, count, axis=1)[0]))
    return np.concatenate(found).astype(np.int64)


def shared_information(
    labels: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """What each row adds to the mutual information of labels and neighbours' labels, which is their weighted mean.

    Parameters
    ----------
    labels : int array of length n
    neighbours : int array of shape (n, m)
        Row numbers.
    n_classes : int
    weights : float array of length n, optional

    Examples
    --------
    >>> labels, around = np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [2]])
    >>> np.exp(shared_information(labels, around, 2)).round(9).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    n, m = neighbours.shape
    if m == 0:
        return np.zeros(n)
    mass = check_weights(weights, n)
    cells = labels[:, None] * n_classes + labels[neighbours]
    joint = np.bincount(cells.ravel(), np.repeat(mass / m, m), minlength=n_classes**2)
    table = (joint / joint.sum()).reshape(n_classes, n_classes)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    # Cells without mass are not asked for, but by rows without weight.
    ratio = np.divide(table, expected, out=np.ones_like(table), where=(table > 0) & (expected > 0))
    return np.asarray(np.log(ratio).ravel()[cells].mean(axis=1))


def _judged(target: Domain, most: int) -> NDArray[np.int64]:
    """Rows with weight, some of them where there are many."""
    rows = np.arange(len(target)) if target.weights is None else np.flatnonzero(target.weights > 0)
    return rows[some_rows(len(rows), most, derive_seed("neighbours", target.name))]

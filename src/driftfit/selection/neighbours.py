"""Neighbours in the target: a labelling that follows its structure says much about the labels next door."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import check_weights
from driftfit.domains import Domain, is_tensor, some_rows
from driftfit.errors import InputError
from driftfit.methods.alignment import measured_columns
from driftfit.methods.pseudo_labels import class_shares, total_variation
from driftfit.seeds import derive_seed
from driftfit.selection.evidence import Judgement
from driftfit.selection.runs import Runs
from driftfit.transport.arrays import as_double, beside, smallest, to_numpy
from driftfit.transport.problem import Problem
from driftfit.transport.reductions import groups

# Rows of each end that a column's values are counted in.
_LOOKED_AT = 1_000


@dataclass(frozen=True)
class NeighbourInformation:
    """Mutual information between the label of a target row and the labels of its nearest neighbours, in nats.

    It is high where a candidate's classes are where the target's samples lie close together, and each of them is
    used: one label for all rows has none. It does not see what the classes are called (`Names`).

    ``max_rows``: of a larger domain so many rows are drawn, and neighbours are looked for among these.
    ``feature_space``: measure distances in the space of the source model's encoder; otherwise between the samples
    themselves, or in that space where they hold words or missing values. ``own_scale``: divide each feature by its
    deviation in the target first, for tables whose columns have units of their own. ``measured``: compare rows of a
    table, which are no images, by their measured columns alone (more than ten distinct values), where there are any. A
    model that leans on a flag gives rows that share it one label, and would be praised for that. ``with_source``: use
    what the labelled source knows, in two ways. The information is multiplied by the share of the rows that need not
    change class for the target to have the source's class proportions. The information between a row's label and the
    labels of its nearest neighbours in the source is added, or taken away where they agree on fewer rows than by
    chance. Where there are given domains, half of that comes from neighbours in the last of them: there most neighbours
    in the domain before decide on a label, from the source on. For this each domain is standardised by itself.

    >>> from driftfit.selection.chosen import choose
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.methods import GOAT
    >>> choose({"two": GOAT(2)}, moving_gaussians((0, 1.5)), score=NeighbourInformation(5)).best
    'two'
    """

    n_neighbours: int = 10
    max_rows: int = 10_000
    feature_space: bool = False
    own_scale: bool = False
    measured: bool = False
    with_source: bool = False

    def __post_init__(self) -> None:
        if self.n_neighbours < 1:
            raise InputError(f"n_neighbours must be at least 1, got {self.n_neighbours!r}")
        if self.max_rows < 2:
            raise InputError(f"max_rows must be at least 2, got {self.max_rows!r}")

    def judge(self, runs: Runs) -> Judgement:
        seen = self._neighbourhood(runs)
        k = len(runs.learner.classes)
        found = {}
        for name in runs.names:
            said = runs.labels(name)[seen.rows]
            own = shared_information(said, said[seen.around], k, seen.weights)
            found[name] = seen.held_against_source(said, own, k) if self.with_source else own
        drawn = f" of {len(runs.target):,}" if len(seen.rows) < len(runs.target) else ""
        more = ", with those in the source" if self.with_source else ""
        words = (
            f"information (nats) between the label of a target row and those of its {seen.around.shape[1]} nearest "
            f"neighbours{seen.words}{more}, on {len(seen.rows):,}{drawn} rows"
        )
        return Judgement(found, seen.weights, words, seen.rows)

    def along(self, runs: Runs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the target, and labels of their nearest neighbours in the domain before it.

        The source has its own labels; in a given domain each row has the one that most of its neighbours in the domain
        before have.
        """
        seen = replace(self, with_source=True)._neighbourhood(runs)
        return seen.rows, seen.witnesses[-1]

    def _neighbourhood(self, runs: Runs) -> _Neighbourhood:
        """What does not depend on any candidate, looked for once."""
        if self not in runs.looked_up:
            runs.looked_up[self] = self._looked_for(runs)
        found: _Neighbourhood = runs.looked_up[self]
        return found

    def _looked_for(self, runs: Runs) -> _Neighbourhood:
        space, k = _Space.of(runs, self.feature_space), len(runs.learner.classes)
        if self.measured:
            space = space.measured()
        points, rows, weights = self._distinct(space, -1, self.max_rows)
        scaled = standardised(points) if self.own_scale else points
        seen = _Neighbourhood(rows, weights, nearest_neighbours(scaled, self.n_neighbours), space.words)
        if not self.with_source:
            return seen
        # As many rows as of the target: neighbours are nearer where there are more of them.
        there, chosen, _ = self._distinct(space, 0, points.shape[0])
        codes = runs.sequence.source.codes(runs.learner.classes)
        shares = class_shares(codes, k, runs.sequence.source.weights)
        codes = codes[chosen]
        witnesses = [self._across(points, there, codes)]
        if len(space.domains) > 2:
            for place in range(1, len(space.domains) - 1):
                nearer = self._distinct(space, place, points.shape[0])[0]
                there, codes = nearer, most_frequent(self._across(nearer, there, codes))
            witnesses.append(self._across(points, there, codes))
        return replace(seen, shares=shares, witnesses=tuple(witnesses))

    def _across(self, points: Any, among: Any, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels of each point's nearest neighbours in another domain."""
        return codes[nearest_neighbours(standardised(points), self.n_neighbours, standardised(among))]

    @staticmethod
    def _distinct(space: _Space, place: int, most: int) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """Some rows of a domain as points, each once, with their numbers and weights."""
        domain = space.domains[place]
        rows = _judged(domain, most)
        points = domain.matrix()
        some = points[beside(points, rows)]
        # Equal rows have equal labels, whatever the candidate: they are one row that weighs more.
        group = groups(to_numpy(some) if is_tensor(some) else some)
        first = np.unique(group, return_index=True)[1]
        mass = check_weights(domain.weights, len(domain))[rows]
        found = some[beside(some, first)]
        if space.columns is not None:
            found = found[:, beside(found, space.columns)]
        return found, rows[first], np.asarray(np.bincount(group, mass), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Neighbourhood:
    """Judged rows of the target, their weights, and their neighbours; then what the labelled source knows.

    ``shares``: class proportions of the source. ``witnesses``: labels of the nearest neighbours in the source, and
    those that came along the given domains, where there are.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    around: NDArray[np.int64]
    words: str
    shares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    witnesses: tuple[NDArray[np.int64], ...] = ()

    def held_against_source(self, said: NDArray[np.int64], own: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Information about neighbours in the target, as far as the labelled source bears it out."""
        kept = 1.0 - total_variation(class_shares(said, k, self.weights), self.shares)
        told = [named_information(said, around, k, self.weights) for around in self.witnesses]
        return np.asarray(kept * own + np.mean(told, axis=0))


@dataclass(frozen=True, eq=False)
class _Space:
    """Source, given domains and target where distances are measured, and in words where that is not the input."""

    domains: tuple[Domain, ...]
    words: str
    columns: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, runs: Runs, feature_space: bool) -> _Space:
        domains = (*runs.sequence[:-1], runs.target)
        if not feature_space:
            try:
                runs.target.matrix()
                return cls(domains, "")
            except InputError:
                pass  # words and missing values have no distance of their own
        encoded = tuple(runs.workspace.encoded_domain(runs.learner, domain) for domain in domains)
        return cls(encoded, " in the space of the encoder")

    def measured(self) -> _Space:
        """Compared by the measured columns of a table; by all where none is measured, and what is no table as it is."""
        if self.words or any(sp.issparse(own.samples) or len(own.samples.shape) != 2 for own in self.domains):
            return self
        some = []
        for own in (self.domains[0], self.domains[-1]):
            points = own.matrix()
            some.append(to_numpy(points[beside(points, some_rows(len(own), _LOOKED_AT, derive_seed("columns")))]))
        columns = np.flatnonzero(measured_columns(*some))
        if len(columns) in (0, some[0].shape[1]):
            return self
        return _Space(self.domains, " by measured columns", columns)


def standardised(points: Any) -> Any:
    """Each feature about its mean, in units of its deviation; constant ones become 0. Sparse points keep their zeros.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if sp.issparse(points):
        mean = np.asarray(points.mean(axis=0)).ravel()
        square = np.asarray(points.multiply(points).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return sp.csr_array(points @ sp.diags_array(1.0 / np.where(spread > 0, spread, 1.0)))
    centred = as_double(points)
    centred = centred - centred.mean(0)
    spread = (centred**2).mean(0) ** 0.5
    spread[spread == 0] = 1.0
    return centred / spread


def nearest_neighbours(points: Any, n_neighbours: int, among: Any = None) -> NDArray[np.int64]:
    """Row numbers of the nearest other rows of each row, in no order; distances are formed block by block.

    With fewer rows there are fewer neighbours; a single row has none. Tensors stay on their device.

    ``points``: of shape (n, d). ``among``: of shape (m, d); where the neighbours are looked for, instead of among the
    other points.

    >>> nearest_neighbours(np.array([[0.0], [1.0], [5.0]]), 1).ravel().tolist()
    [1, 0, 1]
    >>> nearest_neighbours(np.array([[0.0], [1.0], [5.0]]), 1, np.array([[4.0], [0.0]])).ravel().tolist()
    [1, 1, 0]
    """
    n = points.shape[0]
    count = min(n_neighbours, n - 1 if among is None else among.shape[0])
    if count < 1:
        return np.empty((n, 0), dtype=np.int64)
    found = []
    for part, block in Problem.of(points, points if among is None else among).cost_blocks():
        if among is None:
            own = np.arange(part.start, part.stop)
            block[beside(block, own - part.start), beside(block, own)] = np.inf
        found.append(to_numpy(smallest(block, count, axis=1)[0]))
    return np.concatenate(found).astype(np.int64)


def shared_information(
    labels: NDArray[np.int64],
    around: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """What each row adds to the mutual information of labels and neighbours' labels, which is their weighted mean.

    ``labels``: of length n. ``around``: of shape (n, m); labels of the neighbours. ``weights``: of length n.

    >>> labels = np.array([0, 0, 1, 1])
    >>> np.exp(shared_information(labels, labels[:, None], 2)).round(9).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    n, m = around.shape
    if m == 0:
        return np.zeros(n)
    mass = check_weights(weights, n)
    cells = labels[:, None] * n_classes + around
    joint = np.bincount(cells.ravel(), np.repeat(mass / m, m), minlength=n_classes**2)
    table = (joint / joint.sum()).reshape(n_classes, n_classes)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    # Cells without mass are not asked for, but by rows without weight.
    ratio = np.divide(table, expected, out=np.ones_like(table), where=(table > 0) & (expected > 0))
    return np.asarray(np.log(ratio).ravel()[cells].mean(axis=1))


def named_information(
    labels: NDArray[np.int64],
    around: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """`shared_information`, negative where labels and neighbours agree on fewer rows than by chance.

    >>> labels = np.array([0, 0, 1, 1])
    >>> np.exp(named_information(labels, 1 - labels[:, None], 2)).round(9).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    n, m = around.shape
    information = shared_information(labels, around, n_classes, weights)
    if m == 0:
        return information
    mass = check_weights(weights, n)
    agreed = float(mass @ (labels[:, None] == around).mean(axis=1))
    there = class_shares(around.ravel(), n_classes, np.repeat(mass, m))
    by_chance = float(class_shares(labels, n_classes, mass) @ there)
    return information if agreed >= by_chance else -information


def most_frequent(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The label that each row holds most often, the first of equally frequent ones.

    >>> most_frequent(np.array([[0, 2, 2], [1, 0, 3]])).tolist()
    [2, 0]
    """
    votes = (labels[:, :, None] == np.arange(labels.max(initial=0) + 1)).sum(axis=1)
    return np.asarray(votes.argmax(axis=1))


def _judged(target: Domain, most: int) -> NDArray[np.int64]:
    """Rows with weight, some of them where there are many."""
    rows = np.arange(len(target)) if target.weights is None else np.flatnonzero(target.weights > 0)
    return rows[some_rows(len(rows), most, derive_seed("neighbours", target.name))]

"""Do two windows look alike once every column has a unit and an offset of its own in each of them?

A scale that is taken from the rows themselves brings them closer together than chance would: a plain permutation test
of scaled rows finds too little. So the share of every statistic that the estimated unit and offset take away is taken
out of it first, to first order, and what is left is exchanged (tests with estimated parameters; Durbin 1973).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from driftfit.domains import DomainSequence, LabelledDomain
from driftfit.methods import Alignment
from driftfit.methods.alignment import dense_matrix, measured_columns
from driftfit.seeds import derive_seed
from driftfit.selection.accuracy import Overlap, overlap
from driftfit.selection.dependence import Units, numbers_of
from driftfit.selection.exchange import Sides

_N_EXCHANGES = 499
# Waves along a direction, in radians for each deviation: wide ones see skewness, narrow ones steps and gaps.
_WAVES, _WIDE_WAVES = (0.75, 1.5, 3.0), (0.75, 1.5)
_MOST_PAIRS = 300
# Directions between classes are learnt from the other parts of the source.
_N_FOLDS = 5
# Mean distances from the middle beyond which a value moves the middle no further.
_FARTHEST = 1.5
_ROUNDS = 40
# Mean distances from the middle for one deviation of a normal column.
_NORMAL = 0.8
# A value so many deviations out counts as this far: small errors of the scale are large there.
_OUTLYING = 3.0
_SHRUNK = 0.1

Floats = NDArray[np.float64]
# Rows, and the directions (one in each row of a matrix) along which these are seen.
Seen = Iterable[tuple[NDArray[np.int64], Floats]]


def own_scale_chance(ends: DomainSequence, seed: int = 0) -> float:
    """Permutation p-value of what still differs between source and target, each column in its own scale.

    Compared are the mean waves (characteristic functions) along single columns, along the sums and differences of two
    columns, and along the directions in which the source's classes differ, as other class shares show there first.
    Flags and codes have no unit: they stay as they are. Whole units change sides (`Sides`).

    ``ends``: source and target, of numbers; labels but the source's are not looked at.

    >>> from driftfit.domains import Domain
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(600) % 2
    >>> old, new, fewer = (rng.normal(size=(600, 2)) + 3.0 * own[:, None] for own in (y, y, np.arange(600) % 8 == 0))
    >>> same, other = (own_scale_chance(DomainSequence([Domain(old, y), Domain(x * 4.0 + 20.0)])) for x in (new, fewer))
    >>> same > 0.05, other < 0.05
    (True, True)
    """
    rng = np.random.default_rng(derive_seed(seed, "own scale"))
    pair, matrices = (ends.source, ends.target), (numbers_of(ends.source), numbers_of(ends.target))
    units = Units.of(pair, matrices)
    judged = slice(None) if units.columns is None else units.columns
    scaled = _Scaled.of(*(rows[:, judged] for rows in matrices))
    d, sides = scaled.rows.shape[1], Sides.of(*units.rows)
    if d == 0 or not sides.sayable:
        return 1.0
    everywhere = np.arange(len(scaled.rows))
    drawn = np.hstack([sides.observed(), sides.drawn(_N_EXCHANGES, rng)])

    def differences(seen: Seen, waves: tuple[float, ...]) -> Floats:
        found = scaled.waves(seen, waves).T @ drawn
        return np.asarray(found / np.maximum(found.std(axis=1, keepdims=True), 1e-9))

    columns = differences([(everywhere, np.eye(d))], _WAVES)
    found = [np.square(columns).reshape(-1, d, columns.shape[1]).sum(axis=0).max(axis=0), np.abs(columns).max(axis=0)]
    if d > 1:
        pairs = differences([(everywhere, _pairs(d, rng))], _WIDE_WAVES)
        found += [np.square(pairs).sum(axis=0), np.abs(pairs).max(axis=0)]
    found.append(
        np.square(differences(_between_classes(scaled.clipped, ends.source, units.rows[0], rng), _WAVES)).sum(axis=0)
    )
    # Each statistic by its rank among its own exchanges; the rarest counts, as often as it is that rare by chance.
    rarest = rankdata(-np.round(found, 9), method="max", axis=1).min(axis=0)
    return float((rarest <= rarest[0]).mean())


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Rows of both windows in their own scales, and what each row did to these.

    ``rows``: of shape (n, d); of the source and then of the target. ``columns``: those that have a scale. ``middle``
    and ``spread``: by how much a row moves the middle of its window (in units of the spread) and the logarithm of its
    spread, times the number of its rows (influence functions).
    """

    rows: Floats
    columns: NDArray[np.bool_]
    middle: Floats
    spread: Floats

    @classmethod
    def of(cls, a: Floats, b: Floats) -> _Scaled:
        measured = measured_columns(a, b)
        rows = np.concatenate([a, b])
        codes = rows[:, ~measured]
        rows[:, ~measured] = (codes - codes.mean(axis=0)) / _positive(codes.std(axis=0))
        # Where one value is that of most rows it is the middle, and a row hardly moves it.
        common = np.all([(own == np.median(own, axis=0)).mean(axis=0) > 0.5 for own in (a, b)], axis=0)[measured]
        q = np.concatenate([_own_scale(own[:, measured], common) for own in (a, b)])
        inside, sign = np.abs(q) < _FARTHEST, np.sign(q).mean(axis=0)
        spread = np.abs(q) - 1.0
        slope = np.maximum(inside.mean(axis=0) - (q * inside).mean(axis=0) * sign, 0.1)
        middle = (np.clip(q, -_FARTHEST, _FARTHEST) - (q * inside).mean(axis=0) * spread) / slope
        middle[:, common] = 0.0
        rows[:, measured] = _NORMAL * q
        return cls(rows, measured, _NORMAL * middle, spread - sign * middle)

    @property
    def clipped(self) -> Floats:
        """The rows, none of their values far out."""
        return np.clip(self.rows, -_OUTLYING, _OUTLYING)

    def waves(self, seen: Seen, waves: tuple[float, ...]) -> Floats:
        """Cosines and sines along directions, less what every row does to them through the scales."""
        n, d = self.rows.shape
        parts, inside = list(seen), np.abs(self.rows) < _OUTLYING
        found = np.empty((n, 2 * len(waves) * len(parts[0][1])))
        moved, spread = np.zeros((2, found.shape[1], d))
        for rows, directions in parts:
            along = self.clipped[rows] @ directions.T
            angles = np.hstack([wave * along for wave in waves])
            factors = np.repeat(waves, len(directions))
            found[rows] = np.hstack([np.cos(angles), np.sin(angles)])
            slopes = np.hstack([-factors * np.sin(angles), factors * np.cos(angles)])
            each = np.tile(directions, (2 * len(waves), 1))
            moved += slopes.T @ inside[rows] * each / n
            spread += slopes.T @ (self.rows * inside)[rows] * each / n
        return np.asarray(found - self.middle @ moved[:, self.columns].T - self.spread @ spread[:, self.columns].T)


def _own_scale(x: Floats, common: NDArray[np.bool_]) -> Floats:
    """Each column less its middle, in mean distances from it: Huber's middle, as a few values far out move the mean."""
    median = np.median(x, axis=0)
    middle = np.where(common, median, x.mean(axis=0))
    for _ in range(_ROUNDS):
        q = (x - middle) / _positive(np.abs(x - middle).mean(axis=0))
        step = np.clip(q, -_FARTHEST, _FARTHEST).mean(axis=0) / np.maximum((np.abs(q) < _FARTHEST).mean(axis=0), 0.1)
        middle = np.where(common, median, middle + step * np.abs(x - middle).mean(axis=0))
    return np.asarray((x - middle) / _positive(np.abs(x - middle).mean(axis=0)))


def _positive(size: Floats) -> Floats:
    return np.asarray(np.where(size > 0, size, 1.0))


def _pairs(d: int, rng: np.random.Generator) -> Floats:
    """Directions along the sum and the difference of two columns; some pairs where there are many."""
    one, other = np.triu_indices(d, 1)
    chosen = rng.permutation(len(one))[:_MOST_PAIRS]
    first, second = np.eye(d)[one[chosen]], np.eye(d)[other[chosen]]
    return np.asarray(np.vstack([first + second, first - second]) / np.sqrt(2.0))


def _between_classes(
    rows: Floats, source: LabelledDomain, units: NDArray[np.int64], rng: np.random.Generator
) -> list[tuple[NDArray[np.int64], Floats]]:
    """Fisher's direction towards each class; for source rows it is learnt from the other folds alone."""
    codes = np.unique(source.labels, return_inverse=True)[1]
    fold = (rng.permutation(int(units.max()) + 1) % _N_FOLDS)[units]
    found = []
    for number in np.unique(fold):
        others = np.flatnonzero(fold != number)
        directions = _towards_classes(rows[others], codes[others], int(codes.max()))
        found.append((np.flatnonzero(fold == number), _of_unit_spread(directions, rows)))
    mean = np.mean([directions for _, directions in found], axis=0)
    return [*found, (np.arange(len(codes), len(rows)), _of_unit_spread(mean, rows))]


def _of_unit_spread(directions: Floats, rows: Floats) -> Floats:
    return np.asarray(directions / _positive((rows @ directions.T).std(axis=0))[:, None])


def _towards_classes(rows: Floats, codes: NDArray[np.int64], last: int) -> Floats:
    means = np.zeros((last + 1, rows.shape[1]))
    for code in np.unique(codes):
        means[code] = rows[codes == code].mean(axis=0)
    within = np.atleast_2d(np.cov((rows - means[codes]).T))
    within = (1.0 - _SHRUNK) * within + np.diag(_SHRUNK * np.diag(within) + 1e-6)
    present = np.isin(np.arange(last + 1), codes)
    apart = np.where(present[:, None], means - rows.mean(axis=0), 0.0)
    return np.asarray(np.linalg.solve(within, apart.T).T)


def raw_overlap(sequence: DomainSequence, seed: int = 0) -> Overlap:
    """Of source and target as they are."""
    masked = sequence.masked()
    return overlap(masked.source.matrix(), masked.target.matrix(), seed=seed)


def aligned_windows(alignment: Alignment, sequence: DomainSequence, seed: int = 0) -> DomainSequence:
    """Source and target where the alignment puts them.

    Counts and rounded numbers lie on a grid. Windows that are mapped by themselves lie on different grids, and a
    classifier would tell their rows apart by nothing else: so each window's values are spread over its grid first.
    """
    ends = sequence.ends()
    matrices = [dense_matrix(domain) for domain in ends]
    columns, rng = np.flatnonzero(measured_columns(*matrices)), np.random.default_rng(derive_seed(seed, "ties"))
    spread = [off_grid(own, columns, rng) for own in matrices]
    windows = DomainSequence(domain.with_samples(own) for domain, own in zip(ends, spread, strict=True))
    return alignment.aligned(windows)[0]


def off_grid(rows: NDArray[np.float64], columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Values that lie on a grid, drawn evenly from half way to the values beside them.

    A column lies on a grid where most of its values occur several times, whatever its most frequent one is: many
    noughts beside measured values are no grid.

    ``rows``: of shape (n, d). ``columns``: those that are looked at.

    >>> counts = np.repeat(np.arange(12.0), 3)[:, None]
    >>> spread = off_grid(counts, np.array([0]), np.random.default_rng(0))
    >>> len(np.unique(spread)), np.array_equal(spread.round(), counts)
    (36, True)
    """
    rows = rows.copy()
    for column in columns:
        values, place, counts = np.unique(rows[:, column], return_inverse=True, return_counts=True)
        tied, others = counts > 1, np.arange(len(counts)) != counts.argmax()
        if 2 * counts[tied & others].sum() <= counts[others].sum():
            continue
        gaps = np.diff(values)
        # A value far from all others is no wider than they are.
        half = np.minimum(gaps, np.median(gaps)) / 2.0
        below, above = np.append(half[:1], half), np.append(half, half[-1:])
        moved = tied[place]
        own = place[moved]
        rows[moved, column] += rng.random(len(own)) * (below + above)[own] - below[own]
    return rows

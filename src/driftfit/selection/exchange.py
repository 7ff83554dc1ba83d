"""Did anything move between two windows? Whole units change sides, so that rows that hang together stay together.

A unit is what can be exchanged where nothing moved: a row, a block of neighbours, or a declared group such as a
customer. Where the units of both windows follow one law, the distance between the windows is as likely to be the
largest of all exchanges as any other, for any number of rows and whatever happens inside a unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from scipy.stats import rankdata

from driftfit.domains import Domain, DomainSequence, some_rows
from driftfit.methods.alignment import measured_columns
from driftfit.seeds import derive_seed
from driftfit.selection.dependence import Units, numbers_of, row_units

# Share of pairs of windows without any change that may be called changed.
LEVEL = 0.05
N_EXCHANGES = 199
# After so many exchanges a p-value of this size is left as it is.
_FIRST_EXCHANGES, _CLEARLY_SAME = 99, 0.2
# Rows of either side between which all distances are taken, and values of either side that are ranked.
_MOST_PAIRED, _MOST_VALUES, _MOST_ROWS = 300, 100_000, 2_000
# Widths of the kernels: so large a share of all pairs lies closer.
_CLOSE_PAIRS = (0.05, 0.3)
# With more columns the products of any two are too many to be looked at.
_MOST_COLUMNS_IN_PAIRS = 30

Values = list[NDArray[np.float64]]


@dataclass(frozen=True)
class Moved:
    """Whether anything differs between source and target beyond chance.

    ``p``: probability of such a difference, or a larger one, by chance. ``unit``: what was exchanged: ``"group"``,
    ``"block"`` or ``"row"``. ``n_units``: how many of them source and target have. ``n_rows``: rows of source and
    target. ``sayable``: whether there are units enough that any difference could have been seen. ``n_slow`` and
    ``n_columns``: columns that follow themselves over too much of a window to be judged, and all columns. ``time``:
    rows that are worth one independent row. ``columns``: the same for each column by itself, adjusted for their number,
    where it was asked for; 1 for those that cannot be judged, and never less than ``p``: a column moved only where
    something did.
    """

    p: float
    unit: str
    n_units: tuple[int, int]
    n_rows: tuple[int, int] = (0, 0)
    sayable: bool = True
    n_slow: int = 0
    n_columns: int = 0
    time: float = 1.0
    columns: tuple[float, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether chance would seldom do this."""
        return self.p < LEVEL

    @property
    def sentence(self) -> str:
        """The finding in words.

        >>> print(Moved(0.43, "group", (40, 40)).sentence)
        nothing speaks for a change (p 0.43, 40 groups in each window)
        >>> print(Moved(0.005, "row", (400, 400)).sentence)
        something moved (p 0.005, 400 rows in each window)
        """
        if not self.sayable:
            return f"{self._too_few}: a change cannot be told from chance"
        found = "something moved" if self.rejected else "nothing speaks for a change"
        slow = (
            f"; {self.n_slow} of {self.n_columns} columns follow themselves too closely to be judged"
            if self.n_slow
            else ""
        )
        return f"{found} (p {self.p:.2g}, {self._counted}{slow})"

    @property
    def _counted(self) -> str:
        one, other = self.n_units
        if self.unit == "block":
            return f"{_each(*self.n_rows, 'row')} that follow each other and count as about {self._worth}"
        return _each(one, other, self.unit)

    @property
    def _worth(self) -> int:
        return max(round(min(self.n_rows) / self.time), 1)

    @property
    def _too_few(self) -> str:
        one, other = self.n_units
        if self.unit == "block":
            return f"the rows follow each other so closely that {min(self.n_rows)} rows count as about {self._worth}"
        few = _each(one, other, self.unit)
        return f"{few} {'is' if few.startswith('1 ') else 'are'} too few"


def _each(one: int, other: int, word: str) -> str:
    if one == other:
        return f"{one} {word}{'s' if one != 1 else ''} in each window"
    return f"{one} and {other} {word}s in the two windows"


@dataclass(frozen=True, eq=False)
class Sides:
    """Ways to share the rows of two samples between two sides, whole units at a time.

    A unit with rows in one sample goes to either side, and each side keeps its number of such units. A unit
    with rows in both samples, such as a customer seen in both windows, is exchanged with itself: its two parts
    change sides or stay. What it has of its own is then on both sides whatever happens, as it is in the samples.

    ``units``: of the rows of both samples, one after the other. ``n_first``: rows of the first sample.
    """

    units: NDArray[np.int64]
    n_first: int

    @classmethod
    def of(cls, units_a: NDArray[np.int64], units_b: NDArray[np.int64], *, shared: bool = False) -> Sides:
        """With equal numbers for one unit on both sides (``shared``), or not."""
        a, b = (np.asarray(own, dtype=np.int64) for own in (units_a, units_b))
        both = np.concatenate([a, b if shared else b - b.min() + a.max() + 1])
        return cls(np.unique(both, return_inverse=True)[1].astype(np.int64), len(a))

    @property
    def counts(self) -> tuple[int, int, int]:
        """Units in the first sample alone, in the second alone, and in both."""
        first, second = self._present
        both = int((first & second).sum())
        return int(first.sum()) - both, int(second.sum()) - both, both

    @property
    def sayable(self) -> bool:
        """Whether even the rarest of all exchanges is rare enough to reject."""
        one, other, both = self.counts
        ways = comb(one + other, one) << both
        # With equally many units every exchange has a mirror image with the same distance.
        return ways > (2 if one == other else 1) / LEVEL

    def observed(self) -> NDArray[np.float64]:
        """The sides as they are, as one column."""
        return self._weights((np.arange(len(self.units)) < self.n_first)[:, None])

    def drawn(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """That many exchanges, one in each column: weights of sum 1 on one side and of sum -1 on the other."""
        first, second = self._present
        alone = np.flatnonzero(first ^ second)
        flips = rng.random((len(first), n)) < 0.5
        goes = np.zeros((len(first), n), dtype=bool)
        goes[alone] = rng.permuted(np.repeat(first[alone][:, None], n, axis=1), axis=0)
        here = (np.arange(len(self.units)) < self.n_first)[:, None]
        paired = (first & second)[self.units]
        return self._weights(np.where(paired[:, None], here ^ flips[self.units], goes[self.units]))

    @property
    def _present(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        found = np.zeros((2, int(self.units.max()) + 1), dtype=bool)
        found[0, self.units[: self.n_first]] = True
        found[1, self.units[self.n_first :]] = True
        return found[0], found[1]

    @staticmethod
    def _weights(on_first: NDArray[np.bool_]) -> NDArray[np.float64]:
        n = on_first.sum(axis=0)
        return np.asarray(np.where(on_first, 1.0 / n, -1.0 / (len(on_first) - n)))


def exchange_test(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    units_a: NDArray[np.int64],
    units_b: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    n_exchanges: int = N_EXCHANGES,
    labels: NDArray[np.int64] | None = None,
    shared: bool = False,
) -> float:
    """Permutation p-value of the largest of several distances between two samples, whole units changing sides.

    The distances are: of single columns, the largest difference of the mean rank, of the mean distance from the middle
    rank, of the distribution functions, and of the shares of codes, and how many rows of one sample lie beyond all of
    the other; of any two columns, the difference of their rank correlation; and of all columns together, the energy
    distance and two mean discrepancies of Gaussian kernels, on normal scores, so that neither the unit nor the shape of
    a column matters. Each is measured in deviations of its own exchanges. With too few units to reject anything the
    p-value is large (`Sides.sayable`).

    ``units_a`` and ``units_b``: the unit of every row, as `row_units` gives it. ``labels``: a class for every row of
    ``a`` and then of ``b``, by a model that was trained on none of them: the distances of all columns together are then
    also taken between rows less the mean of their class. ``shared``: equal numbers in ``units_a`` and ``units_b`` are
    one unit, seen on both sides; otherwise no unit is. How such a unit is exchanged is told in `Sides`.

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 100, 3))
    >>> each, tens = np.arange(100), np.arange(100) // 10
    >>> exchange_test(x, y, each, each, rng) > 0.05, exchange_test(x, y + 1.0, tens, tens, rng)
    (True, 0.005)
    """
    sides = Sides.of(units_a, units_b, shared=shared)
    rows = np.concatenate([a, b])
    columns = _Columns.of(rows)
    # All pairs are too many: some rows of each side, which stay in their units.
    some = np.concatenate([some_rows(len(a), _MOST_PAIRED, rng), len(a) + some_rows(len(b), _MOST_PAIRED, rng)])
    scored = columns.normal[some]
    likeness = joint_likeness(scored, None if labels is None else np.asarray(labels)[some])
    if columns.normal.shape[1] == 0:
        return 1.0

    def families(drawn: NDArray[np.float64]) -> Values:
        return [*columns.distances(drawn), *_between(likeness, drawn[some])]

    def combined(values: Values) -> float:
        one_by_one, pairs = columns.largest(values[:2]), _standard(values[2]).max(axis=0, keepdims=True)
        return largest_of_exchanges(np.vstack([one_by_one, pairs, *values[3:]]))

    return _staged(sides, families, combined, n_exchanges, rng)


def alike(source: Domain, target: Domain, seed: int, what: str) -> float:
    """Chance of the difference between the rows of two domains that were made alike; ``what`` names how.

    Units are not shared between them: what made them alike moved the rows of one.
    """
    rng = np.random.default_rng(derive_seed(seed, "alike", what))
    return exchange_test(numbers_of(source), numbers_of(target), row_units(source), row_units(target), rng)


def column_chances(
    a: NDArray[np.float64], b: NDArray[np.float64], sides: Sides, rng: np.random.Generator, n_exchanges: int = 499
) -> NDArray[np.float64]:
    """P-values of each column by itself, adjusted for their number.

    By the exchanges of all columns at once, step by step from the largest difference (Westfall and Young 1993): as
    safe as Holm's correction, and columns that say the same count as one.

    ``sides``: of their rows.

    >>> rng = np.random.default_rng(0)
    >>> a, b, each = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + [0.0, 2.0], np.arange(100)
    >>> chances = column_chances(a, b, Sides.of(each, each), rng)
    >>> bool(chances[0] > 0.05), float(chances[1])
    (True, 0.002)
    """
    columns = _Columns.of(np.concatenate([a, b]))
    found = columns.each(columns.distances(np.hstack([sides.observed(), sides.drawn(n_exchanges, rng)]))[:2])
    order = np.argsort(found[:, 0])
    # The largest among this column and those that differ less.
    rivals = np.maximum.accumulate(found[order], axis=0)
    chances = (rivals >= found[order, :1] - 1e-9).mean(axis=1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(chances[::-1])[::-1]
    return adjusted


def moved(sequence: DomainSequence, seed: int = 0, *, each_column: bool = False) -> Moved:
    """Whether anything differs between the source and the target of a sequence beyond chance; no label is looked at.

    Groups are exchanged where both ends have them, else blocks of neighbours where the order of the rows shows that
    they follow each other, else rows. Columns that follow themselves over too much of a window are left out and named.

    ``sequence``: of numbers. ``each_column``: whether to test every column by itself, too.

    >>> rng = np.random.default_rng(0)
    >>> path = DomainSequence.from_arrays(rng.normal(size=(2, 200, 3)), labels=np.arange(200) % 2)
    >>> print(moved(path).rejected)
    False
    """
    ends: tuple[Domain, Domain] = (sequence.source, sequence.target)
    matrices = tuple(numbers_of(domain) for domain in ends)
    units = Units.of(ends, matrices)
    d = matrices[0].shape[1]
    counts, n_rows = (units.counts[0], units.counts[1]), (len(ends[0]), len(ends[1]))
    n_slow = 0 if units.columns is None else int((~units.columns).sum())
    if not units.sayable or not Sides.of(*units.rows, shared=True).sayable:
        return Moved(1.0, units.kind, counts, n_rows, False, n_slow, d, units.time, (1.0,) * d)
    rng = np.random.default_rng(derive_seed(seed, "moved"))
    chosen = [ranked_rows(domain, d, rng) for domain in ends]
    columns = np.ones(d, dtype=bool) if units.columns is None else units.columns
    a, b = (matrix[rows][:, columns] for matrix, rows in zip(matrices, chosen, strict=True))
    own = [unit[rows] for unit, rows in zip(units.rows, chosen, strict=True)]
    p = exchange_test(a, b, own[0], own[1], rng, shared=True)
    found = Moved(p, units.kind, counts, n_rows, True, n_slow, d, units.time)
    if not each_column or not found.rejected:
        return replace(found, columns=(1.0,) * d)
    chances = np.ones(d)
    chances[columns] = np.maximum(column_chances(a, b, Sides.of(own[0], own[1], shared=True), rng), p)
    return replace(found, columns=tuple(chances.tolist()))


def ranked_rows(domain: Domain, n_columns: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of a domain that are compared, in their order; by their weights where these differ."""
    most = int(np.clip(_MOST_VALUES // max(n_columns, 1), _MOST_PAIRED, _MOST_ROWS))
    weights = domain.uneven_weights
    if weights is None:
        return some_rows(len(domain), most, rng)
    there = min(int((weights > 0).sum()), most)
    return np.sort(rng.choice(len(domain), there, replace=False, p=weights / weights.sum()))


def joint_likeness(rows: NDArray[np.float64], labels: NDArray[np.int64] | None = None) -> list[NDArray[np.float32]]:
    """Likeness of all pairs of rows, by each distance; with labels also of the rows less the mean of their class.

    The energy distance sees wide moves; mean discrepancies of Gaussian kernels, so wide that a twentieth and three
    tenths of all pairs are close, see what happens inside a class.
    """
    found = _likeness(rows)
    if labels is not None:
        centred = rows.copy()
        for label in np.unique(labels):
            centred[labels == label] -= rows[labels == label].mean(axis=0)
        found += _likeness(centred)
    return found


def joint_test(
    likeness: list[NDArray[np.float32]], sides: Sides, rng: np.random.Generator, n_exchanges: int = N_EXCHANGES
) -> float:
    """Permutation p-value of the largest distance between two sides, by the likeness of all pairs of their rows."""
    return _staged(
        sides, lambda drawn: _between(likeness, drawn), lambda v: largest_of_exchanges(np.vstack(v)), n_exchanges, rng
    )


def largest_of_exchanges(values: NDArray[np.float64]) -> float:
    """Share of the exchanges (columns) whose largest value, each in its own deviations, reaches that of the first."""
    largest = _standard(values).max(axis=0)
    return float((largest >= largest[0] - 1e-9).mean())


def _staged(
    sides: Sides,
    families: Callable[[NDArray[np.float64]], Values],
    combined: Callable[[Values], float],
    n_exchanges: int,
    rng: np.random.Generator,
) -> float:
    first = min(_FIRST_EXCHANGES, n_exchanges)
    values = families(np.hstack([sides.observed(), sides.drawn(first, rng)]))
    found = combined(values)
    if found >= _CLEARLY_SAME or n_exchanges <= first:
        # More exchanges could not make this a rejection often enough to matter, and stopping only ever spares one.
        return found
    more = families(sides.drawn(n_exchanges - first, rng))
    return combined([np.hstack(pair) for pair in zip(values, more, strict=True)])


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row in deviations of its own exchanges; what never varies is 0."""
    if len(values) == 0:
        return np.zeros((1, values.shape[1]))
    scale = np.abs(values).max(axis=1, keepdims=True)
    spread = np.maximum(values.std(axis=1, keepdims=True), 1e-6 * scale + 1e-300)
    # Distances are of size 1: what is never larger than this is rounding.
    return np.where(scale > 1e-9, (values - values.mean(axis=1, keepdims=True)) / spread, 0.0)


def _between(likeness: list[NDArray[np.float32]], sides: NDArray[np.float64]) -> Values:
    """Each distance for each way to share the rows between two sides (column)."""
    drawn = sides.astype(np.float32)
    # Some rows of a side may be left out: the others have all of its weight.
    for side in (drawn > 0, drawn < 0):
        drawn /= np.where(side, np.maximum(np.abs(np.where(side, drawn, 0.0)).sum(axis=0), 1e-12), 1.0)
    return [(drawn * (field @ drawn)).sum(axis=0, dtype=np.float64)[None] for field in likeness]


def _likeness(rows: NDArray[np.float64]) -> list[NDArray[np.float32]]:
    distances = cdist(rows, rows).astype(np.float32)
    widths = np.quantile(distances[np.triu_indices(len(rows), 1)], _CLOSE_PAIRS)
    return [-distances, *(np.exp(-0.5 * (distances / width) ** 2) for width in widths if width > 0)]


def _rows_beyond(on_first: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """The most rows of one side below or above all of the other; ``ends``: places after which the value changes."""
    first, counts = np.cumsum(on_first, axis=0)[ends], (ends + 1)[:, None]
    last, rest = on_first.sum(axis=0) - first, len(on_first) - counts
    below = np.where((first == 0) | (first == counts), counts, 0).max(axis=0, initial=0)
    above = np.where((last == 0) | (last == rest), rest, 0).max(axis=0, initial=0)
    return np.asarray(np.maximum(below, above), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of both sides, ranked once.

    ``order``: of shape (n, d); rows in ascending order of each column. ``ends``: of shape (n, d); places in that order
    after which the value changes. ``scores``: of shape (n, m); whose means on both sides are compared, those of one
    column side by side. ``starts``: of length d; the first score of each column. ``pairs``: of shape (n, q); products
    of two columns. ``normal``: of shape (n, d); normal scores.
    """

    order: NDArray[np.int64]
    ends: NDArray[np.bool_]
    scores: NDArray[np.float64]
    starts: NDArray[np.int64]
    pairs: NDArray[np.float64]
    normal: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> _Columns:
        n, d = rows.shape
        order = np.argsort(rows, axis=0, kind="stable")
        ends = np.ones((n, d), dtype=bool)
        ends[:-1] = np.diff(np.take_along_axis(rows, order, axis=0), axis=0) != 0
        places = (rankdata(rows, axis=0) - 0.5) / n if d else rows
        measured = measured_columns(rows) if d else np.zeros(0, dtype=bool)
        scores: list[NDArray[np.float64]] = []
        starts: list[int] = []
        for column in range(d):
            starts.append(sum(part.shape[1] for part in scores))
            own = rows[:, column]
            if measured[column]:
                scores.append(np.column_stack([places[:, column] - 0.5, np.abs(places[:, column] - 0.5)]))
            else:
                scores.append((own[:, None] == np.unique(own)).astype(np.float64))
        normal = ndtri(places) if d else rows
        one, other = np.triu_indices(d if d <= _MOST_COLUMNS_IN_PAIRS else 0, 1)
        centred = places - 0.5
        return cls(
            order, ends, np.hstack([np.empty((n, 0)), *scores]), np.array(starts, dtype=np.int64),
            centred[:, one] * centred[:, other], normal,
        )  # fmt: skip

    def distances(self, sides: NDArray[np.float64]) -> Values:
        """Differences of the means of all scores, of the distribution functions, of the products, and of the ends."""
        drawn = sides.astype(np.float32)
        steps = np.empty((self.order.shape[1], sides.shape[1]))
        beyond = np.zeros(sides.shape[1])
        for column in range(len(steps)):
            # Behind the last value both functions are 1, but for rounding, which is no difference.
            ends = np.flatnonzero(self.ends[:, column])[:-1]
            heights = np.cumsum(drawn[self.order[:, column]], axis=0)[ends]
            steps[column] = np.maximum(heights.max(axis=0, initial=0.0), -heights.min(axis=0, initial=0.0))
            beyond = np.maximum(beyond, _rows_beyond(drawn[self.order[:, column]] > 0, ends))
        # The root of a number of rows varies as little as the other distances.
        return [np.abs(self.scores.T @ sides), steps, np.abs(self.pairs.T @ sides), np.sqrt(beyond)[None]]

    def each(self, values: Values) -> NDArray[np.float64]:
        """The largest of the distances of each column, in deviations of its own exchanges."""
        means = np.maximum.reduceat(_standard(values[0]), self.starts, axis=0)
        return np.asarray(np.maximum(means, _standard(values[1])))

    def largest(self, values: Values) -> NDArray[np.float64]:
        """The largest over all columns, as one row."""
        return np.asarray(self.each(values).max(axis=0, keepdims=True))

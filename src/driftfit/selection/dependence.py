"""How rows hang together: groups that somebody declared, or blocks as long as the rows remember each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc
from scipy.stats import rankdata

from driftfit.domains import Domain, is_tensor

# Chance that independent rows are taken for dependent ones: harmless, as blocks of them are exchangeable as well.
_LEVEL = 0.05
# Fewer blocks on either side are too few to be exchanged.
FEWEST_BLOCKS = 5
# Part of the variance of a mean over many rows that the means of blocks do not show, as blocks know their neighbours:
# of an AR(1) series a fifth is missing where blocks are two and a half autocorrelation times long.
_MISSED = 0.2
# Shorter windows show no autocorrelation.
_FEWEST_ROWS = 20
# Rows that stand behind each other, and columns times windows, in which autocorrelation is looked for.
_MOST_ROWS, _MOST_SERIES = 4_096, 1_024
# Sokal's rule: sum up to the lag that is so many times the sum.
_SOKAL = 5.0


@dataclass(frozen=True, eq=False)
class Memory:
    """How long rows remember each other.

    ``times``: of each column, rows that are worth one independent row. ``lengths``: of each column, rows of a block
    that hardly knows its neighbours; 1 where rows are independent.
    """

    times: NDArray[np.float64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of the rows of several domains.

    ``rows``: for each domain the unit of every row. Numbers count through all domains; only a declared group can have
    rows in several of them. ``kind``: ``"group"``, ``"block"`` or ``"row"``. ``columns``: columns quick enough to be
    judged by blocks; None where all are. Two windows of a column that follows itself over most of a window differ by
    chance alone, whatever happens. ``time``: rows that are worth one independent row, where blocks are the units.
    """

    rows: tuple[NDArray[np.int64], ...]
    kind: str
    columns: NDArray[np.bool_] | None = None
    time: float = 1.0

    @property
    def counts(self) -> tuple[int, ...]:
        """How many units each domain has."""
        return tuple(len(np.unique(own)) for own in self.rows)

    @property
    def sayable(self) -> bool:
        """Whether any column can be judged."""
        return self.columns is None or bool(self.columns.any())

    @classmethod
    def of(cls, domains: tuple[Domain, ...], matrices: tuple[NDArray[np.float64], ...]) -> Units:
        """Groups where every domain has them; else blocks of rows as they stand; else each row alone.

        ``matrices``: their rows as numbers, perhaps encoded.
        """
        groups = [domain.groups for domain in domains]
        declared = [own for own in groups if own is not None]
        if len(declared) == len(groups):
            codes = np.unique(np.concatenate(declared), return_inverse=True)[1]
            return cls(_split(codes, matrices), "group")
        memory = autocorrelation(*matrices)
        if memory.lengths.max(initial=1) <= 1:
            return cls(_split(np.arange(sum(map(len, matrices))), matrices), "row")
        quick = min(map(len, matrices)) >= FEWEST_BLOCKS * memory.lengths
        judged = quick if quick.any() else ~quick
        length, time = int(memory.lengths[judged].max()), float(memory.times[judged].max())
        parts: list[NDArray[np.int64]] = []
        for rows in matrices:
            parts.append(_blocks(len(rows), length) + (parts[-1][-1] + 1 if parts else 0))
        return cls(tuple(parts), "block" if length > 1 else "row", None if quick.all() else quick, time)


def row_units(domain: Domain) -> NDArray[np.int64]:
    """The unit of each row of a domain, numbered from 0: its group; else a block of neighbours; else the row itself.

    Blocks are so long that they hardly know their neighbours, as far as the order of the rows shows it
    (`autocorrelation`), and at most the whole domain. Independent rows that stand sorted look as if they followed each
    other: give each of them a group of its own.

    ``domain``: of numbers.

    >>> rng = np.random.default_rng(0)
    >>> row_units(Domain([[0.1], [0.3], [0.2]], groups=["ann", "bob", "ann"])).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    >>> drift = np.cumsum(rng.normal(size=(200, 1)), axis=0)
    >>> [int(row_units(Domain(rows)).max()) + 1 for rows in (rng.normal(size=(200, 1)), drift)]
    [200, 1]
    """
    if domain.groups is not None:
        return np.unique(domain.groups, return_inverse=True)[1].astype(np.int64)
    return _blocks(len(domain), int(autocorrelation(numbers_of(domain)).lengths.max(initial=1)))


def numbers_of(domain: Domain) -> NDArray[np.float64]:
    """The samples as a dense array, whatever they are held in."""
    matrix = domain.matrix()
    if is_tensor(matrix):
        matrix = matrix.detach().cpu().numpy()
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def autocorrelation(*windows: NDArray[np.float64]) -> Memory:
    """How long the rows of each column remember each other: not at all where neither it nor all together show it.

    Ranks are looked at, and how far they lie from the middle. Each figure is the largest over the windows and over
    three estimates: that of an AR(1) series with Kendall's correction, the sum of the autocorrelations as long as their
    pairs are positive (Geyer), and the sum up to the lag that is five times the sum (Sokal).

    ``windows``: rows in their order.

    >>> noise = np.random.default_rng(4).normal(size=(500, 2))
    >>> for n in range(1, 500):
    ...     noise[n, 1] += 0.8 * noise[n - 1, 1]
    >>> found = autocorrelation(noise)
    >>> float(found.times[0]), int(found.lengths[0]), round(float(found.times[1])), int(found.lengths[1])
    (1.0, 1, 9, 22)
    """
    d = windows[0].shape[1]
    looked = np.unique(np.linspace(0, d - 1, min(d, max(_MOST_SERIES // len(windows), 32))).astype(np.int64))
    series = [_series(rows[:_MOST_ROWS][:, looked]) for rows in windows if len(rows) >= _FEWEST_ROWS]
    if not series or series[0].shape[1] == 0:
        return Memory(np.ones(d), np.ones(d, dtype=np.int64))
    lagged = [_autocorrelations(own) for own in series]
    alone, others = _significant(series, lagged)
    found = np.ones((2, series[0].shape[1]))
    for own, correlations in zip(series, lagged, strict=True):
        for column in np.flatnonzero(alone):
            found[:, column] = np.maximum(found[:, column], _remembered(correlations[:, column], len(own)))
        if others:
            # What no column shows by itself they show together.
            shared = _remembered(correlations[:, ~alone].mean(axis=1), len(own))
            found[:, ~alone] = np.maximum(found[:, ~alone], np.array(shared)[:, None])
    # Places and distances from the middle of one column stand side by side.
    times, lengths = found.reshape(2, 2, -1).max(axis=1)
    if len(looked) < d:
        times, lengths = np.full(d, times.max()), np.full(d, lengths.max())
    return Memory(times, np.ceil(lengths).astype(np.int64))


def _series(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, and their distances from the middle, with mean 0 and length 1; zeros where nothing varies."""
    ranks = rankdata(rows, axis=0) / len(rows)
    both = np.hstack([ranks, np.abs(ranks - np.median(ranks, axis=0))])
    both -= both.mean(axis=0)
    size = np.sqrt((both**2).sum(axis=0))
    return np.asarray(np.divide(both, size, out=np.zeros_like(both), where=size > 1e-9))


def _autocorrelations(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """At lags from 0 to half the length, in rows."""
    n = len(series)
    spectrum = np.fft.rfft(series, 2 * n, axis=0)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=0)[: n // 2])


def _significant(
    series: list[NDArray[np.float64]], lagged: list[NDArray[np.float64]]
) -> tuple[NDArray[np.bool_], bool]:
    """Which columns follow themselves beyond chance, and whether the other ones do so together.

    Sums over the first 1, 2, 4, ... lags: what is weak and lasts long shows in no single lag. Where rows are
    independent, the covariance of two columns' sums is their squared correlation, and a sum has the skewness of a
    chi-square variable with about 8 / 9 degrees of freedom for every span that fits into the window.
    """
    shortest = min(len(own) for own in series)
    spans = np.array([2**power for power in range(12) if 2**power <= shortest // 4])
    sums = np.zeros((len(spans), series[0].shape[1]))
    alike = np.zeros((sums.shape[1],) * 2)
    for own, correlations in zip(series, lagged, strict=True):
        n, lags = len(own), np.arange(1, spans[-1] + 1)
        scores = (correlations[lags] + 1.0 / n) * n / np.sqrt(n - lags)[:, None]
        sums += np.cumsum(scores, axis=0)[spans - 1] / np.sqrt(spans)[:, None]
        alike += (own.T @ own) ** 2
    freedom = 8.0 / 9.0 * sum(len(own) for own in series) / spans
    level = _LEVEL / 2 / len(spans)
    varies = np.diag(alike) > 0
    chances = _upper_tail(sums / np.sqrt(len(series)), freedom[:, None]).min(axis=0)
    alone = varies & (chances < level / max(varies.sum(), 1))
    rest = varies & ~alone
    if not rest.any():
        return alone, False
    spread = alike[np.ix_(rest, rest)].sum()
    n_apart = np.trace(alike[np.ix_(rest, rest)]) * rest.sum() / spread
    together = _upper_tail(sums[:, rest].sum(axis=1) / np.sqrt(spread), freedom * n_apart).min()
    return alone, bool(together < level)


def _upper_tail(standardised: NDArray[np.float64], freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chance that a chi-square variable lies that many of its deviations above its mean."""
    return np.asarray(chdtrc(freedom, np.maximum(freedom + np.sqrt(2.0 * freedom) * standardised, 0.0)))


def _remembered(correlations: NDArray[np.float64], n: int) -> tuple[float, float]:
    """Integrated autocorrelation time and block length of one series of length n, both at most n."""
    first = min(correlations[1] + (1.0 + 3.0 * correlations[1]) / n, 1.0 - 1.0 / n)
    markov = (1.0 + first) / (1.0 - first) if first > 0 else 1.0
    last = max(_ends(correlations))
    found = [(markov, 2.0 * first / (1.0 - first**2) / _MISSED)]
    # A season is no AR(1) series: it comes back to nothing much sooner.
    if first <= 0 or first**last - correlations[last] > 0.25 + 1.5 * markov / n:
        found = []
    time = 1.0
    # The mean is taken from the series itself: that lowers every autocorrelation by about time / n.
    for _ in range(3):
        raised = correlations + (1.0 - correlations) * min(time / n, 0.5)
        sums = [_summed(raised, end) for end in _ends(raised)]
        time = max(1.0, *(own for own, _ in sums))
    found += sums
    return min(max(1.0, *(own for own, _ in found)), n), min(max(2.0, *(length for _, length in found)), n)


def _summed(correlations: NDArray[np.float64], end: int) -> tuple[float, float]:
    """Integrated time up to a lag, and the length of blocks whose means miss so small a part of it."""
    time = 1.0 + 2.0 * float(correlations[1 : end + 1].sum())
    weighted = 2.0 * float(np.arange(1, end + 1) @ correlations[1 : end + 1])
    return (time, weighted / time / _MISSED) if time > 1.0 else (1.0, 1.0)


def _ends(correlations: NDArray[np.float64]) -> tuple[int, int]:
    """Lags up to which autocorrelations are summed, by Geyer's rule and by Sokal's."""
    pairs = correlations[: len(correlations) // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    geyer = 2 * (int(ends[0]) if len(ends) else len(pairs)) - 1
    enough = np.flatnonzero(np.arange(len(correlations)) >= _SOKAL * (2.0 * np.cumsum(correlations) - 1.0))
    sokal = int(enough[0]) if len(enough) else len(correlations) - 1
    return max(geyer, 1), max(sokal, 1)


def _blocks(n: int, length: int) -> NDArray[np.int64]:
    """Neighbours in blocks that are at least so long and differ by one row at most."""
    return np.arange(n) * max(n // length, 1) // n


def _split(codes: NDArray[np.int64], matrices: tuple[NDArray[np.float64], ...]) -> tuple[NDArray[np.int64], ...]:
    return tuple(np.split(codes.astype(np.int64), np.cumsum([len(rows) for rows in matrices])[:-1]))

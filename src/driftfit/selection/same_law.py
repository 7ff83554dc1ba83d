"""Is a domain the source again, or the source's classes in other proportions? Permutation tests over all domains.

The rows held out of the source and those of a domain are exchanged at random: where both follow one law, the
distance between them is as likely to be the largest of all exchanges as any other, for samples of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from driftfit.selection.view import PathView
from driftfit.selection.weighted import Weights

# Share of paths without any shift that may be called shifted.
LEVEL = 0.05
# Rows of either side that are exchanged; more cost time and find shifts that are not worth following.
_MOST_ROWS = 250
# Fewer rows of the source in a domain's proportions cannot be told from anything.
_FEWEST_ROWS = 20
_FEWEST_EXCHANGES = 199
# After so many exchanges a p-value of this size is left as it is.
_FIRST_EXCHANGES, _CLEARLY_SAME = 99, 0.2
# Widths of the kernels: so large a share of all pairs lies closer.
_CLOSE_PAIRS = (0.05, 0.3)


@dataclass(frozen=True)
class SameLaw:
    """A domain against the source, as two tests.

    Attributes
    ----------
    p_same : float
        Probability of such a distance, or a larger one, if the domain followed the law of the source; corrected for the
        number of domains (Holm).
    p_classes : float
        The same, if its classes followed the laws of the source's classes in the proportions ``shares``.
    shares : tuple of float
        The proportions in which the source's classes come closest to the domain.
    """

    p_same: float
    p_classes: float
    shares: tuple[float, ...]

    @property
    def same(self) -> bool:
        """Whether nothing speaks for a shift."""
        return self.p_same >= LEVEL

    @property
    def classes_stay(self) -> bool:
        """Whether nothing speaks for more than changed proportions."""
        return self.same or self.p_classes >= LEVEL


def same_laws(view: PathView) -> tuple[SameLaw, ...]:
    """Every domain after the source against it, tested once for everybody who shares the view."""
    return view.once("same laws", lambda: _tested(view))


def two_sample_test(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    rng: np.random.Generator,
    n_exchanges: int = _FEWEST_EXCHANGES,
    groups: NDArray[np.int64] | None = None,
) -> float:
    """Permutation p-value of the largest of several distances between two samples: exact for samples of any size.

    The energy distance sees wide moves; mean discrepancies of Gaussian kernels, so wide that a twentieth and
    three tenths of all pairs are close, see what happens inside a class. Each is measured in deviations of its
    own exchanges.

    Parameters
    ----------
    a, b : float arrays with one row per sample
    rng : Generator
    n_exchanges : int
    groups : int array, optional
        A class for every row of ``a`` and then of ``b``, by a model that was trained on none of them. The same
        distances are then also taken between rows less the mean of their class: a move of a class by
        its own width is small against the distance between classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 100, 3))
    >>> two_sample_test(x, y, rng) > 0.05, two_sample_test(x, y + 1.0, rng)
    (True, 0.005)
    """
    pooled = np.concatenate([a, b])
    sides = np.repeat([1.0 / len(a), -1.0 / len(b)], [len(a), len(b)])
    fields = _fields(pooled)
    if groups is not None:
        centred = pooled.copy()
        for group in np.unique(groups):
            centred[groups == group] -= pooled[groups == group].mean(axis=0)
        fields += _fields(centred)
    values = _exchange(fields, np.column_stack([sides, *(rng.permutation(sides) for _ in range(_FIRST_EXCHANGES))]))
    found = _p_value(values)
    if found >= _CLEARLY_SAME or n_exchanges <= _FIRST_EXCHANGES:
        # More exchanges could not make this a rejection often enough to matter, and stopping only ever spares one.
        return found
    more = np.column_stack([rng.permutation(sides) for _ in range(n_exchanges - _FIRST_EXCHANGES)])
    return _p_value(np.hstack([values, _exchange(fields, more)]))


def _exchange(fields: list[NDArray[np.float32]], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each distance (row) for each way to share the rows between two sides (column)."""
    drawn = sides.astype(np.float32)
    return np.stack([(drawn * (field @ drawn)).sum(axis=0, dtype=np.float64) for field in fields])


def _p_value(values: NDArray[np.float64]) -> float:
    """Share of the exchanges whose largest value reaches that of the first, which counts among them."""
    scale = np.abs(values).max(axis=1, keepdims=True)
    spread = np.maximum(values.std(axis=1, keepdims=True), 1e-6 * scale + 1e-300)
    largest = ((values - values.mean(axis=1, keepdims=True)) / spread).max(axis=0)
    return float((largest >= largest[0] - 1e-9).mean())


def _fields(rows: NDArray[np.float64]) -> list[NDArray[np.float32]]:
    """Likeness of all pairs of rows, by each distance."""
    distances = cdist(rows, rows).astype(np.float32)
    widths = np.quantile(distances[np.triu_indices(len(rows), 1)], _CLOSE_PAIRS)
    return [-distances, *(np.exp(-0.5 * (distances / width) ** 2) for width in widths if width > 0)]


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """P-values corrected so that no true hypothesis among them is rejected too often (Holm 1979).

    >>> holm(np.array([0.01, 0.2, 0.03])).round(3).tolist()
    [0.03, 0.2, 0.06]
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return corrected


def mixture_shares(
    source: NDArray[np.float64], codes: NDArray[np.int64], target: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Proportions in which the source's classes come closest to a domain; no model takes part.

    Closest in the mean discrepancy of a Gaussian kernel as wide as half of the pairs within classes are close.

    >>> x = np.repeat([[0.0], [5.0]], 50, axis=0) + np.random.default_rng(0).normal(size=(100, 1))
    >>> mixture_shares(x, np.repeat([0, 1], 50), x[30:], 2).round(2).tolist()
    [0.27, 0.73]
    """
    return Likeness.of(source, codes, target, n_classes).shares()


@dataclass(frozen=True, eq=False)
class Likeness:
    """How alike the rows of a labelled source and of a domain are, for `mixture_shares` of them or of other draws.

    Attributes
    ----------
    within, to_target : float arrays
        Gaussian kernel of all pairs of source rows, and of source rows with rows of the domain.
    codes : int array
        Classes of the source rows.
    n_classes : int
    """

    within: NDArray[np.float64]
    to_target: NDArray[np.float64]
    codes: NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(
        cls, source: NDArray[np.float64], codes: NDArray[np.int64], target: NDArray[np.float64], n_classes: int
    ) -> Likeness:
        """With a kernel as wide as half of the pairs within classes are close."""
        apart = cdist(source, source)
        pairs = np.triu(codes[:, None] == codes, 1)
        width = max(float(np.median(apart[pairs])) if pairs.any() else 0.0, 1e-12)
        within, to_target = (np.exp(-0.5 * (part / width) ** 2) for part in (apart, cdist(source, target)))
        return cls(within, to_target, codes, n_classes)

    def shares(self, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
        """The proportions; with ``rng`` those of rows drawn again with replacement."""
        n, m = self.to_target.shape
        own, there = np.ones(n), np.ones(m)
        if rng is not None:
            own, there = (np.bincount(rng.integers(size, size=size), minlength=size).astype(float) for size in (n, m))
        present = np.unique(self.codes[own > 0])
        parts = (self.codes == present[:, None]) * own
        parts /= parts.sum(axis=1, keepdims=True)
        between = parts @ self.within @ parts.T
        # Within a class a sample is not compared with itself.
        itself = (parts**2).sum(axis=1)
        alone = np.diag_indices(len(parts))
        between[alone] = np.where(itself < 1.0, (between[alone] - itself) / np.maximum(1.0 - itself, 1e-12), 1.0)
        found = np.zeros(self.n_classes)
        found[present] = _closest(between, parts @ self.to_target @ (there / there.sum()))
        return np.asarray(found / found.sum())


def _closest(between: NDArray[np.float64], to_target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The point of the simplex where ``q' B q - 2 q' t`` is smallest."""
    start = np.full(len(to_target), 1.0 / len(to_target))
    found = minimize(
        lambda q: q @ between @ q - 2.0 * q @ to_target,
        start,
        jac=lambda q: 2.0 * between @ q - 2.0 * to_target,
        bounds=[(0.0, 1.0)] * len(to_target),
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
    )
    return np.asarray(np.clip(found.x, 0.0, None))


def _tested(view: PathView) -> tuple[SameLaw, ...]:
    numbers = range(1, len(view.sequence))
    # Even the smallest p-value must be able to pass the correction.
    n_exchanges = max(_FEWEST_EXCHANGES, ceil(1.25 * len(numbers) / LEVEL))
    shares = [mixture_likeness(view, number).shares() for number in numbers]
    same = holm(np.array([_p_same(view, number, n_exchanges) for number in numbers]))
    # Where nothing moved, nothing is left to be explained by proportions.
    classes = holm(
        np.array(
            [
                1.0 if p >= LEVEL else _p_classes(view, number, q, n_exchanges)
                for number, p, q in zip(numbers, same, shares, strict=True)
            ]
        )
    )
    return tuple(SameLaw(float(p), float(k), tuple(q.tolist())) for p, k, q in zip(same, classes, shares, strict=True))


def _p_same(view: PathView, number: int, n_exchanges: int) -> float:
    rng = view.rng("same law", number)
    return _exchanged(view, number, _drawn(len(view.held_rows), view.held_weights(), rng), n_exchanges, rng)


def _p_classes(view: PathView, number: int, shares: NDArray[np.float64], n_exchanges: int) -> float:
    """The same test for as many held-out rows of each class as the domain has of it."""
    rng = view.rng("same classes", number)
    codes = view.codes[view.held_rows]
    wanted = np.flatnonzero(shares > 0)
    counts = np.array([(codes == code).sum() for code in wanted])
    whole = min(float((counts / shares[wanted]).min()), float(_MOST_ROWS))
    if whole < _FEWEST_ROWS:
        return 0.0
    places = [rng.permutation(np.flatnonzero(codes == code))[: round(whole * shares[code])] for code in wanted]
    return _exchanged(view, number, np.concatenate(places), n_exchanges, rng)


def _exchanged(
    view: PathView, number: int, held: NDArray[np.int64], n_exchanges: int, rng: np.random.Generator
) -> float:
    """Some held-out rows of the source, by their places, against some rows of a domain."""
    rows = _drawn(len(view.sequence[number]), view.weights(number), rng)
    groups = np.concatenate([view.held_predicted()[held], view.source_predicted(number)[rows]])
    return two_sample_test(
        view.features(0, view.held_rows[held]), view.features(number, rows), rng, n_exchanges, groups
    )


def mixture_likeness(view: PathView, number: int) -> Likeness:
    """Some held-out rows of the source against some of a domain, looked at once."""
    return view.once(("likeness", number), lambda: _likeness(view, number))


def _likeness(view: PathView, number: int) -> Likeness:
    rng = view.rng("mixture", number)
    held = view.held_rows
    if len(held) > 2 * _MOST_ROWS:
        held = rng.permutation(held)[: 2 * _MOST_ROWS]
    rows = _drawn(len(view.sequence[number]), view.weights(number), rng)
    return Likeness.of(view.features(0, held), view.codes[held], view.features(number, rows), view.n_classes)


def _drawn(n: int, weights: Weights, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some rows without replacement; by their weights where these differ."""
    if weights is None:
        return rng.permutation(n)[:_MOST_ROWS]
    there = int((weights > 0).sum())
    return np.asarray(rng.choice(n, min(there, _MOST_ROWS), replace=False, p=weights / weights.sum()))

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
from scipy.special import softmax

from driftfit.methods.class_proportions import black_box_proportions, confusion_shares, expectation_maximisation
from driftfit.selection.exchange import LEVEL, N_EXCHANGES, Sides, joint_likeness, joint_test
from driftfit.selection.view import PathView, Weights, class_shares, total_variation

# Rows of either side that are exchanged; more cost time and find shifts that are not worth following.
_MOST_ROWS = 250
# Fewer rows of the source in a domain's proportions cannot be told from anything.
_FEWEST_ROWS = 20


@dataclass(frozen=True)
class SameLaw:
    """A domain against the source, as two tests.

    ``p_same``: probability of such a distance, or a larger one, if the domain followed the law of the source; corrected
    for the number of domains (Holm). ``p_classes``: the same, if its classes followed the laws of the source's classes
    in the proportions ``shares``. ``shares``: the proportions in which the source's classes come closest to the domain.
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
    apart = cdist(source, source)
    pairs = np.triu(codes[:, None] == codes, 1)
    width = max(float(np.median(apart[pairs])) if pairs.any() else 0.0, 1e-12)
    within, to_target = (np.exp(-0.5 * (part / width) ** 2) for part in (apart, cdist(source, target)))
    present = np.unique(codes)
    parts = (codes == present[:, None]).astype(np.float64)
    parts /= parts.sum(axis=1, keepdims=True)
    between = parts @ within @ parts.T
    # Within a class a sample is not compared with itself.
    itself = (parts**2).sum(axis=1)
    alone = np.diag_indices(len(parts))
    between[alone] = np.where(itself < 1.0, (between[alone] - itself) / np.maximum(1.0 - itself, 1e-12), 1.0)
    found = np.zeros(n_classes)
    found[present] = _closest(between, (parts @ to_target).mean(axis=1))
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
    n_exchanges = max(N_EXCHANGES, ceil(1.25 * len(numbers) / LEVEL))
    shares = [_shares(view, number) for number in numbers]
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
    a, b = view.features(0, view.held_rows[held]), view.features(number, rows)
    likeness = joint_likeness(np.concatenate([a, b]), groups)
    return joint_test(likeness, Sides.of(np.arange(len(a)), np.arange(len(b))), rng, n_exchanges)


def _shares(view: PathView, number: int) -> NDArray[np.float64]:
    """Proportions of some held-out rows of the source that come closest to some rows of a domain."""
    rng = view.rng("mixture", number)
    held = view.held_rows
    if len(held) > 2 * _MOST_ROWS:
        held = rng.permutation(held)[: 2 * _MOST_ROWS]
    rows = _drawn(len(view.sequence[number]), view.weights(number), rng)
    return mixture_shares(view.features(0, held), view.codes[held], view.features(number, rows), view.n_classes)


def _drawn(n: int, weights: Weights, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some rows without replacement; by their weights where these differ."""
    if weights is None:
        return rng.permutation(n)[:_MOST_ROWS]
    there = int((weights > 0).sum())
    return np.asarray(rng.choice(n, min(there, _MOST_ROWS), replace=False, p=weights / weights.sum()))


_RESAMPLES = 100


@dataclass(frozen=True)
class ProportionShift:
    """Estimated class proportions of a domain against those of the source.

    ``source`` and ``estimate``: proportions in the source, and in the domain by black-box shift estimation.
    ``by_likelihood``: the same by expectation maximisation, as a second opinion. ``distance``: total variation between
    ``source`` and ``estimate``: the share of samples that would have to change class. ``noise``: what 95 % of equally
    large samples of the source itself stay below.
    """

    source: tuple[float, ...]
    estimate: tuple[float, ...]
    by_likelihood: tuple[float, ...]
    distance: float
    noise: float

    @property
    def changed(self) -> bool:
        """Whether the proportions moved by more than sampling noise."""
        return self.distance > self.noise


def proportion_shift(view: PathView, number: int) -> ProportionShift:
    """How far the class proportions of a domain are from the source's, by the source model; looked at once."""
    return view.once(("proportions", number), lambda: _estimated(view, number))


def _estimated(view: PathView, number: int) -> ProportionShift:
    k = view.n_classes
    logits = view.learner.logits(view.sequence[number].samples)
    weights = view.weights(number)
    predicted = class_shares(logits.argmax(axis=1), k, weights)
    source = class_shares(view.codes, k, view.weights(0))
    held = _Held(view.held_predicted(), view.codes[view.held_rows], view.held_weights())
    estimate = black_box_proportions(held.confusion(k), predicted)
    likely = expectation_maximisation(softmax(logits, axis=1), source, weights=weights)
    return ProportionShift(
        tuple(source.tolist()),
        tuple(estimate.tolist()),
        tuple(likely.tolist()),
        total_variation(source, estimate),
        _noise(view, held, len(logits), number),
    )


@dataclass(frozen=True, eq=False)
class _Held:
    """Predictions and labels of held-out source samples."""

    predicted: NDArray[np.int64]
    codes: NDArray[np.int64]
    weights: Weights

    def drawn(self, size: int, rng: np.random.Generator) -> _Held:
        """So many of them, drawn with replacement by their weights."""
        n = len(self.codes)
        if self.weights is None:
            rows = rng.integers(n, size=size)
        else:
            rows = rng.choice(n, size, p=self.weights / self.weights.sum())
        return _Held(self.predicted[rows], self.codes[rows], None)

    def confusion(self, k: int) -> NDArray[np.float64]:
        return confusion_shares(self.predicted, self.codes, k, self.weights)


def _noise(view: PathView, held: _Held, n_domain: int, number: int) -> float:
    """95 % quantile of the distance that is seen between the source and samples of itself."""
    rng = view.rng("proportions", number)
    k = view.n_classes
    own = class_shares(held.codes, k, held.weights)
    distances = []
    for _ in range(_RESAMPLES):
        again, new = held.drawn(len(held.codes), rng), held.drawn(n_domain, rng)
        estimate = black_box_proportions(again.confusion(k), class_shares(new.predicted, k))
        distances.append(total_variation(own, estimate))
    return float(np.quantile(distances, 0.95))

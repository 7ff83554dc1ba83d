"""Accuracy without labels: what an estimate is, where the domains overlap, and what it is if an assumption holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t
from sklearn.metrics import roc_auc_score
from sklearn.tree import ExtraTreeClassifier

from driftfit.domains import some_rows
from driftfit.errors import InputError
from driftfit.methods import Assumption
from driftfit.seeds import derive_seed
from driftfit.selection.evidence import Gain
from driftfit.selection.view import PathView, Weights

NORMAL_95 = 1.96


@dataclass(frozen=True)
class AccuracyEstimate:
    """Estimated accuracy of one model on one unlabelled domain.

    ``value``, ``low`` and ``high``: the estimate and a 95 % interval: sampling error, and what the estimator knows
    about its own bias from the source. It does not cover a bias that the source cannot show. ``method``: name of the
    estimator. ``reliable``: whether the estimator reproduced the known accuracy on the source, and nothing speaks
    against it on the domain. ``remark``: why it is not reliable, in words, with the remedy; empty where there is
    nothing to say.
    """

    value: float
    low: float
    high: float
    method: str
    reliable: bool = True
    remark: str = ""

    @classmethod
    def around(cls, value: float, half_width: float, method: str, reliable: bool = True) -> AccuracyEstimate:
        """An estimate with a symmetric interval, cut to [0, 1].

        >>> AccuracyEstimate.around(0.95, 0.1, "test")
        AccuracyEstimate(value=0.95, low=0.85, high=1.0, method='test', reliable=True, remark='')
        """
        value = float(min(max(value, 0.0), 1.0))
        low, high = (float(round(min(max(edge, 0.0), 1.0), 12)) for edge in (value - half_width, value + half_width))
        return cls(value, low, high, method, reliable)

    @property
    def estimable(self) -> bool:
        """Whether the interval excludes anything; where it does not, the value only ranks models.

        >>> AccuracyEstimate(0.9, 0.85, 0.95, "test").refused("no overlap").estimable
        False
        """
        return self.reliable or self.low > 0.0 or self.high < 1.0

    @classmethod
    def unknown(cls, remark: str) -> AccuracyEstimate:
        """No estimate, and why there is none.

        >>> AccuracyEstimate.unknown("too few rows").estimable
        False
        """
        return cls(0.0, 0.0, 1.0, "none", reliable=False, remark=remark)

    def widened(self, times: float) -> AccuracyEstimate:
        """The same with an interval so many times as wide.

        >>> found = AccuracyEstimate(0.8, 0.7, 0.9, "test").widened(1.5)
        >>> round(found.low, 3), round(found.high, 3)
        (0.65, 0.95)
        """
        low, high = (min(max(self.value + times * (edge - self.value), 0.0), 1.0) for edge in (self.low, self.high))
        return replace(self, low=low, high=high)

    def refused(self, remark: str) -> AccuracyEstimate:
        """The same value with an interval that excludes nothing: it ranks models, and says nothing about accuracy.

        >>> AccuracyEstimate(0.9, 0.85, 0.95, "test").refused("no overlap")
        AccuracyEstimate(value=0.9, low=0.0, high=1.0, method='test', reliable=False, remark='no overlap')
        """
        return replace(self, low=0.0, high=1.0, reliable=False, remark=remark)


def spread(*rates: tuple[float, float]) -> float:
    """Half width of a 95 % interval for a sum of independent shares, given as (share, sample size).

    >>> round(spread((0.5, 100)), 3)
    0.098
    """
    # A share of 0 or 1 in a finite sample is not certain: one imagined failure and success are added.
    variance = sum(_smoothed(rate, n) * (1.0 - _smoothed(rate, n)) / n for rate, n in rates)
    return NORMAL_95 * sqrt(variance)


def _smoothed(rate: float, n: float) -> float:
    return (rate * n + 1.0) / (n + 2.0)


# Two unit Gaussians that a classifier tells apart with this AUC are 2.3 apart: of 1,000 rows reweighted from one to the
# other, fewer than five count. Fixed on simulated shifts (docs/trust.md); real tables lie at 0.5-0.8 or above 0.98.
LARGEST_AUC = 0.95
_N_TREES = 60
_SMALLEST_LEAF = 5
_FEWEST = 5
# With the customary root of the number, one telling column among a thousand is missed (AUC 0.80 where it is 1).
_COLUMNS_A_SPLIT = 0.3
# Rows share their trees, so that the AUC varies more than that of a fixed score: 0.9 to 1.4 times as much, measured.
_SHARED_TREES = 1.4
# Trees work in single precision; what is larger is as large as any.
_LARGEST = 1e38


@dataclass(frozen=True)
class Overlap:
    """How well a classifier tells the rows of two domains apart.

    ``auc``: area under the ROC curve, on rows that the classifier was not trained on: 0.5 where the domains are alike,
    1 where no row of one could be of the other. ``low`` and ``high``: its 95 % interval. ``n_rows``: rows that were
    looked at, of both domains together.
    """

    auc: float
    low: float
    high: float
    n_rows: int

    @property
    def estimable(self) -> bool:
        """Whether enough rows of one domain could be of the other to estimate anything there without labels."""
        return self.auc < LARGEST_AUC

    @property
    def sentence(self) -> str:
        """The finding in words, with the remedy where there is no overlap."""
        found = f"a classifier tells the rows apart with an AUC of {self.auc:.2f}"
        if self.estimable:
            return found
        return f"{found}: they do not overlap, and accuracy cannot be estimated: label {rows_to_label()} rows"


def rows_to_label(half_width: float = 0.1) -> int:
    """Rows whose labels give an accuracy with a 95 % interval of plus or minus ``half_width``, whatever it is.

    >>> rows_to_label(), rows_to_label(0.05)
    (97, 385)
    """
    if not 0.0 < half_width < 1.0:
        raise InputError(f"half_width must lie between 0 and 1, got {half_width!r}; 0.1 is ten points of accuracy")
    return ceil((NORMAL_95 / half_width) ** 2 / 4.0)


def overlap(
    source: Any,
    target: Any,
    *,
    weights: tuple[Weights, Weights] = (None, None),
    max_samples: int = 1_000,
    seed: int = 0,
) -> Overlap:
    """A classifier between the rows of two domains, judged on rows it was not trained on.

    Extremely randomised trees, each on a bootstrap sample; a row is scored by the trees that did not see it.

    ``source`` and ``target``: in the space in which the caller works: raw columns, encoded features, one domain
    standardised by itself. ``weights``: of the rows; a row without weight is not there. ``max_samples``: rows of each
    domain that are looked at, drawn by ``seed``.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> overlap(x, rng.normal(size=(300, 2))).estimable, overlap(x, x + 9.0).estimable
    (True, False)
    """
    a, b = _matrix(source, "source"), _matrix(target, "target")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"source and target must have the same columns, got {a.shape[1]} and {b.shape[1]}")
    rng = np.random.default_rng(derive_seed(seed, "overlap"))
    rows = [_some(part, own, max_samples, rng) for part, own in ((a, weights[0]), (b, weights[1]))]
    if min(len(chosen) for chosen in rows) < _FEWEST:
        raise InputError(f"overlap needs at least {_FEWEST} rows of each domain, got {len(rows[0])} and {len(rows[1])}")
    x = np.concatenate([a[rows[0]], b[rows[1]]])
    side = np.repeat([0, 1], [len(rows[0]), len(rows[1])])
    own = [None if w is None else w[chosen] for w, chosen in zip(weights, rows, strict=True)]
    mass = np.concatenate(
        [np.full(len(r), 1.0 / len(r)) if w is None else w / w.sum() for r, w in zip(rows, own, strict=True)]
    )
    # Trees that do worse than chance have found nothing: out of the bag they are a little too pessimistic.
    auc = max(0.5, float(roc_auc_score(side, _scores(x, side, mass, seed), sample_weight=mass)))
    width = NORMAL_95 * _deviation(auc, len(rows[0]), len(rows[1]))
    return Overlap(auc, max(auc - width, 0.0), min(auc + width, 1.0), len(side))


def known_overlap(view: PathView, before: int, after: int) -> Overlap:
    """Overlap of two domains of a view in the features of its model, looked at once."""
    return view.once(
        ("overlap", before, after),
        lambda: overlap(
            view.features(before),
            view.features(after),
            weights=(view.weights(before), view.weights(after)),
            seed=view.seed,
        ),
    )


def _scores(
    x: NDArray[np.float64], side: NDArray[np.int64], mass: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """For each row the probability of the second domain, by those trees whose bootstrap sample misses the row."""
    rng = np.random.default_rng(derive_seed(seed, "overlap trees"))
    rows = np.ascontiguousarray(np.clip(x, -_LARGEST, _LARGEST), dtype=np.float32)
    shares = None if np.ptp(mass) == 0 else mass / mass.sum()
    said, asked = np.zeros(len(side)), np.zeros(len(side))
    # Tree by tree: scikit-learn's forest spends most of its time on small samples checking its input again.
    for _ in range(_N_TREES):
        # A row is drawn as often as it weighs: each tree sees another sample of the weighted domains.
        drawn = np.bincount(rng.choice(len(side), size=len(side), p=shares), minlength=len(side))
        tree = ExtraTreeClassifier(
            min_samples_leaf=_SMALLEST_LEAF, max_features=_COLUMNS_A_SPLIT, random_state=int(rng.integers(2**31))
        )
        tree.fit(rows, side, drawn.astype(np.float64), check_input=False)
        out = drawn == 0
        said[out] += tree.predict_proba(rows[out], check_input=False)[:, 1]
        asked += out
    # A row so heavy that every tree saw it can be judged by none: it counts as told apart.
    return np.asarray(np.divide(said, asked, out=side.astype(np.float64), where=asked > 0))


def _deviation(auc: float, n0: int, n1: int) -> float:
    """Standard deviation of an AUC (Hanley and McNeil 1982); an AUC of 0 or 1 in a finite sample is not certain."""
    smallest = min(n0, n1)
    a = (auc * smallest + 1.0) / (smallest + 2.0)
    spread = a * (1 - a) + (n1 - 1) * (a / (2 - a) - a**2) + (n0 - 1) * (2 * a**2 / (1 + a) - a**2)
    return _SHARED_TREES * sqrt(spread / (n0 * n1))


def _some(matrix: NDArray[np.float64], weights: Weights, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    present = np.arange(len(matrix)) if weights is None else np.flatnonzero(weights > 0)
    return np.asarray(present[some_rows(len(present), most, rng)])


def _matrix(values: Any, name: str) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be rows of numbers ({error}); encode other columns first") from None
    if matrix.ndim < 2 or not np.isfinite(matrix).all():
        raise InputError(f"{name} must be a finite matrix with one row per sample, got shape {matrix.shape}")
    return matrix.reshape(len(matrix), -1)


UNDECLARED = "only if a row's label is what it would have been before, which cannot be seen without labels"

# Fewer independent parts say too little about how much they vary.
_FEWEST_UNITS = 10
# A wider interval says less than a hundred labels, whatever they are.
WIDEST = 0.5


@dataclass(frozen=True, eq=False)
class Draw:
    """Labelled rows that a model did not see, with what hangs together and what each stands for.

    ``right``: 1 where the model is right, 0 where not; or the difference of two such. ``units``: rows of one number
    hang together.
    """

    right: NDArray[np.float64]
    units: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None

    @property
    def mass(self) -> NDArray[np.float64]:
        """Weights that sum to 1."""
        own = np.ones(len(self.right)) if self.weights is None else self.weights
        return np.asarray(own / own.sum())

    @property
    def value(self) -> float:
        """The weighted mean."""
        return float(self.mass @ self.right)

    @property
    def size(self) -> float:
        """How many units of equal weight say as much."""
        return float(1.0 / np.square(np.bincount(_numbered(self.units), self.mass)).sum())

    @property
    def error(self) -> float:
        """Standard error of the mean, whole units drawn.

        >>> right, rows = np.repeat([0.0, 1.0], 50), np.arange(100)
        >>> Draw(right, rows).error < Draw(right, rows // 10).error
        True
        """
        sums = np.bincount(_numbered(self.units), self.mass * (self.right - self.value))
        n = max(len(sums), 2)
        return sqrt(n / (n - 1) * float(np.square(sums).sum()))

    @property
    def quantile(self) -> float:
        """Student's quantile for a 95 % interval with so many units."""
        return float(student_t.ppf(0.975, max(self.size - 1.0, 1.0)))

    @property
    def gain(self) -> Gain:
        """The mean with its 95 % interval, where the numbers are differences."""
        half = self.quantile * self.error
        return Gain(self.value, self.value - half, self.value + half)


def _numbered(units: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.unique(units, return_inverse=True)[1], dtype=np.int64)


def accuracy_if(
    draw: Draw, n_units: int, words: str, *, declared: Assumption | None, doubt: float = 0.0
) -> AccuracyEstimate:
    """Accuracy on the rows of the target, which are a draw themselves, from labelled rows that stand for them.

    ``n_units``: independent parts of the target. ``words``: what was looked at. ``declared``: what it rests on. An
    estimate that rests on nothing declared is not called reliable. ``doubt``: half width of what else is not known.
    """
    value = draw.value
    # A share of 0 or 1 in a finite sample is not certain.
    n = max(draw.size, 1.0)
    smooth = (min(max(value, 0.0), 1.0) * n + 1.0) / (n + 2.0)
    own = max(draw.error, sqrt(smooth * (1.0 - smooth) / (n + 2.0)) if value in (0.0, 1.0) else 0.0)
    there = sqrt(smooth * (1.0 - smooth) / max(n_units, 1))
    half = draw.quantile * sqrt(own**2 + there**2) + doubt
    found = AccuracyEstimate.around(value, half, words, declared is not None)
    if draw.size < _FEWEST_UNITS or n_units < 2:
        return found.refused(
            f"the labelled rows that stand for today's come to {draw.size:.0f} independent ones: label "
            f"{rows_to_label()} rows"
        )
    if found.high - found.low > WIDEST:
        return found.refused(f"too few labelled rows look like today's: label {rows_to_label()} rows")
    if declared is None:
        return replace(found, remark=UNDECLARED)
    return found

"""Do two domains overlap? Asked of a classifier between their rows; where they do not, nothing can be estimated."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.tree import ExtraTreeClassifier

from driftfit.domains import some_rows
from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.selection.accuracy import NORMAL_95
from driftfit.selection.view import PathView
from driftfit.selection.weighted import Weights

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

"""Accuracy on the target if an assumption holds, from labelled rows of the source that need not be independent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from driftfit.methods import Assumption
from driftfit.selection.accuracy import AccuracyEstimate
from driftfit.selection.outcome import Gain
from driftfit.selection.overlap import rows_to_label

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

"""Did anything move? Tests of each feature, controlled for their number, and of all features together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, ks_2samp, norm

from driftfit.methods.feature_maps import measured_columns
from driftfit.trust.overlap import Overlap
from driftfit.trust.same_law import holm

__all__ = ["FeatureShift", "chance_of", "feature_shifts"]

# Chance of a shift where there is none, of the features together; and again of the test of all of them at once.
LEVEL = 0.01
# A category of fewer rows in both windows together is put with the other rare ones.
_FEWEST_ROWS = 10


@dataclass(frozen=True)
class FeatureShift:
    """How one feature differs between two windows.

    Attributes
    ----------
    name : str
    chance : float
        Probability of a difference this large by chance, adjusted for the number of features (Holm).
    distance : float
        Largest difference between the two distribution functions; for flags and codes, share of the rows that differ.
    mean : float
        Difference of the means, in deviations of the first window; of both together where that one is constant.
    spread : float
        Ratio of the deviations; infinite where the first window is constant and the second is not.
    """

    name: str
    chance: float
    distance: float
    mean: float
    spread: float

    @property
    def moved(self) -> bool:
        """Whether chance would seldom do this."""
        return self.chance < LEVEL

    @property
    def sentence(self) -> str:
        """The difference in words.

        >>> FeatureShift("age", 0.001, 0.3, 0.8, 1.5).sentence
        'age: mean +0.8 deviations, spread x 1.5'
        """
        parts = []
        if abs(self.mean) >= 0.05:
            parts.append(f"mean {self.mean:+.1f} deviations")
        if np.isinf(self.spread):
            parts.append("was constant")
        elif not 0.95 <= self.spread <= 1.05:
            parts.append(f"spread x {self.spread:.2g}")
        return f"{self.name}: {', '.join(parts) or f'{100 * self.distance:.0f} % of the rows differ'}"


def feature_shifts(
    before: NDArray[np.float64], after: NDArray[np.float64], names: tuple[str, ...] | None = None
) -> tuple[FeatureShift, ...]:
    """Every feature of two windows, tested by itself: Kolmogorov and Smirnov for measurements, chi-square for codes.

    Parameters
    ----------
    before, after : arrays with one row per sample
    names : tuple of str, optional
        Of the features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = feature_shifts(rng.normal(size=(300, 2)), rng.normal((0.0, 1.0), size=(300, 2)))
    >>> [shift.moved for shift in found]
    [False, True]
    """
    measured = measured_columns(before, after)
    raw, distances = [], []
    for column, numeric in enumerate(measured):
        one, other = before[:, column], after[:, column]
        chance, distance = _compared(one, other) if numeric else _counted(one, other)
        raw.append(chance)
        distances.append(distance)
    adjusted = holm(np.array(raw))
    found = []
    for column, chance in enumerate(adjusted):
        one, other = before[:, column], after[:, column]
        # Rounding gives a constant column a deviation of its own: it has none, and both windows give the unit.
        constant = bool(np.ptp(one) == 0)
        unit = float(np.concatenate([one, other]).std() if constant else one.std()) or 1.0
        name = str(column) if names is None else names[column]
        mean = float(other.mean() - one.mean()) / unit
        spread = (float("inf") if np.ptp(other) > 0 else 1.0) if constant else float(other.std()) / unit
        found.append(FeatureShift(name, float(chance), distances[column], mean, spread))
    return tuple(found)


def chance_of(overlap: Overlap) -> float:
    """Probability that a classifier between two like samples tells them apart as well as this one.

    >>> round(chance_of(Overlap(0.5, 0.45, 0.55, 400)), 3), chance_of(Overlap(0.9, 0.85, 0.95, 400)) < 1e-6
    (0.5, True)
    """
    half = overlap.n_rows / 2
    deviation = np.sqrt((2 * half + 1) / (12 * half * half))
    return float(norm.sf((overlap.auc - 0.5) / deviation))


def _compared(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    found = ks_2samp(one, other, method="asymp")
    return float(found.pvalue), float(found.statistic)


def _counted(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    values = np.unique(np.concatenate([one, other]))
    counts = np.array([[np.sum(part == value) for value in values] for part in (one, other)], dtype=np.float64)
    rare = counts.sum(axis=0) < _FEWEST_ROWS
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return 1.0, 0.0
    shares = counts / counts.sum(axis=1, keepdims=True)
    return float(chi2_contingency(counts).pvalue), float(0.5 * np.abs(shares[0] - shares[1]).sum())

"""How each feature of two windows differs, beside the chance of such a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from driftfit.methods.feature_maps import measured_columns

# Chance that any of the features is said to move where none does.
LEVEL = 0.01


@dataclass(frozen=True)
class FeatureShift:
    """How one feature differs between two windows.

    Attributes
    ----------
    name : str
    chance : float
        Probability of a difference this large by chance, adjusted for the number of features.
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
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    chances: Sequence[float],
    names: tuple[str, ...] | None = None,
) -> tuple[FeatureShift, ...]:
    """How every feature of two windows differs.

    Parameters
    ----------
    before, after : arrays with one row per sample
    chances : sequence of float
        Of each feature, as `driftfit.selection.exchange.moved` gives them: it knows which rows hang together.
    names : tuple of str, optional
        Of the features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = feature_shifts(rng.normal(size=(300, 2)), rng.normal((0.0, 1.0), size=(300, 2)), (0.8, 0.002))
    >>> [shift.moved for shift in found], found[1].sentence
    ([False, True], '1: mean +0.9 deviations')
    """
    measured = measured_columns(before, after)
    found = []
    for column, chance in enumerate(chances):
        one, other = before[:, column], after[:, column]
        distance = _largest_difference(one, other) if measured[column] else _differing(one, other)
        # Rounding gives a constant column a deviation of its own: it has none, and both windows give the unit.
        constant = bool(np.ptp(one) == 0)
        unit = float(np.concatenate([one, other]).std() if constant else one.std()) or 1.0
        name = str(column) if names is None else names[column]
        mean = float(other.mean() - one.mean()) / unit
        spread = (float("inf") if np.ptp(other) > 0 else 1.0) if constant else float(other.std()) / unit
        found.append(FeatureShift(name, float(chance), distance, mean, spread))
    return tuple(found)


def _largest_difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Of the two distribution functions."""
    return float(ks_2samp(one, other, method="asymp").statistic)


def _differing(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Share of the rows that would have to change their value."""
    values = np.unique(np.concatenate([one, other]))
    shares = [np.array([np.mean(part == value) for value in values]) for part in (one, other)]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())

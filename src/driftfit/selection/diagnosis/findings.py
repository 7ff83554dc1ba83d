"""`Diagnosis`: what moved between the source and the target, column by column and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from driftfit.methods.alignment import measured_columns
from driftfit.selection.accuracy import Overlap
from driftfit.selection.diagnosis.proportion_fit import ProportionFit

CAUTION = "whether labels still mean the same cannot be seen without labels"


class Drift(Enum):
    """What kind of drift explains the target."""

    NOTHING = "nothing moves"
    PROPORTIONS = "class proportions change"
    SCALES = "features move by themselves"
    TURNED = "the structure turned"
    NEW_REGION = "a part of the target is new"
    MIXED = "several things move at once"


_ADVICE = {
    Drift.NOTHING: "the old model is as good as any that can be made without labels",
    Drift.PROPORTIONS: "correct the class proportions",
    Drift.SCALES: "scale or rank each window by itself",
    Drift.TURNED: "distances inside the windows are as before, directions are not: couple by structure or get labels",
    Drift.NEW_REGION: "get labels there",
    Drift.MIXED: "a remedy may help where the comparison finds one; otherwise get labels",
}


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What moved between source and target; no label of the target is used.

    Attributes
    ----------
    kind : Drift
    features : tuple of FeatureShift
        Every feature, tested by itself; chances are adjusted for their number.
    raw, aligned : Overlap
        How well a classifier tells source and target apart, as they are and with each window scaled by itself.
    proportions : ProportionFit or None
        None where the proportions cannot be estimated.
    new_share : float
        Share of the target beyond what the source has next to it, less what chance puts there.
    same_distances : float
        Probability by chance of the difference between distances inside the two windows.
    largest_step : float or None
        Share of the way that the largest step between neighbouring windows makes up; None with two windows.
    where : (str, str) or None
        That step.
    """

    kind: Drift
    features: tuple[FeatureShift, ...]
    raw: Overlap
    aligned: Overlap
    proportions: ProportionFit | None
    new_share: float
    same_distances: float
    largest_step: float | None
    where: tuple[str, str] | None

    @property
    def moved(self) -> tuple[FeatureShift, ...]:
        """Features that moved, the one that moved most first."""
        return tuple(sorted((f for f in self.features if f.moved), key=lambda f: -f.distance))

    @property
    def explained(self) -> float:
        """Part of what tells source and target apart that is gone once each window is scaled by itself."""
        return explained(self.raw, self.aligned)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The diagnosis in sentences, the advice first and what cannot be seen last."""
        found = [_ADVICE[self.kind]]
        moved = self.moved
        if moved:
            shown = "; ".join(feature.sentence for feature in moved[:3])
            more = f"; and {len(moved) - 3} more" if len(moved) > 3 else ""
            found.append(f"{len(moved)} of {len(self.features)} features move ({shown}{more})")
        else:
            found.append(f"none of {len(self.features)} features moves by more than chance")
        found.append(
            f"a classifier tells source from target rows with an AUC of {self.raw.auc:.2f}, and of "
            f"{self.aligned.auc:.2f} once each window is scaled by itself"
        )
        found += self._about_proportions() + self._about_place()
        return (*found, CAUTION)

    def _about_proportions(self) -> list[str]:
        fit = self.proportions
        if fit is None:
            return []
        share = 100 * fit.by_likelihood.distance
        if self.kind is Drift.PROPORTIONS:
            return [f"{share:.0f} % of the rows would have to change class, and that explains what is seen"]
        return []

    def _about_place(self) -> list[str]:
        found = []
        if self.new_share > 0.0:
            found.append(f"{100 * self.new_share:.0f} % of the target lies where the first window has nothing")
        if self.largest_step is not None and self.where is not None and self.kind is not Drift.NOTHING:
            found.append(
                f"of the way of the features that move, the step {self.where[0]} -> {self.where[1]} makes up "
                f"{100 * self.largest_step:.0f} %"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        fit = self.proportions
        return {
            "kind": self.kind.value,
            "reasons": list(self.reasons),
            "features": [{**asdict(feature), "moved": feature.moved} for feature in self.features],
            "auc": self.raw.auc,
            "auc_own_scale": self.aligned.auc,
            "explained_by_own_scale": self.explained,
            "proportions": None
            if fit is None
            else {
                "source": list(fit.by_likelihood.source),
                "estimate": list(fit.by_likelihood.estimate),
                "low": list(fit.by_likelihood.low),
                "high": list(fit.by_likelihood.high),
                "by_confusion": list(fit.by_confusion.estimate),
                "identifiable": fit.by_likelihood.identifiable,
                "explains": fit.explains,
            },
            "new_share": self.new_share,
            "largest_step": self.largest_step,
            "where": None if self.where is None else list(self.where),
        }


def explained(before: Overlap, after: Overlap) -> float:
    """Part of what tells two windows apart that an alignment removes; 0 where nothing does.

    >>> explained(Overlap(0.9, 0.88, 0.92, 100), Overlap(0.6, 0.55, 0.65, 100))
    0.75
    """
    return 1.0 if before.auc <= 0.5 else round(min(max(1.0 - (after.auc - 0.5) / (before.auc - 0.5), 0.0), 1.0), 9)


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

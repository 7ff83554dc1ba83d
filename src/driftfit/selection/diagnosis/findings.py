"""`Diagnosis`: what moved between the source and the target, in words and numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from driftfit.selection.diagnosis.proportion_fit import ProportionFit
from driftfit.selection.diagnosis.two_sample import FeatureShift
from driftfit.selection.overlap import Overlap

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

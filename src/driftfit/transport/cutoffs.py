"""The two cutoffs of the paper's appendix, each from a `Plan` to a thinner `Plan`.

Both scale what is left back to mass 1 and add what they removed to ``plan.lost_mass``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftfit.checks import check_fraction
from driftfit.errors import InputError
from driftfit.transport.plan import Plan


class Cutoff(Protocol):
    """A frozen value that thins a plan; ``label_shares`` describe the first domain's samples."""

    def apply(self, plan: Plan, label_shares: NDArray[np.float64] | None = None) -> Plan: ...


@dataclass(frozen=True)
class SmallValueCutoff:
    """Keep the largest entries of a plan.

    Parameters
    ----------
    threshold : float, optional
        Entries with less mass than this are dropped.
    max_entries : int, optional
        At most this many entries stay. Without either parameter, ``n + m`` stay: the
        linear storage that the paper asks for.

    >>> plan = Plan(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.5, 0.1, 0.4]), (2, 2))
    >>> thin = SmallValueCutoff(threshold=0.2).apply(plan)
    >>> len(thin), round(thin.lost_mass, 3)
    (2, 0.1)
    """

    threshold: float | None = None
    max_entries: int | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold < 1:
            raise InputError(f"threshold must lie in [0, 1), got {self.threshold!r}")
        if self.max_entries is not None and self.max_entries < 1:
            raise InputError(f"max_entries must be at least 1, got {self.max_entries!r}")

    def apply(self, plan: Plan, label_shares: NDArray[np.float64] | None = None) -> Plan:
        keep = np.ones(len(plan), dtype=bool)
        limit = self.max_entries
        if self.threshold is None and limit is None:
            limit = sum(plan.shape)
        if limit is not None and limit < len(plan):
            keep[:] = False
            keep[np.argpartition(plan.mass, len(plan) - limit)[-limit:]] = True
        if self.threshold is not None:
            keep &= plan.mass >= self.threshold
            if not keep.any():
                raise InputError(
                    f"no entry of the plan reaches threshold {self.threshold!r}; the largest is {plan.mass.max():.3g}"
                )
        return plan if keep.all() else plan.keep(keep)


@dataclass(frozen=True)
class ConfidenceCutoff:
    """Leave out the samples of the second domain on whose label the plan is undecided.

    The labels of the first domain are carried along the plan; a sample stays if the
    largest share of one class in what arrives there is at least ``threshold``.
    """

    threshold: float = 0.8

    def __post_init__(self) -> None:
        check_fraction(self.threshold, "threshold", closed=True)

    def apply(self, plan: Plan, label_shares: NDArray[np.float64] | None = None) -> Plan:
        if label_shares is None:
            raise InputError("ConfidenceCutoff needs label_shares: one row per sample of the first domain, one-hot")
        confident = transported_confidence(plan, label_shares) >= self.threshold
        keep = confident[plan.cols]
        if not keep.any():
            raise InputError(f"no sample is labelled with confidence {self.threshold!r}; lower the threshold")
        return plan if keep.all() else plan.keep(keep)


def transported_confidence(plan: Plan, label_shares: Any) -> NDArray[np.float64]:
    """Largest class share among the labels that the plan carries to each sample of the second domain."""
    return np.asarray(plan.carry(label_shares).max(axis=1))

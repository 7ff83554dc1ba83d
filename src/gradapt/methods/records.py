"""What is written down about an adaptation: one `StepRecord` per step, and the `Adaptation` as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradapt.learners import Learner
from gradapt.transport import Plan

__all__ = ["Adaptation", "OnStep", "StepRecord"]


@dataclass(frozen=True)
class StepRecord:
    """One step of self-training along the path.

    Attributes
    ----------
    step : int
        Counts from 1; step 0 is the source.
    name : str
        Name of the domain.
    position : float
        Where the domain lies between source (0) and target (1), counting given domains evenly.
    generated : bool
        Whether the domain was generated on the geodesic.
    n_samples : int
        Size of the domain.
    kept_fraction : float
        Share of the samples that were confident enough to train on.
    mean_confidence : float
        Mean of the teacher's confidence over all samples.
    changed_fraction : float
        Share of the samples whose label the student changed.
    class_shares : tuple of float
        Share of each class among the pseudo-labels.
    shift : float or None
        Wasserstein-2 distance from the domain before; along a generated path, its
        length along the plan. None where it was not measured.
    seconds : float
        Time of pseudo-labelling and training.
    """

    step: int
    name: str
    position: float
    generated: bool
    n_samples: int
    kept_fraction: float
    mean_confidence: float
    changed_fraction: float
    class_shares: tuple[float, ...]
    shift: float | None
    seconds: float


# Called after each step with its record and the learner it produced.
OnStep = Callable[[StepRecord, Learner], None]


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Result of a gradual method: the adapted learner, how it got there, and the plans it moved along."""

    learner: Learner
    records: tuple[StepRecord, ...]
    plans: tuple[Plan, ...] = ()

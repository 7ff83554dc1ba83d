"""What is written down about an adaptation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from driftfit.methods.plans import Path, PathStep
from driftfit.methods.pseudo_labels import PseudoLabels
from driftfit.models import Learner
from driftfit.transport import Plan


@dataclass(frozen=True)
class StepRecord:
    """One step of self-training along the path.

    ``step``: counts from 1; step 0 is the source. ``name``: name of the domain. ``position``: where the domain lies
    between source (0) and target (1), counting given domains evenly. ``generated``: whether the domain was generated on
    the geodesic. ``n_samples``: size of the domain. ``kept_fraction``: share of the samples that were confident enough
    to train on. ``mean_confidence``: mean of the teacher's confidence over all samples. ``changed_fraction``: share of
    the samples whose label the student changed. ``class_shares``: share of each class among the pseudo-labels.
    ``shift``: Wasserstein-2 distance from the domain before; along a generated path, its length along the plan. None
    where it was not measured. ``seconds``: time of pseudo-labelling and training.
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

    @classmethod
    def of(
        cls, number: int, step: PathStep, labels: PseudoLabels, after: NDArray[np.int64], started: float
    ) -> StepRecord:
        """The record of a training on one domain.

        ``step``: which domain. ``labels``: what was trained on. ``after``: what the trained model says about the same
        samples. ``started``: when it began, by ``time.perf_counter``.
        """
        counts = np.bincount(labels.labels, minlength=labels.shares.shape[1])
        return cls(
            step=number,
            name=step.domain.name,
            position=step.position,
            generated=step.generated,
            n_samples=len(labels.labels),
            kept_fraction=float(labels.kept.mean()),
            mean_confidence=float(labels.confidence.mean()),
            changed_fraction=float((after != labels.labels).mean()),
            class_shares=tuple(float(count / len(labels.labels)) for count in counts),
            shift=step.shift,
            seconds=perf_counter() - started,
        )


# Called after each step with its record and the learner it produced; None where nobody watches.
OnStep = Callable[[StepRecord, Learner], None] | None


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Result of a method.

    Attributes
    ----------
    learner : Learner
        The adapted model.
    records : tuple of StepRecord
        How it got there.
    plans : tuple of Plan
        What it moved along.
    path : Path or None
        The domains that it followed, where it followed a path.
    carried : array or None
        Share of each class that the plans carried to each target sample, where that was the method.
    choice : object or None
        Why this one, where the method chose among several.
    """

    learner: Learner
    records: tuple[StepRecord, ...] = ()
    plans: tuple[Plan, ...] = ()
    path: Path | None = None
    carried: NDArray[np.float64] | None = None
    choice: Any = None

    def is_none_of(self, learner: Learner) -> bool:
        """Whether nothing was done: a student may be its teacher, where one class was left to learn from."""
        return not self.records and self.learner is learner

    @property
    def n_generated(self) -> int:
        """Domains that were generated between two neighbours."""
        generated = sum(record.generated for record in self.records)
        return generated // max(len(self.records) - generated, 1)


@runtime_checkable
class GradualMethod(Protocol):
    """What can run along any path, such as one with generated domains."""

    def along(self, learner: Learner, path: Path, on_step: OnStep = None) -> Adaptation: ...

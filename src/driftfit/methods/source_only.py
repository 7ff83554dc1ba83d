"""No adaptation: the source model as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.method import Adaptation, Method, OnStep
from driftfit.methods.plans import Workspace
from driftfit.methods.registry import offer
from driftfit.models import Learner

# Logarithm of a probability that is as good as none.
_NEVER = -30.0


@dataclass(frozen=True)
class SourceOnly(Method):
    """Keeps the model that was fitted on the source."""

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        return Adaptation(learner)


offer("source", SourceOnly())


@dataclass(frozen=True, eq=False)
class ModelInUse(SourceOnly):
    """A model of somebody's own, known by its answers alone: others are compared with it, and it stays as it is.

    ``answers``: what it says about the rows of the target, as numbers of the learner's classes.
    """

    answers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        if len(self.answers) != len(sequence.target):
            raise InputError(f"the target has {len(sequence.target)} rows, got {len(self.answers)} answers for them")
        return Adaptation(_Answers(learner, self.answers))


@dataclass(frozen=True, eq=False)
class _Answers:
    """A learner that knows the rows of the target by their place; all else is another learner's."""

    other: Learner
    answers: NDArray[np.int64]

    def logits(self, samples: Any) -> NDArray[np.float64]:
        if samples.shape[0] != len(self.answers):
            raise InputError(f"the model in use answered for {len(self.answers)} rows, not for {samples.shape[0]}")
        return np.where(np.eye(len(self.other.classes), dtype=bool)[self.answers], 0.0, _NEVER)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.other, name)

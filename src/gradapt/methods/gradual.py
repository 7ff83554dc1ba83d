"""Gradual self-training (Kumar, Ma and Liang 2020): one step of self-training per domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from gradapt.learners import Learner
from gradapt.methods.records import Adaptation, OnStep, StepRecord
from gradapt.methods.self_training import SelfTraining
from gradapt.paths.path import Path

__all__ = ["GradualMethod", "GradualSelfTraining"]


class GradualMethod(Protocol):
    """Anything that leads a learner, fitted on the source, along a path of domains."""

    def adapt(self, learner: Learner, path: Path, on_step: OnStep | None = None) -> Adaptation: ...


@dataclass(frozen=True)
class GradualSelfTraining:
    """``h_t = ST(h_{t-1}, S_t)`` for every domain of the path in turn.

    Parameters
    ----------
    self_training : SelfTraining
        What happens at each domain.
    n_rounds : int
        Times that self-training is repeated on each domain.
    """

    self_training: SelfTraining = field(default_factory=SelfTraining)
    n_rounds: int = 1

    def adapt(self, learner: Learner, path: Path, on_step: OnStep | None = None) -> Adaptation:
        records: list[StepRecord] = []
        for step in path.steps:
            for _ in range(self.n_rounds):
                learner, record = self.self_training.step(learner, step, len(records) + 1)
                records.append(record)
                if on_step is not None:
                    on_step(record, learner)
        return Adaptation(learner, tuple(records), path.plans)

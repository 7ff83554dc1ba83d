"""No adaptation: the source model as it is."""

from __future__ import annotations

from dataclasses import dataclass

from gradapt.domains import DomainSequence
from gradapt.learners import Learner
from gradapt.methods.adaptation import Adaptation, OnStep
from gradapt.paths import Workspace

__all__ = ["SourceOnly"]


@dataclass(frozen=True)
class SourceOnly:
    """Keeps the model that was fitted on the source."""

    def adapt(
        self,
        learner: Learner,
        sequence: DomainSequence,
        on_step: OnStep | None = None,
        workspace: Workspace | None = None,
    ) -> Adaptation:
        return Adaptation(learner)

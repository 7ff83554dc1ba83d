"""Gradual self-training (Kumar, Ma and Liang 2020): one step of self-training per domain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.adaptation import Adaptation, GradualMethod, OnStep, StepRecord
from driftfit.methods.assumptions import Assumption
from driftfit.methods.method import Method
from driftfit.methods.path import Path, given_path
from driftfit.methods.registry import offer
from driftfit.methods.self_training import SelfTraining
from driftfit.methods.workspace import Workspace
from driftfit.models import Learner


@dataclass(frozen=True)
class GradualSelfTraining(Method):
    """``h_t = ST(h_{t-1}, S_t)`` for every domain of the path in turn.

    Parameters
    ----------
    self_training : SelfTraining
        What happens at each domain.
    n_rounds : int
        Times that self-training is repeated on each domain.
    freeze_encoder : bool
        Adapt the head alone; the encoder stays as it was fitted on the source.
    measure_shift : bool
        Measure how far each domain is from the one before, for the records.
    """

    self_training: SelfTraining = field(default_factory=SelfTraining)
    n_rounds: int = 1
    freeze_encoder: bool = False
    measure_shift: bool = True
    assumes = frozenset({Assumption.PATH})

    def __post_init__(self) -> None:
        if self.n_rounds < 1:
            raise InputError(f"n_rounds must be at least 1, got {self.n_rounds!r}")

    @property
    def keeps_encoder(self) -> bool:
        return self.freeze_encoder

    def n_steps(self, sequence: DomainSequence) -> int:
        return (len(sequence) - 1) * self.n_rounds

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Follow the given domains."""
        if not self.freeze_encoder:
            return self.along(learner, given_path(sequence.masked(), measure_shift=self.measure_shift), on_step)
        features = (workspace or Workspace()).encoded(learner, sequence)
        return adapt_head(self, learner, given_path(features, measure_shift=self.measure_shift), on_step)

    def along(self, learner: Learner, path: Path, on_step: OnStep = None) -> Adaptation:
        """Follow any path."""
        records: list[StepRecord] = []
        for step in path.steps:
            for _ in range(self.n_rounds):
                learner, record = self.self_training.step(learner, step, len(records) + 1)
                records.append(record)
                if on_step is not None:
                    on_step(record, learner)
        return Adaptation(learner, tuple(records), path.plans, path)


@dataclass(frozen=True)
class DirectSelfTraining(GradualSelfTraining):
    """Self-training straight from the source to the target, whatever lies between.

    Parameters are those of `GradualSelfTraining`; ``n_rounds`` counts the repetitions on the target.
    """

    def n_steps(self, sequence: DomainSequence) -> int:
        return self.n_rounds

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        return super().adapt(learner, sequence.ends(), on_step, workspace)


offer("gst", GradualSelfTraining(freeze_encoder=True), about="Self-training along the windows, one after the other.")
offer("direct", DirectSelfTraining(freeze_encoder=True))


def adapt_head(method: GradualMethod, learner: Learner, path: Path, on_step: OnStep = None) -> Adaptation:
    """Run a method on the learner's head along a path of features; whoever watches sees the whole model."""

    def report(record: StepRecord, head: Learner) -> None:
        if on_step is not None:
            on_step(record, learner.with_head(head))

    adapted = method.along(learner.head(), path, report)
    return replace(adapted, learner=learner.with_head(adapted.learner))

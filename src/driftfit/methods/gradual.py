"""Self-training along a path: over the windows, straight to the target, or with generated domains between (GOAT)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from driftfit.checks import check_fraction
from driftfit.domains import DomainSequence, take_rows
from driftfit.errors import InputError
from driftfit.methods.method import Adaptation, Assumption, GradualMethod, Method, OnStep, StepRecord
from driftfit.methods.plans import Path, PathStep, Transport, Workspace, check_n_generated, given_path
from driftfit.methods.pseudo_labels import Confidence, pseudo_label, top_probability
from driftfit.methods.registry import offer
from driftfit.models import Learner


@dataclass(frozen=True)
class SelfTraining:
    """One step ``h' = ST(h, S)`` of the paper.

    Parameters
    ----------
    drop_fraction : float
        Share of the samples with the least confident labels that is left out.
    soft_labels : bool
        Train on class probabilities instead of the most likely class.
    use_weights : bool or None
        Weigh the loss by the domain's weights (on a generated domain, the mass of the
        plan). None: where the classifier takes weights.
    confidence : callable
        From logits to a confidence for each sample.
    warm_start : bool
        Start each student from its teacher where the classifier can; otherwise from scratch.
    """

    drop_fraction: float = 0.1
    soft_labels: bool = False
    use_weights: bool | None = None
    # A function has no name of its own in a representation, only an address.
    confidence: Confidence = field(default=top_probability, repr=False)
    warm_start: bool = True

    def __post_init__(self) -> None:
        check_fraction(self.drop_fraction, "drop_fraction")

    def step(self, teacher: Learner, step: PathStep, number: int) -> tuple[Learner, StepRecord]:
        """Train a student on one domain; returns it with the record of the step."""
        started = time.perf_counter()
        domain = step.domain
        samples = teacher.place(domain.samples)
        labels = pseudo_label(teacher, samples, self.drop_fraction, self.confidence)
        kept = labels.kept
        present = np.unique(labels.labels[kept])
        if len(present) < 2:
            # With one class left there is nothing to learn; the record shows it.
            student = teacher
        else:
            chosen = np.flatnonzero(kept)
            targets = labels.shares[chosen] if self.soft_labels else labels.labels[chosen]
            weights = self._weights(teacher, domain.uneven_weights)
            train = teacher.refit if self.warm_start else teacher.fit
            student = train(take_rows(samples, chosen), targets, None if weights is None else weights[chosen])
        after = student.logits(samples).argmax(axis=1)
        return student, StepRecord.of(number, step, labels, after, started)

    def _weights(self, teacher: Learner, weights: np.ndarray | None) -> np.ndarray | None:
        if weights is None or self.use_weights is False:
            return None
        if not teacher.takes_weights:
            if self.use_weights:
                raise InputError(
                    "use_weights=True, but the classifier's fit takes no sample_weight; "
                    "choose another classifier or use_weights=False"
                )
            return None
        return weights


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


@dataclass(frozen=True)
class GOAT(Method):
    """Encode, transport, generate, adapt.

    Parameters
    ----------
    n_generated : int
        Domains generated between each two neighbours.
    gradual : GradualMethod
        What runs on the generated path: gradual self-training, or any other.
    transport : Transport
        How neighbours are coupled: solver, cost, cutoffs.
    feature_space : bool
        Generate in the space of the learner's encoder, which stays fixed, and adapt its
        head alone; otherwise generate in the input space and adapt the whole model.
    """

    n_generated: int = 4
    gradual: GradualMethod = field(default_factory=GradualSelfTraining)
    transport: Transport = field(default_factory=Transport)
    feature_space: bool = True
    assumes = frozenset({Assumption.PATH})

    def __post_init__(self) -> None:
        check_n_generated(self.n_generated)
        if not self.feature_space and getattr(self.gradual, "freeze_encoder", False):
            raise InputError("freeze_encoder=True needs feature_space=True: in the input space the whole model learns")

    @property
    def keeps_encoder(self) -> bool:
        return self.feature_space

    def needs_matrices(self, encodes: bool) -> bool:
        return not (encodes and self.feature_space)

    def n_steps(self, sequence: DomainSequence) -> int:
        return (len(sequence) - 1) * (self.n_generated + 1)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Algorithm 1: take a learner, fitted on the source of the sequence, to its target."""
        work = workspace or Workspace()
        domains = work.domains(learner, sequence, feature_space=self.feature_space)
        measure_shift = getattr(self.gradual, "measure_shift", True)
        path = work.path(domains, self.transport, self.n_generated, measure_shift=measure_shift)
        if self.feature_space:
            return adapt_head(self.gradual, learner, path, on_step)
        return self.gradual.along(learner, path, on_step)


offer("goat", GOAT(), about="Self-training along domains that are generated between the windows.")

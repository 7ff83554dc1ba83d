"""Labels carried along the plans from the source to the target, and a model that learns from them there."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.learners import Learner
from gradapt.methods.adaptation import Adaptation, OnStep, StepRecord
from gradapt.methods.pseudo_labels import PseudoLabels
from gradapt.paths import PathStep, Transport, Workspace

__all__ = ["CarriedLabels"]


@dataclass(frozen=True)
class CarriedLabels:
    """Every target sample takes the label that most of its mass came with; no pseudo-label is involved.

    Parameters
    ----------
    transport : Transport
    feature_space : bool
        Couple in the space of the learner's encoder; otherwise in the input space.
    refit : bool
        Train a new model on the target with these labels. Otherwise the source model stays,
        and the labels themselves are the result (`Adaptation.carried`).
    """

    transport: Transport = field(default_factory=Transport)
    feature_space: bool = True
    refit: bool = True

    def adapt(
        self,
        learner: Learner,
        sequence: DomainSequence,
        on_step: OnStep | None = None,
        workspace: Workspace | None = None,
    ) -> Adaptation:
        started = time.perf_counter()
        work = workspace or Workspace()
        domains = work.domains(learner, sequence, feature_space=self.feature_space)
        coupled = work.coupled(domains, self.transport)
        carried = coupled.carried(learner.classes)
        if not self.refit:
            return Adaptation(learner, plans=coupled.plans, carried=carried)
        # The samples that the plans reached, as they were before encoding.
        target = self.transport.sampled(sequence.target.without_labels())
        labels = PseudoLabels(carried.argmax(axis=1), carried, carried.max(axis=1), carried.sum(axis=1) > 0)
        if len(np.unique(labels.labels[labels.kept])) < 2:
            raise InputError("the plans carry a single class to the target; loosen the cutoffs")
        arrived = target.take(np.flatnonzero(labels.kept))
        weights = arrived.uneven_weights if learner.takes_weights else None
        student = learner.fit(arrived.samples, labels.labels[labels.kept], weights)
        after = student.logits(target.samples).argmax(axis=1)
        record = StepRecord.of(1, PathStep(target, 1.0, False, coupled.shifts[-1]), labels, after, started)
        if on_step is not None:
            on_step(record, student)
        return Adaptation(student, (record,), coupled.plans, carried=carried)

"""Self-training: teach a student with the labels its teacher gives to unlabelled samples."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from driftfit.checks import check_fraction
from driftfit.domains import take_rows
from driftfit.errors import InputError
from driftfit.methods.adaptation import StepRecord
from driftfit.methods.path import PathStep
from driftfit.methods.pseudo_labels import Confidence, pseudo_label, top_probability
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

"""Self-training: teach a student with the labels its teacher gives to unlabelled samples."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sklearn.utils import _safe_indexing

from gradapt.errors import InputError
from gradapt.learners import Learner
from gradapt.methods.pseudo_labels import Confidence, pseudo_label, top_probability
from gradapt.methods.records import StepRecord
from gradapt.paths.path import PathStep

__all__ = ["SelfTraining"]


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
    """

    drop_fraction: float = 0.1
    soft_labels: bool = False
    use_weights: bool | None = None
    confidence: Confidence = top_probability

    def step(self, teacher: Learner, step: PathStep, number: int) -> tuple[Learner, StepRecord]:
        """Train a student on one domain; returns it with the record of the step."""
        started = time.perf_counter()
        domain = step.domain
        labels = pseudo_label(teacher, domain.samples, self.drop_fraction, self.confidence)
        kept = labels.kept
        present = np.unique(labels.labels[kept])
        if len(present) < 2:
            # With one class left there is nothing to learn; the record shows it.
            student = teacher
        else:
            chosen = np.flatnonzero(kept)
            targets = labels.shares[chosen] if self.soft_labels else labels.labels[chosen]
            weights = self._weights(teacher, domain.weights)
            student = teacher.refit(
                _safe_indexing(domain.samples, chosen), targets, None if weights is None else weights[chosen]
            )
        after = student.logits(domain.samples).argmax(axis=1)
        counts = np.bincount(labels.labels, minlength=len(teacher.classes))
        record = StepRecord(
            step=number,
            name=domain.name,
            position=step.position,
            generated=step.generated,
            n_samples=len(domain),
            kept_fraction=float(kept.mean()),
            mean_confidence=float(labels.confidence.mean()),
            changed_fraction=float((after != labels.labels).mean()),
            class_shares=tuple(float(count / len(domain)) for count in counts),
            shift=step.shift,
            seconds=time.perf_counter() - started,
        )
        return student, record

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
        return None if np.ptp(weights) == 0 else weights

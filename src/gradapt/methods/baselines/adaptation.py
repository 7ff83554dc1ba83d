"""A baseline led over domains: from the source straight to the target, or from neighbour to neighbour."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.learners import Learner
from gradapt.learners.torch_learner import TorchLearner
from gradapt.learners.torch_samples import Stored, as_tensor, dtype_of
from gradapt.methods.baselines.layers import SCORES, last_hidden_layer
from gradapt.methods.baselines.loop import PairedTrainer
from gradapt.methods.baselines.pairs import Baseline
from gradapt.methods.pseudo_labels import pseudo_label
from gradapt.methods.records import Adaptation, OnStep, StepRecord
from gradapt.networks import INPUT
from gradapt.seeds import derive_seed

__all__ = ["BaselineMethod"]


@dataclass(frozen=True)
class BaselineMethod:
    """Adapts a learner, fitted on the source, by one baseline; the network goes on from the learner's weights.

    Attributes
    ----------
    baseline : Baseline
    with_given : bool
        Take the given domains into the unlabelled side, pooled with the target. By
        default source and target alone are used.
    sequential : bool
        Train once for every two neighbouring domains. The labels of the first of them are
        the source's own, and later those that the model gives to all of its samples.
    layer : str or None
        Where the encoder ends. None: at the learner's own encoder layer; if that is the
        input, at the last hidden layer; ``"scores"``, and the default of Deep CORAL: the whole network.
    epochs : int or None
        Of each training; None: as when the learner is refitted.

    Examples
    --------
    >>> from gradapt.methods.baselines import DANN
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.learners.torch_classifier import TorchClassifier
    >>> path = moving_gaussians((0, 1), n_samples=40)
    >>> learner = TorchClassifier(epochs=2, random_state=0).make_learner(np.array([0, 1]))
    >>> learner = learner.fit(path.source.samples, path.source.labels)
    >>> adaptation = BaselineMethod(DANN()).adapt(learner, path)
    >>> [record.name for record in adaptation.records]
    ['1']
    """

    baseline: Baseline
    with_given: bool = False
    sequential: bool = False
    layer: str | None = None
    epochs: int | None = None

    def __post_init__(self) -> None:
        if self.with_given and self.sequential:
            raise InputError("with_given and sequential exclude each other: pool the given domains, or visit them")
        if self.epochs is not None and self.epochs < 1:
            raise InputError(f"epochs must be at least 1, or None for those of the learner, got {self.epochs!r}")

    def adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep | None = None) -> Adaptation:
        """Train on the domains; the given learner stays as it is."""
        if not isinstance(learner, TorchLearner):
            raise InputError(
                f"{type(self.baseline).__name__} trains a torch network, got a {type(learner).__name__}; "
                "use a TorchClassifier"
            )
        _refuse_weights(sequence, type(self.baseline).__name__)
        assert sequence.source.labels is not None
        labels: NDArray[np.int64] = np.searchsorted(learner.classes, sequence.source.labels)
        student = replace(learner, module=deepcopy(learner.trained))
        trainer = self._trainer(student)
        records: list[StepRecord] = []
        for number, (samples0, samples1, name, position) in enumerate(self._pairs(student, sequence), start=1):
            if number > 1:
                labels = student.logits(samples0).argmax(axis=1)
            before, record = student, _Before(student, samples1)
            self._train(trainer, student, samples0, labels, samples1)
            # A copy for this step: the trainer's module is trained on in place.
            student = replace(before, module=deepcopy(trainer.module), step=before.step + 1)
            records.append(record.finished(student, number, name, position))
            if on_step is not None:
                on_step(records[-1], student)
        return Adaptation(student, tuple(records))

    def _trainer(self, student: TorchLearner) -> PairedTrainer:
        layer = student.encoder_layer if self.layer is None else self.layer
        if self.layer is None and self.baseline.aligns_scores:
            layer = SCORES
        elif self.layer is None and layer == INPUT:
            layer = last_hidden_layer(student.trained)
        shape = tuple(student.trained.sample_shape)  # type: ignore[arg-type]
        return PairedTrainer(
            student.trained,
            layer,
            self.baseline,
            student.refit_recipe,
            sample_shape=shape,
            n_classes=len(student.classes),
        )

    def _pairs(self, student: TorchLearner, sequence: DomainSequence) -> list[tuple[Tensor, Tensor, str, float]]:
        """Labelled and unlabelled samples of each training, on the device, with the record's name and position."""
        device, dtype = student.device, dtype_of(student.trained)
        tensors = [as_tensor(domain.samples, device, dtype) for domain in sequence]
        names = [domain.name for domain in sequence]
        if self.sequential:
            n_pairs = len(sequence) - 1
            return [
                (before, after, names[number], number / n_pairs)
                for number, (before, after) in enumerate(pairwise(tensors), start=1)
            ]
        if self.with_given and sequence.n_given:
            return [(tensors[0], torch.cat(tensors[1:]), "+".join(names[1:]), 1.0)]
        return [(tensors[0], tensors[-1], names[-1], 1.0)]

    def _train(
        self, trainer: PairedTrainer, student: TorchLearner, samples0: Tensor, labels: Any, samples1: Tensor
    ) -> None:
        codes = torch.as_tensor(np.ascontiguousarray(labels), dtype=torch.int64, device=samples0.device)
        seed = derive_seed(student.seed, type(self.baseline).__name__, student.step)
        trainer.train(Stored(samples0), codes, Stored(samples1), seed=seed, epochs=self.epochs)


def _refuse_weights(sequence: DomainSequence, name: str) -> None:
    # Weights are never dropped in silence.
    for domain in sequence:
        if domain.weights is not None and np.ptp(domain.weights) > 0:
            raise InputError(
                f"the loss of {name} takes no sample weights, but domain {domain.name!r} has some; "
                "leave them out, or repeat samples instead"
            )


class _Before:
    """What the model says about the unlabelled side before a training; turned into its record afterwards."""

    def __init__(self, teacher: TorchLearner, samples: Tensor) -> None:
        self.started = time.perf_counter()
        self.samples = samples
        self.labels = pseudo_label(teacher, samples, drop_fraction=0.0)

    def finished(self, student: TorchLearner, number: int, name: str, position: float) -> StepRecord:
        labels = self.labels.labels
        after = student.logits(self.samples).argmax(axis=1)
        counts = np.bincount(labels, minlength=len(student.classes))
        return StepRecord(
            step=number,
            name=name,
            position=position,
            generated=False,
            n_samples=len(labels),
            kept_fraction=1.0,
            mean_confidence=float(self.labels.confidence.mean()),
            changed_fraction=float((after != labels).mean()),
            class_shares=tuple(float(count / len(labels)) for count in counts),
            shift=None,
            seconds=time.perf_counter() - self.started,
        )

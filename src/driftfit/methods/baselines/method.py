"""A baseline trained over domains: source against target, or from neighbour to neighbour."""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods.baselines.loop import SCORES, PairedTrainer
from driftfit.methods.baselines.pairs import Baseline
from driftfit.methods.method import Adaptation, Assumption, Method, OnStep, StepRecord
from driftfit.methods.plans import PathStep, Transport, Workspace
from driftfit.methods.pseudo_labels import pseudo_label
from driftfit.models import Learner
from driftfit.models.networks import INPUT, last_hidden_layer
from driftfit.models.torch.learner import TorchLearner
from driftfit.models.torch.samples import Stored, as_tensor, dtype_of
from driftfit.seeds import derive_seed
from driftfit.transport import Plan


@dataclass(frozen=True)
class BaselineMethod(Method):
    """Adapts a network, fitted on the source, by one baseline; it goes on from the network's weights.

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
    transport : Transport or None
        Pair each unlabelled sample with labelled ones that a plan joins to it, in the space of the learner's
        encoder or of the input: CoVi then mixes along the plan. None: at random.
    feature_space : bool
        Where the plans are made.

    Examples
    --------
    >>> from driftfit.methods.baselines import DANN
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.models.torch.classifier import TorchClassifier
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
    transport: Transport | None = None
    feature_space: bool = True
    # Features are drawn together where they lie close: across a wide gap nothing says which belong to each other.
    assumes = frozenset({Assumption.PATH})

    def __post_init__(self) -> None:
        if self.with_given and self.sequential:
            raise InputError("with_given and sequential exclude each other: pool the given domains, or visit them")
        if self.with_given and self.transport is not None:
            raise InputError("a plan joins two domains: leave with_given or transport out")
        if self.epochs is not None and self.epochs < 1:
            raise InputError(f"epochs must be at least 1, or None for those of the learner, got {self.epochs!r}")

    def n_steps(self, sequence: DomainSequence) -> int:
        return len(sequence) - 1 if self.sequential else 1

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Train on the domains; the given learner stays as it is."""
        name = type(self.baseline).__name__
        if not isinstance(learner, TorchLearner):
            raise InputError(f"{name} trains a torch network, got a {type(learner).__name__}; use a TorchClassifier")
        _refuse_weights(sequence, name)
        student = replace(learner, module=learner.trained, new_head=None)
        trainer = self._trainer(student)
        records: list[StepRecord] = []
        given = sequence.masked() if self.sequential or self.with_given else sequence.masked().ends()
        plans = self._plans(learner, given, workspace or Workspace())
        if self.transport is not None:
            given = given.each(self.transport.sampled)  # what the plans join: of large domains a sample
        labels = given.source.codes(learner.classes)
        for number, (labelled, step) in enumerate(self._pairs(student, given), start=1):
            started = time.perf_counter()
            if number > 1:
                labels = student.logits(labelled).argmax(axis=1)
            before = pseudo_label(student, step.domain.samples, drop_fraction=0.0)
            codes = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64)).to(student.device)
            seed = derive_seed(student.seed, name, student.step)
            plan = plans[number - 1] if plans else None
            unlabelled = Stored(step.domain.samples)
            trainer.train(Stored(labelled), codes, unlabelled, seed=seed, epochs=self.epochs, plan=plan)
            # A copy for this step: the trainer's module is trained on in place.
            student = replace(student, module=deepcopy(trainer.module), step=student.step + 1)
            after = student.logits(step.domain.samples).argmax(axis=1)
            records.append(StepRecord.of(number, step, before, after, started))
            if on_step is not None:
                on_step(records[-1], student)
        return Adaptation(student, tuple(records), plans)

    def _plans(self, learner: Learner, sequence: DomainSequence, work: Workspace) -> tuple[Plan, ...]:
        if self.transport is None:
            return ()
        domains = work.domains(learner, sequence, feature_space=self.feature_space)
        return work.coupled(domains, self.transport).plans

    def _trainer(self, student: TorchLearner) -> PairedTrainer:
        layer = student.layer if self.layer is None else self.layer
        if self.layer is None and self.baseline.aligns_scores:
            layer = SCORES
        elif self.layer is None and layer == INPUT:
            layer = last_hidden_layer(student.trained)
        shape = tuple(student.trained.sample_shape)  # type: ignore[arg-type]
        return PairedTrainer(
            deepcopy(student.trained),
            layer,
            self.baseline,
            student.refit_recipe,
            sample_shape=shape,
            n_classes=len(student.classes),
        )

    def _pairs(self, student: TorchLearner, sequence: DomainSequence) -> list[tuple[Tensor, PathStep]]:
        """Labelled samples, and the unlabelled domain, of each training; all on the device."""
        device, dtype = student.device, dtype_of(student.trained)
        tensors = [as_tensor(domain.samples, device, dtype) for domain in sequence]
        domains = [Domain(x, name=domain.name) for x, domain in zip(tensors, sequence, strict=True)]
        if self.sequential:
            n_pairs = len(sequence) - 1
            return [
                (before.samples, PathStep(after, number / n_pairs, False, None))
                for number, (before, after) in enumerate(pairwise(domains), start=1)
            ]
        last = domains[-1]
        if self.with_given and sequence.n_given:
            last = Domain(torch.cat(tensors[1:]), name="+".join(domain.name for domain in domains[1:]))
        return [(tensors[0], PathStep(last, 1.0, False, None))]


def _refuse_weights(sequence: DomainSequence, name: str) -> None:
    # Weights are never dropped in silence.
    for domain in sequence:
        if domain.uneven_weights is not None:
            raise InputError(
                f"the loss of {name} takes no sample weights, but domain {domain.name!r} has some; "
                "leave them out, or repeat samples instead"
            )

"""The paper's own encoder: self-trained along the given domains first, then frozen below a new head."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.gradual import GradualSelfTraining
from driftfit.methods.method import Adaptation, Method, OnStep
from driftfit.methods.plans import Workspace
from driftfit.models import Learner
from driftfit.models.networks import split
from driftfit.models.torch.learner import TorchLearner
from driftfit.models.torch.training import seeded
from driftfit.seeds import derive_seed


@dataclass(frozen=True)
class PretrainedEncoder(Method):
    """Another method on an encoder that has seen all domains.

    A small network is trained on the source and self-trained along the given domains; its
    encoder is kept and frozen, and a new head of the learner's own network is trained on the source behind it.

    ``method``: what follows, in the space of that encoder. ``module``: from the shape of one sample and the number of
    classes to the small network, whose layers up to the learner's encoder layer are those of the learner's network.
    """

    method: Method
    module: Callable[[tuple[int, ...], int], nn.Module]
    pretraining: GradualSelfTraining = field(default_factory=GradualSelfTraining)

    @property
    def inner(self) -> tuple[Method, ...]:
        return self.pretraining, self.method

    def n_steps(self, sequence: DomainSequence) -> int:
        return self.method.n_steps(sequence)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        return self.method.adapt(self.prepare(learner, sequence), sequence, on_step, workspace)

    def prepare(self, learner: Learner, sequence: DomainSequence) -> TorchLearner:
        """The learner with the new encoder and a new head, both trained."""
        if not isinstance(learner, TorchLearner):
            raise InputError(
                f"PretrainedEncoder trains a torch network, got a {type(learner).__name__}; use a TorchClassifier"
            )
        source = sequence.source
        codes, weights = source.codes(learner.classes), source.uneven_weights
        small = replace(learner, build=self.module, seed=derive_seed(learner.seed, "pretraining"))
        small = small.fit(source.samples, codes, weights)
        pretrained = self.pretraining.adapt(small, sequence).learner
        shape = tuple(source.samples.shape[1:])
        with seeded(derive_seed(learner.seed, "weights"), torch.device("cpu")):
            whole = learner.build(shape, len(learner.classes)).to(learner.device)
        whole.sample_shape = shape
        front, _ = split(whole, learner.layer)
        trained_front, _ = split(pretrained.estimator.module_, learner.layer)
        front.load_state_dict(trained_front.state_dict())
        bare = replace(learner, module=whole, new_head=None, step=0)
        head = bare.head()
        trained = replace(head, build=lambda *_: deepcopy(head.trained))
        trained = trained.fit(bare.encode(source.samples), codes, weights)
        return bare.with_head(replace(trained, build=head.build))

"""GOAT, Algorithm 1 of He, Wang, Li and Zhao (JMLR 2024): generate domains on the geodesic, then adapt along them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradapt.domains import DomainSequence
from gradapt.learners import Learner
from gradapt.methods.gradual import GradualMethod, GradualSelfTraining
from gradapt.methods.records import Adaptation, OnStep, StepRecord
from gradapt.paths.path import generate_path, make_plans
from gradapt.transport import Plan, Solver
from gradapt.transport.cutoffs import Cutoff

__all__ = ["GOAT"]


@dataclass(frozen=True)
class GOAT:
    """Encode, transport, cut off, generate, adapt.

    Parameters
    ----------
    n_generated : int
        Domains generated between each two neighbours.
    method : GradualMethod
        What runs on the generated path: gradual self-training, or any other.
    feature_space : bool
        Generate in the space of the learner's encoder, which stays fixed, and adapt its
        head alone; otherwise generate in the input space and adapt the whole model.
    solver, cost, cutoffs
        How the plans are made; see `gradapt.transport`.
    """

    n_generated: int = 4
    method: GradualMethod = field(default_factory=GradualSelfTraining)
    feature_space: bool = True
    solver: Solver | None = None
    cost: Any = None
    cutoffs: tuple[Cutoff, ...] = ()

    def adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep | None = None) -> Adaptation:
        """Lead a learner, fitted on the source of the sequence, to its target."""
        return self.adapt_on(learner, self.ground(learner, sequence), on_step)

    def ground(self, learner: Learner, sequence: DomainSequence) -> DomainSequence:
        """The domains in the space to generate in, without labels but the source's."""
        sequence = sequence.masked()
        if not self.feature_space:
            return sequence
        return DomainSequence([domain.with_samples(learner.encode(domain.samples)) for domain in sequence])

    def plans(self, ground: DomainSequence) -> tuple[Plan, ...]:
        """The plans between neighbours, which do not depend on ``n_generated``."""
        return make_plans(ground, solver=self.solver, cost=self.cost, cutoffs=tuple(self.cutoffs))

    def adapt_on(
        self,
        learner: Learner,
        ground: DomainSequence,
        on_step: OnStep | None = None,
        plans: tuple[Plan, ...] | None = None,
    ) -> Adaptation:
        """`adapt` with what `ground`, and perhaps `plans`, made before: several runs can share both."""
        path = generate_path(
            ground, self.n_generated, solver=self.solver, cost=self.cost, cutoffs=tuple(self.cutoffs), plans=plans
        )
        if not self.feature_space:
            return self.method.adapt(learner, path, on_step)
        report: OnStep | None = None
        if on_step is not None:
            # Whoever watches gets the whole model, not its head alone.
            def report(record: StepRecord, head: Learner) -> None:
                on_step(record, learner.with_head(head))

        adapted = self.method.adapt(learner.head(), path, report)
        return Adaptation(learner.with_head(adapted.learner), adapted.records, adapted.plans)

"""GOAT, Algorithm 1 of He, Wang, Li and Zhao (JMLR 2024): generate domains on the geodesic, then adapt along them."""

from __future__ import annotations

from dataclasses import dataclass, field

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.adaptation import Adaptation, GradualMethod, OnStep
from driftfit.methods.gradual import GradualSelfTraining, adapt_head
from driftfit.methods.method import Assumption, Method
from driftfit.methods.plans import Transport, check_n_generated
from driftfit.methods.registry import offer
from driftfit.methods.workspace import Workspace
from driftfit.models import Learner


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

"""The source mapped to the target: each labelled row goes where the plan sends it, and a new model learns there."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftfit.domains import DomainSequence
from driftfit.methods.adaptation import Adaptation
from driftfit.methods.alignment import dense_matrix
from driftfit.methods.assumptions import Assumption
from driftfit.methods.method import Method
from driftfit.methods.plans import Transport
from driftfit.methods.workspace import Workspace
from driftfit.models import Learner


@dataclass(frozen=True)
class MappedSource(Method):
    """A new model on the source's labels at the barycentres of the target rows that one plan sends each row to.

    Courty et al. 2017. Given windows between source and target are passed over: a chain of plans adds their errors.

    Parameters
    ----------
    transport : Transport
    """

    transport: Transport = field(default_factory=Transport)
    on_matrices = True
    assumes = frozenset({Assumption.PATH})

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        coupled = workspace.coupled(sequence.masked().ends(), self.transport)
        plan, (source, target) = coupled.plans[0], (coupled.samples.source, coupled.samples.target)
        rows = dense_matrix(target)
        mass = np.asarray(np.bincount(plan.rows, plan.mass, minlength=len(source)), dtype=np.float64)
        images = np.zeros((len(source), rows.shape[1]))
        np.add.at(images, plan.rows, plan.mass[:, None] * rows[plan.cols])
        kept = np.flatnonzero(mass > 0)
        codes = source.codes(learner.classes)[kept]
        weights = mass[kept] if learner.takes_weights and source.uneven_weights is not None else None
        student = learner.fit(images[kept] / mass[kept, None], codes, weights)
        return Adaptation(student, plans=(plan,))

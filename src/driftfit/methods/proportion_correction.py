"""Correction of class proportions: the source model, told how frequent each class is in the target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.adaptation import Adaptation
from driftfit.methods.alignment import OwnScale
from driftfit.methods.class_proportions import ByLikelihood, ProportionEstimator
from driftfit.methods.held_out import held_out
from driftfit.methods.method import Assumption, Method
from driftfit.methods.registry import offer
from driftfit.methods.rescaled_classifier import RescaledClassifier
from driftfit.methods.workspace import Workspace
from driftfit.models import Learner
from driftfit.models.scikit import ScikitLearner


@dataclass(frozen=True)
class ProportionCorrection(Method):
    """The source model with its probabilities multiplied by the ratio of new to old class proportions.

    Right where the classes look as they did and only their shares moved. The probabilities are calibrated first, on
    source rows that were held out. The estimate itself is in ``Adaptation.choice``.

    Parameters
    ----------
    estimator : ProportionEstimator
        `ByLikelihood`, `ByConfusion` or `GivenProportions`.
    n_folds : int
        Parts of the source that are held out in turn.
    seed : int
    """

    estimator: ProportionEstimator = field(default_factory=ByLikelihood)
    n_folds: int = 3
    seed: int = 0
    assumes = frozenset({Assumption.PROPORTIONS})

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        if not isinstance(learner, ScikitLearner):
            raise InputError(
                f"{type(learner.estimator).__name__} is no scikit-learn classifier; proportions can be corrected "
                "behind one of these only"
            )
        held = held_out(learner, sequence.source, self.n_folds, self.seed)
        found = self.estimator.estimate(held, held.elsewhere(sequence.target.samples))
        calibration = held.calibration()
        head = learner.head()
        offsets = np.asarray(calibration.offsets) + found.log_ratio
        model = RescaledClassifier.of(head.estimator, calibration.scale, offsets)
        student = learner.with_head(replace(head, estimator=model))
        return Adaptation(student, choice=found)


offer("proportions", ProportionCorrection(), labels=True, answers=Assumption.PROPORTIONS)
offer(
    "own-scale-proportions", OwnScale(then=ProportionCorrection()), shown="own scale, proportions", labels=True,
    about="Each window scaled by itself, then class proportions corrected.",
)  # fmt: skip

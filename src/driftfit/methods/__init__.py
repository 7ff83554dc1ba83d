"""Every way to adapt, each a frozen `Method`; classifiers are in `driftfit.estimators`."""

from driftfit.methods.alignment import Alignment, CovarianceAlignment, OwnRank, OwnScale
from driftfit.methods.carried_labels import CarriedLabels, Relabelling, Taught
from driftfit.methods.class_proportions import (
    ByConfusion,
    ByLikelihood,
    GivenProportions,
    ProportionCorrection,
    ProportionEstimate,
    black_box_proportions,
    expectation_maximisation,
)
from driftfit.methods.gradual import GOAT, DirectSelfTraining, GradualSelfTraining, SelfTraining
from driftfit.methods.history import FromHistory, HalfLife, LastWindows, LikeToday
from driftfit.methods.method import Adaptation, Assumption, GradualMethod, Method, OnStep, StepRecord
from driftfit.methods.plans import (
    Coupled,
    Path,
    PathStep,
    Transport,
    Workspace,
    carry_labels,
    generate_path,
    given_path,
)
from driftfit.methods.pseudo_labels import PseudoLabels, logit_range, margin, pseudo_label, top_probability
from driftfit.methods.recent_scale import RecentScale
from driftfit.methods.registry import ModelInUse, SourceOnly, named, offer, offered
from driftfit.methods.source_weights import ImportanceWeights, LabelledTraining

__all__ = [
    "GOAT",
    "Adaptation",
    "Assumption",
    "CarriedLabels",
    "FromHistory",
    "GradualSelfTraining",
    "ImportanceWeights",
    "Method",
    "OwnScale",
    "ProportionCorrection",
    "RecentScale",
    "Relabelling",
    "SelfTraining",
    "Transport",
    "named",
    "offer",
    "offered",
    "pseudo_label",
]

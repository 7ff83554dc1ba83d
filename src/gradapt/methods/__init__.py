"""Every way to adapt, each a frozen value with `adapt(learner, sequence)`; `gradapt.estimators` has the classifiers."""

from gradapt.methods.adaptation import Adaptation, GradualMethod, Method, OnStep, StepRecord
from gradapt.methods.alignment import Alignment, CovarianceAlignment, OwnRank, OwnScale
from gradapt.methods.carried_labels import CarriedLabels, Relabelling
from gradapt.methods.class_proportions import (
    ByConfusion,
    ByLikelihood,
    GivenProportions,
    ProportionEstimate,
    black_box_proportions,
    expectation_maximisation,
)
from gradapt.methods.goat import GOAT
from gradapt.methods.gradual import DirectSelfTraining, GradualSelfTraining
from gradapt.methods.labelled_training import LabelledTraining
from gradapt.methods.mapped_source import MappedSource
from gradapt.methods.proportion_correction import ProportionCorrection
from gradapt.methods.pseudo_labels import PseudoLabels, logit_range, margin, pseudo_label, top_probability
from gradapt.methods.recent_scale import RecentScale
from gradapt.methods.self_training import SelfTraining
from gradapt.methods.source_only import ModelInUse, SourceOnly
from gradapt.methods.source_weights import ImportanceWeights
from gradapt.methods.taught import Taught

__all__ = [
    "GOAT",
    "Adaptation",
    "Alignment",
    "ByConfusion",
    "ByLikelihood",
    "CarriedLabels",
    "CovarianceAlignment",
    "DirectSelfTraining",
    "GivenProportions",
    "GradualMethod",
    "GradualSelfTraining",
    "ImportanceWeights",
    "LabelledTraining",
    "MappedSource",
    "Method",
    "ModelInUse",
    "OnStep",
    "OwnRank",
    "OwnScale",
    "ProportionCorrection",
    "ProportionEstimate",
    "PseudoLabels",
    "RecentScale",
    "Relabelling",
    "SelfTraining",
    "SourceOnly",
    "StepRecord",
    "Taught",
    "black_box_proportions",
    "expectation_maximisation",
    "logit_range",
    "margin",
    "pseudo_label",
    "top_probability",
]

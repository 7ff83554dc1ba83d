"""Every way to adapt, each a frozen value with `adapt(learner, sequence)`; `gradapt.estimators` has the classifiers."""

from gradapt.methods.adaptation import Adaptation, GradualMethod, Method, OnStep, StepRecord
from gradapt.methods.carried_labels import CarriedLabels, Relabelling
from gradapt.methods.goat import GOAT
from gradapt.methods.gradual import DirectSelfTraining, GradualSelfTraining
from gradapt.methods.pseudo_labels import PseudoLabels, logit_range, margin, pseudo_label, top_probability
from gradapt.methods.self_training import SelfTraining
from gradapt.methods.source_only import SourceOnly

__all__ = [
    "GOAT",
    "Adaptation",
    "CarriedLabels",
    "DirectSelfTraining",
    "GradualMethod",
    "GradualSelfTraining",
    "Method",
    "OnStep",
    "PseudoLabels",
    "Relabelling",
    "SelfTraining",
    "SourceOnly",
    "StepRecord",
    "logit_range",
    "margin",
    "pseudo_label",
    "top_probability",
]

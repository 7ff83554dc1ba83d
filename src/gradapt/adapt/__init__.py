"""Self-training, gradual self-training and GOAT, as values; `gradapt.estimators` has the scikit-learn classifiers."""

from gradapt.adapt.goat import GOAT
from gradapt.adapt.gradual import GradualMethod, GradualSelfTraining
from gradapt.adapt.path import Path, PathStep, generate_path, given_path, make_plans
from gradapt.adapt.pseudo_labels import PseudoLabels, logit_range, margin, pseudo_label, top_probability
from gradapt.adapt.records import Adaptation, StepRecord
from gradapt.adapt.self_training import SelfTraining

__all__ = [
    "GOAT",
    "Adaptation",
    "GradualMethod",
    "GradualSelfTraining",
    "Path",
    "PathStep",
    "PseudoLabels",
    "SelfTraining",
    "StepRecord",
    "generate_path",
    "given_path",
    "logit_range",
    "make_plans",
    "margin",
    "pseudo_label",
    "top_probability",
]

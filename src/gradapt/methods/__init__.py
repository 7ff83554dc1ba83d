"""Self-training, gradual self-training and GOAT, as values; `gradapt.estimators` has the scikit-learn classifiers."""

from gradapt.methods.goat import GOAT
from gradapt.methods.gradual import GradualMethod, GradualSelfTraining
from gradapt.methods.pseudo_labels import PseudoLabels, logit_range, margin, pseudo_label, top_probability
from gradapt.methods.records import Adaptation, StepRecord
from gradapt.methods.self_training import SelfTraining
from gradapt.paths.path import Path, PathStep, generate_path, given_path, make_plans

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

"""Baselines of gradual methods: deep unsupervised domain adaptation, each one loss over one paired-batch loop."""

from gradapt.methods.baselines.coral import DeepCoral
from gradapt.methods.baselines.covi import CoVi
from gradapt.methods.baselines.dann import DANN
from gradapt.methods.baselines.jdot import DeepJDOT
from gradapt.methods.baselines.layers import SCORES, last_hidden_layer
from gradapt.methods.baselines.loop import PairedTrainer
from gradapt.methods.baselines.method import BaselineMethod
from gradapt.methods.baselines.normalisation import TargetStatistics
from gradapt.methods.baselines.pairs import Baseline, Pair

__all__ = [
    "DANN",
    "SCORES",
    "Baseline",
    "BaselineMethod",
    "CoVi",
    "DeepCoral",
    "DeepJDOT",
    "Pair",
    "PairedTrainer",
    "TargetStatistics",
    "last_hidden_layer",
]

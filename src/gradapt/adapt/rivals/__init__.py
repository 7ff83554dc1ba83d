"""Rivals of gradual methods: deep unsupervised domain adaptation, each one loss over one paired-batch loop."""

from gradapt.adapt.rivals.adaptation import RivalAdaptation
from gradapt.adapt.rivals.coral import DeepCoral
from gradapt.adapt.rivals.covi import CoVi
from gradapt.adapt.rivals.dann import DANN
from gradapt.adapt.rivals.jdot import DeepJDOT
from gradapt.adapt.rivals.layers import SCORES, last_hidden_layer
from gradapt.adapt.rivals.loop import PairedTrainer
from gradapt.adapt.rivals.normalisation import TargetStatistics
from gradapt.adapt.rivals.pairs import Pair, Rival

__all__ = [
    "DANN",
    "SCORES",
    "CoVi",
    "DeepCoral",
    "DeepJDOT",
    "Pair",
    "PairedTrainer",
    "Rival",
    "RivalAdaptation",
    "TargetStatistics",
    "last_hidden_layer",
]

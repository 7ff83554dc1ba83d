"""Baselines of gradual methods: deep unsupervised domain adaptation, each one loss over one paired-batch loop."""

from driftfit.methods.baselines.coral import DeepCoral
from driftfit.methods.baselines.covi import CoVi
from driftfit.methods.baselines.dann import DANN
from driftfit.methods.baselines.jdot import DeepJDOT
from driftfit.methods.baselines.loop import SCORES, PairedTrainer
from driftfit.methods.baselines.method import BaselineMethod
from driftfit.methods.baselines.pairs import Baseline, Pair, TargetStatistics

__all__ = [
    "DANN",
    "BaselineMethod",
]

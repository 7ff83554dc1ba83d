"""Rivals of gradual methods: deep unsupervised domain adaptation, each one loss over one paired-batch loop."""

from gradapt.adapt.rivals.dann import DANN
from gradapt.adapt.rivals.loop import PairedTrainer
from gradapt.adapt.rivals.pairs import Pair, Rival

__all__ = ["DANN", "Pair", "PairedTrainer", "Rival"]

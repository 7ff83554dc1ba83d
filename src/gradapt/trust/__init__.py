"""How far a path can be trusted: a verdict before adapting, accuracy without labels, and a gate.

No target labels, ever: every function removes them before it looks.
"""

from gradapt.trust.accuracy import AccuracyEstimate, AccuracyEstimator, PreparedEstimator
from gradapt.trust.agreement import Agreement
from gradapt.trust.along import DomainAccuracy, estimate_along
from gradapt.trust.carried import CarriedLabels
from gradapt.trust.checking import check
from gradapt.trust.confidence import ThresholdedConfidence
from gradapt.trust.gate import Decision, Gate, GateDecision, keep_better
from gradapt.trust.proportions import ProportionShift, black_box_proportions, expectation_maximisation
from gradapt.trust.step_check import StepCheck, measure_step
from gradapt.trust.verdict import Advice, Verdict
from gradapt.trust.view import PathView
from gradapt.trust.witness import BestWitness

__all__ = [
    "AccuracyEstimate",
    "AccuracyEstimator",
    "Advice",
    "Agreement",
    "BestWitness",
    "CarriedLabels",
    "Decision",
    "DomainAccuracy",
    "Gate",
    "GateDecision",
    "PathView",
    "PreparedEstimator",
    "ProportionShift",
    "StepCheck",
    "ThresholdedConfidence",
    "Verdict",
    "black_box_proportions",
    "check",
    "estimate_along",
    "expectation_maximisation",
    "keep_better",
    "measure_step",
]

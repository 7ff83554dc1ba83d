"""How far a path can be trusted: a verdict before adapting, accuracy without labels, and one decision.

No target labels, ever: every function removes them before it looks.
"""

from gradapt.trust.accuracy import AccuracyEstimate, AccuracyEstimator, PreparedEstimator
from gradapt.trust.agreement import Agreement
from gradapt.trust.along import DomainAccuracy, estimate_along
from gradapt.trust.carried import CarriedAgreement
from gradapt.trust.carried_or_agreement import CarriedOrAgreement
from gradapt.trust.checking import check
from gradapt.trust.confidence import ThresholdedConfidence
from gradapt.trust.decision import Decision, Keep, unanswered
from gradapt.trust.distance_bounds import DistanceEstimate, class_distances, debiased_wasserstein
from gradapt.trust.error_bound import ErrorCertificate, error_certificate
from gradapt.trust.gain import PairedGain
from gradapt.trust.gate import Gate, assess
from gradapt.trust.lost_class import lost_class
from gradapt.trust.moves import LabelledPoints
from gradapt.trust.overlap import Overlap, overlap, rows_to_label
from gradapt.trust.proportions import ProportionShift
from gradapt.trust.reweighted import ReweightedSource
from gradapt.trust.same_law import SameLaw
from gradapt.trust.step_check import StepCheck, measure_step
from gradapt.trust.verdict import Advice, Verdict
from gradapt.trust.view import PathView

__all__ = [
    "AccuracyEstimate",
    "AccuracyEstimator",
    "Advice",
    "Agreement",
    "CarriedAgreement",
    "CarriedOrAgreement",
    "Decision",
    "DistanceEstimate",
    "DomainAccuracy",
    "ErrorCertificate",
    "Gate",
    "Keep",
    "LabelledPoints",
    "Overlap",
    "PairedGain",
    "PathView",
    "PreparedEstimator",
    "ProportionShift",
    "ReweightedSource",
    "SameLaw",
    "StepCheck",
    "ThresholdedConfidence",
    "Verdict",
    "assess",
    "check",
    "class_distances",
    "debiased_wasserstein",
    "error_certificate",
    "estimate_along",
    "lost_class",
    "measure_step",
    "overlap",
    "rows_to_label",
    "unanswered",
]

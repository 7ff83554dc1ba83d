"""How far a path can be trusted: a verdict before adapting, accuracy without labels, and one decision.

No target labels, ever: every function removes them before it looks.
"""

from driftfit.trust.accuracy import AccuracyEstimate, AccuracyEstimator, PreparedEstimator
from driftfit.trust.agreement import Agreement
from driftfit.trust.along import DomainAccuracy, estimate_along
from driftfit.trust.carried import CarriedAgreement
from driftfit.trust.carried_or_agreement import CarriedOrAgreement
from driftfit.trust.checking import check
from driftfit.trust.confidence import ThresholdedConfidence
from driftfit.trust.decision import Decision, Keep, unanswered
from driftfit.trust.distance_bounds import DistanceEstimate, class_distances, debiased_wasserstein
from driftfit.trust.error_bound import ErrorCertificate, SourceCrossing, error_certificate
from driftfit.trust.gain import PairedGain
from driftfit.trust.gate import Gate, assess
from driftfit.trust.lost_class import lost_class
from driftfit.trust.moves import LabelledPoints
from driftfit.trust.overlap import Overlap, overlap, rows_to_label
from driftfit.trust.proportions import ProportionShift
from driftfit.trust.reweighted import ReweightedSource
from driftfit.trust.same_law import SameLaw
from driftfit.trust.step_check import StepCheck, measure_step
from driftfit.trust.verdict import Advice, Verdict
from driftfit.trust.view import PathView

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
    "SourceCrossing",
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

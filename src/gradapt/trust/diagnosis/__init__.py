"""What moved between the windows of a table, without labels: which features, how, and what would explain it."""

from gradapt.trust.diagnosis.alignment_fit import aligned_overlap, alignment_objection, raw_overlap
from gradapt.trust.diagnosis.drift_kind import diagnose_drift
from gradapt.trust.diagnosis.findings import Diagnosis, Drift
from gradapt.trust.diagnosis.proportion_fit import ProportionFit, fit_proportions
from gradapt.trust.diagnosis.recent_fit import RecentFit, fit_recent
from gradapt.trust.diagnosis.two_sample import FeatureShift, feature_shifts

__all__ = [
    "Diagnosis",
    "Drift",
    "FeatureShift",
    "ProportionFit",
    "RecentFit",
    "aligned_overlap",
    "alignment_objection",
    "diagnose_drift",
    "feature_shifts",
    "fit_proportions",
    "fit_recent",
    "raw_overlap",
]

"""What moved between the windows of a table, without labels: which features, how, and what would explain it."""

from driftfit.selection.diagnosis.drift_kind import diagnose_drift
from driftfit.selection.diagnosis.findings import Diagnosis, Drift, FeatureShift, feature_shifts
from driftfit.selection.diagnosis.own_scale import aligned_windows, raw_overlap
from driftfit.selection.diagnosis.proportion_fit import ProportionFit, fit_proportions

__all__ = [
    "Diagnosis",
    "Drift",
    "FeatureShift",
    "ProportionFit",
    "aligned_windows",
    "diagnose_drift",
    "feature_shifts",
    "fit_proportions",
    "raw_overlap",
]

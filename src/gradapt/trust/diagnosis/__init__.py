"""What moved between the windows of a table, without labels: which features, how, and what would explain it."""

from gradapt.trust.diagnosis.alignment_fit import aligned_overlap, alignment_objection, raw_overlap
from gradapt.trust.diagnosis.proportion_fit import ProportionFit, fit_proportions

__all__ = ["ProportionFit", "aligned_overlap", "alignment_objection", "fit_proportions", "raw_overlap"]

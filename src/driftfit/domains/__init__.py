"""Data of one distribution, and sequences of them: `Domain`, `LabelledDomain` and `DomainSequence`."""

from driftfit.domains.domain import Domain, LabelledDomain
from driftfit.domains.samples import Interpolated, is_frame, is_tensor, some_rows, stack_rows, take_rows, with_rows
from driftfit.domains.sequence import DomainSequence
from driftfit.domains.windows import ByEdges, ByQuantile, ByValue, from_table

__all__ = [
    "ByEdges",
    "ByQuantile",
    "ByValue",
    "Domain",
    "DomainSequence",
]

"""What may be known without labels of today, and which model rests on it: assumptions, their tests, one choice."""

from driftfit.selection.by_evidence import IN_USE, ByEvidence, OwnAnswers
from driftfit.selection.candidates import table_methods
from driftfit.selection.ladder import Alternative, Ladder, LadderChoice, Rung, Tested
from driftfit.selection.refutation import climb
from driftfit.selection.unmoved_classes import ClassesMove

__all__ = [
    "IN_USE",
    "Alternative",
    "ByEvidence",
    "ClassesMove",
    "Ladder",
    "LadderChoice",
    "OwnAnswers",
    "Rung",
    "Tested",
    "climb",
    "table_methods",
]

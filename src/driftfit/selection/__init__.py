"""What may be known without labels of today, and which model rests on it: assumptions, their tests, one choice."""

from driftfit.selection.accuracy import AccuracyEstimate, Overlap, overlap, rows_to_label
from driftfit.selection.answers import PredictionSets
from driftfit.selection.backtest import Backtest, Forecast, backtest
from driftfit.selection.by_evidence import IN_USE, ByEvidence, OwnAnswers
from driftfit.selection.by_history import ByHistory
from driftfit.selection.candidates import (
    ALL_LABELS,
    as_way,
    history_ways,
    standard_candidates,
    table_methods,
    ways_from_words,
)
from driftfit.selection.chosen import GUARDS, Chosen, Committee, choose
from driftfit.selection.decision import Decision, Keep, unanswered
from driftfit.selection.evidence import Choice, Evidence, Findings, Gain, Guard, Judgement, PlanAgreement
from driftfit.selection.gate import Gate, assess
from driftfit.selection.guards import ClassesMove, ClassShares, Names, StructureHolds, lost_class
from driftfit.selection.ladder import Alternative, Ladder, LadderChoice, Rung, Tested
from driftfit.selection.metric import Metric, default_metric
from driftfit.selection.moves import LabelledPoints
from driftfit.selection.neighbours import NeighbourInformation
from driftfit.selection.number_of_domains import CANDIDATES, ChosenGOAT
from driftfit.selection.refutation import climb
from driftfit.selection.runs import Candidate, Runs
from driftfit.selection.same_law import ProportionShift, SameLaw
from driftfit.selection.scoring import Scores, score_candidates
from driftfit.selection.step_check import StepCheck, measure_step
from driftfit.selection.verdict import Advice, Verdict, check
from driftfit.selection.view import PathView

__all__ = [
    "Candidate",
    "Chosen",
    "ChosenGOAT",
    "Decision",
    "Gate",
    "Metric",
    "PathView",
    "assess",
    "backtest",
    "check",
    "choose",
    "rows_to_label",
    "score_candidates",
    "ways_from_words",
]

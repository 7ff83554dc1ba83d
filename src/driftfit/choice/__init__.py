"""A choice without labels: which of several candidates, and how many domains to generate."""

from driftfit.choice.chosen import GUARDS, Chosen, choose
from driftfit.choice.committee import Committee
from driftfit.choice.evidence import CarriedAgreement, Evidence, Findings, Guard, Judgement
from driftfit.choice.guards import ClassShares, Names, StructureHolds
from driftfit.choice.neighbours import NeighbourInformation
from driftfit.choice.number_of_domains import CANDIDATES, ChosenGOAT
from driftfit.choice.outcome import Choice, Gain
from driftfit.choice.runs import Candidate, Runs
from driftfit.choice.scoring import Scores, score_candidates
from driftfit.choice.standard import standard_candidates

__all__ = [
    "CANDIDATES",
    "GUARDS",
    "Candidate",
    "CarriedAgreement",
    "Choice",
    "Chosen",
    "ChosenGOAT",
    "ClassShares",
    "Committee",
    "Evidence",
    "Findings",
    "Gain",
    "Guard",
    "Judgement",
    "Names",
    "NeighbourInformation",
    "Runs",
    "Scores",
    "StructureHolds",
    "choose",
    "score_candidates",
    "standard_candidates",
]

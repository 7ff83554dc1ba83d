"""A choice without labels: which of several candidates, and how many domains to generate."""

from gradapt.choice.chosen import GUARDS, Chosen, choose
from gradapt.choice.committee import Committee
from gradapt.choice.evidence import CarriedAgreement, Evidence, Findings, Guard, Judgement
from gradapt.choice.guards import ClassShares, Names, StructureHolds
from gradapt.choice.neighbours import NeighbourInformation
from gradapt.choice.number_of_domains import CANDIDATES, ChosenGOAT
from gradapt.choice.outcome import Choice, Gain
from gradapt.choice.runs import Candidate, Runs
from gradapt.choice.scoring import Scores, score_candidates
from gradapt.choice.standard import standard_candidates

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

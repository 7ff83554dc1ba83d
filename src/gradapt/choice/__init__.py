"""A choice without labels: how many domains to generate."""

from gradapt.choice.number_of_domains import CANDIDATES, Choice, ChosenGOAT
from gradapt.choice.scoring import Scores, score_candidates

__all__ = ["CANDIDATES", "Choice", "ChosenGOAT", "Scores", "score_candidates"]

"""How many domains to generate, chosen without target labels."""

from gradapt.choice.choose import CANDIDATES, Choice, carried_labels, choose_n_generated
from gradapt.choice.scoring import Scores, score_candidates

__all__ = ["CANDIDATES", "Choice", "Scores", "carried_labels", "choose_n_generated", "score_candidates"]

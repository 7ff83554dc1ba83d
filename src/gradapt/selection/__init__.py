"""How many domains to generate, chosen without target labels."""

from gradapt.selection.scoring import Scores, score_candidates

__all__ = ["Scores", "score_candidates"]

"""Candidates that a score cannot tell from the best one: their models answer together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.choice.evidence import Evidence
from gradapt.choice.runs import Runs
from gradapt.errors import InputError
from gradapt.learners.averaged import AveragedLearner
from gradapt.seeds import derive_seed

__all__ = ["Committee"]

# Labellings with random errors that the cost of an error is averaged over.
_DRAWS = 4


@dataclass(frozen=True)
class Committee:
    """Candidates nearer to the best one than it is to itself with some wrong labels: their models answer together.

    What a score says of two good candidates is partly chance, and so is what each training came out with. The mean of
    several is nearer to the best of them than any that the score could pick.

    Parameters
    ----------
    tolerance : float
        Share of wrong labels whose cost in score is no difference.

    Examples
    --------
    >>> from gradapt.choice import choose
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.methods import GOAT
    >>> both = {"two": GOAT(2), "three": GOAT(3)}
    >>> sorted(choose(both, moving_gaussians((0, 1.5)), committee=Committee(0.05)).members)
    ['three', 'two']
    """

    tolerance: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance must be a share of the labels between 0 and 1, got {self.tolerance!r}")

    def members(
        self, runs: Runs, score: Evidence, scores: Mapping[Any, float], left: list[Any], best: Hashable
    ) -> dict[Any, float]:
        """Weights of those who take part, the highest first; one at the end of the tolerance counts for nothing.

        Parameters
        ----------
        runs : Runs
        score : Evidence
        scores : mapping of names to float
            By that evidence.
        left : list of names
            Candidates that may take part.
        best : str
            The highest of them.
        """
        rng = np.random.default_rng(derive_seed("committee", len(runs.target)))
        labels, k = runs.labels(best), len(runs.learner.classes)
        wrong: dict[Hashable, Any] = {draw: _with_errors(labels, k, self.tolerance, rng) for draw in range(_DRAWS)}
        spoilt = replace(runs, adaptations=dict.fromkeys(wrong, runs.adaptations[best]), probabilities=wrong)
        cost = scores[best] - float(np.mean(list(score.judge(spoilt).scores.values())))
        room = {name: scores[name] - scores[best] + cost for name in left}
        found = {name: room[name] for name in sorted(room, key=lambda name: -room[name]) if room[name] > 0}
        total = sum(found.values())
        return {name: own / total for name, own in found.items()} if len(found) > 1 else {}

    def model(self, runs: Runs, members: Mapping[Any, float]) -> AveragedLearner:
        """The mean of what the members' models say."""
        return AveragedLearner(tuple(runs.adaptations[name].learner for name in members), tuple(members.values()))

    def in_words(self, members: Mapping[Any, float]) -> str:
        """Part of a sentence.

        >>> Committee(0.03).in_words({"GOAT": 0.75, "CoVi": 0.25})
        'GOAT (75 %) and CoVi (25 %) answer together: they differ by less than 3 % wrong labels'
        """
        *most, last = [f"{name} ({100 * weight:.0f} %)" for name, weight in members.items()]
        return (
            f"{', '.join(most)} and {last} answer together: they differ by less than {100 * self.tolerance:g} % "
            "wrong labels"
        )


def _with_errors(labels: NDArray[np.int64], k: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Class probabilities of a labelling some of whose labels are replaced by others."""
    rows = rng.permutation(len(labels))[: round(share * len(labels))]
    changed = labels.copy()
    changed[rows] = (changed[rows] + rng.integers(1, k, len(rows))) % k
    return np.asarray(np.eye(k)[changed])

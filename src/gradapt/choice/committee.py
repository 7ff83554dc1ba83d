"""Candidates that a score cannot tell from the best one: a new model learns from all of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.choice.evidence import Evidence
from gradapt.choice.outcome import Choice
from gradapt.choice.runs import Runs
from gradapt.learners import Learner
from gradapt.seeds import derive_seed

__all__ = ["committee", "in_words", "taught_by"]

# Labellings with random errors that the cost of an error is averaged over.
_DRAWS = 4


def committee(
    runs: Runs, score: Evidence, scores: Mapping[Any, float], left: list[Any], best: Hashable, tolerance: float
) -> dict[Any, float]:
    """Weights of the candidates that are nearer to the best one than it is to itself with some wrong labels.

    A candidate weighs as much as is left of that distance, so that one at its end counts for nothing.

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
    tolerance : float
        Share of the rows that get another label, at random.
    """
    rng = np.random.default_rng(derive_seed("committee", len(runs.target)))
    k = len(runs.learner.classes)
    wrong: dict[Hashable, Any] = {draw: _with_errors(runs.labels(best), k, tolerance, rng) for draw in range(_DRAWS)}
    spoilt = replace(runs, adaptations=dict.fromkeys(wrong, runs.adaptations[best]), probabilities=wrong)
    cost = scores[best] - float(np.mean(list(score.judge(spoilt).scores.values())))
    room = {name: scores[name] - scores[best] + cost for name in left}
    found = {name: room[name] for name in sorted(room, key=lambda name: -room[name]) if room[name] > 0}
    total = sum(found.values())
    return {name: own / total for name, own in found.items()} if len(found) > 1 else {best: 1.0}


def _with_errors(labels: NDArray[np.int64], k: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Class probabilities of a labelling some of whose labels are replaced by others."""
    rows = rng.permutation(len(labels))[: round(share * len(labels))]
    changed = labels.copy()
    changed[rows] = (changed[rows] + rng.integers(1, k, len(rows))) % k
    return np.eye(k)[changed]


def taught_by(runs: Runs, choice: Choice) -> Learner:
    """A new model that learns what the committee says of the target, one soft label for each row."""
    shares = sum(weight * runs.probabilities[name] for name, weight in choice.members.items())
    return runs.learner.fit(runs.target.samples, np.asarray(shares), runs.target.uneven_weights)


def in_words(members: Mapping[Any, float], tolerance: float) -> str:
    """The committee as part of a sentence.

    >>> in_words({"GOAT": 0.75, "CoVi": 0.25}, 0.03)
    '; a new model learns what GOAT (75 %) and CoVi (25 %) say of the target: they differ by less than 3 % wrong labels'
    """
    *most, last = [f"{name} ({100 * weight:.0f} %)" for name, weight in members.items()]
    return (
        f"; a new model learns what {', '.join(most)} and {last} say of the target: they differ by less than "
        f"{100 * tolerance:g} % wrong labels"
    )

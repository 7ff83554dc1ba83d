"""Candidates that a score cannot tell from the best one: they teach one model together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.errors import InputError
from driftfit.methods.carried_labels import trained_on
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.selection.evidence import Evidence
from driftfit.selection.outcome import Choice
from driftfit.selection.runs import Runs

# Labellings with random errors that the cost of an error is averaged over.
_DRAWS = 4


@dataclass(frozen=True)
class Committee:
    """Candidates nearer to the best one than it is to itself with some wrong labels: they teach one model together.

    What a score says of two good candidates is partly chance, and so is what each training came out with. The mean of
    what several say of the target is nearer to the truth than any of them that the score could pick. A new model learns
    it, together with the labelled source; it takes their place if it would be one of them itself.

    ``tolerance``: share of wrong labels whose cost in score is no difference. ``mixup``: train on mixtures, as
    `CarriedLabels` does. The learner must be able to.
    """

    tolerance: float = 0.05
    mixup: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance must be a share of the labels between 0 and 1, got {self.tolerance!r}")

    def taught(self, runs: Runs, score: Evidence, choice: Choice) -> tuple[dict[Any, float], Learner | None]:
        """Weights of those who take part, the highest first, and the model; nobody and nothing where one stands alone.

        ``score``: what the choice was made by. ``choice``: candidates that are struck out do not take part.
        """
        best = choice.best
        least = self._spoilt_score(runs, score, best)
        room = {name: choice.scores[name] - least for name in runs.names if name not in choice.struck}
        found = {name: room[name] for name in sorted(room, key=lambda name: -room[name]) if room[name] > 0}
        if len(found) < 2:
            return {}, None
        # One at the end of the tolerance counts for nothing.
        members = {name: own / sum(found.values()) for name, own in found.items()}
        said = np.sum([weight * runs.probabilities[name] for name, weight in members.items()], axis=0)
        student = trained_on(
            runs.learner, runs.target, said.argmax(axis=1), source=runs.sequence.source, mixup=self.mixup
        )
        answers: dict[Hashable, Any] = {best: softmax(student.logits(runs.target.samples), axis=1)}
        reached = score.judge(_as_said(runs, best, answers)).scores[best]
        return (members, student) if reached > least else ({}, None)

    def _spoilt_score(self, runs: Runs, score: Evidence, best: Hashable) -> float:
        """What is left of the best candidate's score when some of its labels are wrong."""
        rng = np.random.default_rng(derive_seed("committee", len(runs.target)))
        labels, k = runs.labels(best), len(runs.learner.classes)
        wrong: dict[Hashable, Any] = {draw: _with_errors(labels, k, self.tolerance, rng) for draw in range(_DRAWS)}
        return float(np.mean(list(score.judge(_as_said(runs, best, wrong)).scores.values())))

    def in_words(self, members: Mapping[Any, float]) -> str:
        """Part of a sentence.

        >>> Committee(0.03).in_words({"GOAT": 0.75, "CoVi": 0.25})
        'GOAT (75 %) and CoVi (25 %) teach one model together: they differ by less than 3 % wrong labels'
        """
        *most, last = [f"{name} ({100 * weight:.0f} %)" for name, weight in members.items()]
        return (
            f"{', '.join(most)} and {last} teach one model together: they differ by less than "
            f"{100 * self.tolerance:g} % wrong labels"
        )


def _as_said(runs: Runs, best: Hashable, probabilities: dict[Hashable, Any]) -> Runs:
    """Other answers about the same rows, to be judged as those of candidates are."""
    return replace(runs, adaptations=dict.fromkeys(probabilities, runs.adaptations[best]), probabilities=probabilities)


def _with_errors(labels: NDArray[np.int64], k: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Class probabilities of a labelling some of whose labels are replaced by others."""
    rows = rng.permutation(len(labels))[: round(share * len(labels))]
    changed = labels.copy()
    changed[rows] = (changed[rows] + rng.integers(1, k, len(rows))) % k
    return np.asarray(np.eye(k)[changed])

"""What is measured of a cell's models, with labels that no method sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.domains import LabelledDomain
from driftfit.methods import StepRecord
from driftfit.models import Learner
from driftfit.transport import Plan

# From a learner and a labelled domain to the scores of its samples.
ScoresOf = Callable[[Learner, LabelledDomain], NDArray[np.float64]]


def accuracy(guesses: NDArray[Any], labels: NDArray[Any]) -> float:
    """In percent.

    >>> accuracy(np.array([0, 1]), np.array([0, 0]))
    50.0
    """
    return float((guesses == labels).mean()) * 100


@dataclass(eq=False)
class Measured:
    """The models of one cell, measured after every step.

    ``target``: the very samples that were adapted to. ``heldout``: fresh samples of the target. ``scores_of``: how a
    model's scores are found, such as from features that are at hand. ``steps``: measurements; the first is the model
    before any adaptation.
    """

    target: LabelledDomain
    heldout: LabelledDomain | None
    scores_of: ScoresOf
    steps: list[dict[str, Any]] = field(default_factory=list)

    def add(self, learner: Learner, record: StepRecord | None = None) -> None:
        """Measure a model; ``record`` is of the step that made it."""
        found: dict[str, Any] = self.of(learner)
        if record is not None:
            found |= {"n_samples": record.n_samples, "kept": record.kept_fraction}
        self.steps.append(found)

    def of(self, learner: Learner) -> dict[str, float | None]:
        """Accuracies in percent, and a score that needs no labels.

        The score is the mutual information between sample and predicted class on the
        target: predictions should be sure one by one and varied as a whole.
        """
        scores = self.scores_of(learner, self.target)
        shares = softmax(scores, axis=1)
        information = _entropy(shares.mean(axis=0)) - _entropy(shares).mean()
        fresh = None
        if self.heldout is not None:
            guesses = learner.classes[self.scores_of(learner, self.heldout).argmax(axis=1)]
            fresh = accuracy(guesses, self.heldout.labels)
        return {
            "transductive": accuracy(learner.classes[scores.argmax(axis=1)], self.target.labels),
            "heldout": fresh,
            "information": float(information),
        }

    def result(self) -> dict[str, Any]:
        """Accuracies of the last, the label-free selected and the label-selected model, named so."""
        chosen = {
            "last": self.steps[-1],
            "selected": max(self.steps, key=lambda step: step["information"]),
            "label_selected": max(self.steps, key=lambda step: step["transductive"]),
        }
        result = {f"{side}_{name}": step[side] for name, step in chosen.items() for side in ("transductive", "heldout")}
        return {**result, "transductive_before": self.steps[0]["transductive"], "steps": self.steps}


def plan_measures(plans: Sequence[Plan], labels: Sequence[NDArray[Any]]) -> dict[str, float]:
    """Over the plans between neighbours: the largest gap and loss, the mean of everything else.

    ``labels`` are the true ones of each domain: the share of mass within a class is a diagnosis that no method sees.
    """
    found: dict[str, list[float]] = {}
    for plan, before, after in zip(plans, labels[:-1], labels[1:], strict=True):
        same = before[plan.rows] == after[plan.cols]
        found.setdefault("same_class_mass", []).append(float(plan.mass[same].sum()) * 100)
        found.setdefault("plan_entries", []).append(float(len(plan)))
        if plan.certificate is not None:
            found.setdefault("plan_gap", []).append(plan.certificate.gap)
        if plan.lost_mass:
            found.setdefault("lost_mass", []).append(float(plan.lost_mass))
    return {
        name: max(values) if name in ("plan_gap", "lost_mass") else sum(values) / len(values)
        for name, values in found.items()
    }


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-(shares * np.log(np.maximum(shares, 1e-12))).sum(axis=-1))

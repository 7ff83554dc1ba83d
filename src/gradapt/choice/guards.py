"""What strikes a candidate out whatever its score: lost classes, a drift that is no isometry, renamed classes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from gradapt.checks import check_weights
from gradapt.choice.evidence import Findings
from gradapt.choice.runs import Runs
from gradapt.methods.class_shares import class_shares, lost_shares

__all__ = ["ClassShares", "Names", "StructureHolds", "agreement_when_renamed"]

# A difference of two agreements counts beyond so many of its standard errors.
_CLEAR = 2.0


@dataclass(frozen=True)
class ClassShares:
    """Strikes out candidates that lost a class: one that the source has and the source model still sees.

    The rule is the one behind `gradapt.trust.lost_class`.
    """

    def inspect(self, runs: Runs) -> Findings:
        classes, source, weights = runs.learner.classes, runs.sequence.source, runs.target.weights
        known = class_shares(source.codes(classes), len(classes), source.weights)
        before = class_shares(runs.labels(runs.reference), len(classes), weights)
        struck = {}
        for name in runs.names:
            after = class_shares(runs.labels(name), len(classes), weights)
            lost = lost_shares(known, before, after)
            if name == runs.reference or not lost.any():
                continue
            worst = int(np.argmax(np.where(lost, known, -1.0)))
            struck[name] = (
                f"it lost the class {str(classes[worst])!r}: {100 * known[worst]:.0f} % of the source, "
                f"{100 * before[worst]:.0f} % of the target by {runs.reference}, {100 * after[worst]:.1f} % by it"
            )
        return Findings(struck)


@dataclass(frozen=True)
class StructureHolds:
    """Strikes out couplings by structure where the drift is no isometry (`Candidate.isometry`)."""

    def inspect(self, runs: Runs) -> Findings:
        found = {name: runs.isometry(name) for name in runs.names}
        return Findings({name: str(own) for name, own in found.items() if own is not None and not own.plausible})


@dataclass(frozen=True)
class Names:
    """Strikes out candidates that see the same classes as another one but call them by other names.

    Neighbours and shares of classes do not change when classes are renamed. Two candidates that agree on most rows
    once the classes of one are renamed, and on clearly fewer as they are, contradict each other. A coupling by
    structure that the source's own structure confirms (`StructureHolds`) is believed first: renaming classes would
    change the distances between them. Otherwise the one that agrees with the source model on clearly more rows is
    believed. Where neither is the case both stay, with a caution.

    Parameters
    ----------
    least_gain : float
        Share of the rows on which two candidates agree only when renamed, from which on they contradict each other.
    """

    least_gain: float = 0.1

    def inspect(self, runs: Runs) -> Findings:
        k = len(runs.learner.classes)
        weights = check_weights(runs.target.weights, len(runs.target))
        labels = {name: runs.labels(name) for name in runs.names}
        struck: dict[Any, str] = {}
        cautions: dict[Any, str] = {}
        for one, other in combinations(runs.names, 2):
            plain, renamed = agreement_when_renamed(labels[one], labels[other], k, weights)
            # Two labellings by chance reach 1 / K, and 1 / 2 with two classes when renamed.
            if renamed < 0.5 + 0.5 / k or renamed - plain <= self.least_gain:
                continue
            wrong = self._less_believed(runs, one, other, labels, weights)
            agreed = f"{100 * renamed:.0f} % of the rows once classes are renamed, {100 * plain:.0f} % as they are"
            if wrong is None:
                cautions.setdefault(one, f"{other} sees the same classes under other names ({agreed})")
                cautions.setdefault(other, f"{one} sees the same classes under other names ({agreed})")
            elif wrong != runs.reference:
                right = other if wrong == one else one
                struck.setdefault(wrong, f"its classes are those of {right} under other names ({agreed})")
        return Findings(struck, {name: text for name, text in cautions.items() if name not in struck})

    def _less_believed(
        self, runs: Runs, one: Hashable, other: Hashable, labels: dict[Any, Any], weights: NDArray[np.float64]
    ) -> Hashable | None:
        confirmed = [(own := runs.isometry(name)) is not None and own.plausible for name in (one, other)]
        if confirmed[0] != confirmed[1]:
            return other if confirmed[0] else one
        anchor = labels[runs.reference]
        gain = (labels[one] == anchor).astype(np.float64) - (labels[other] == anchor)
        mean = float(weights @ gain)
        error = float(np.sqrt(np.square(weights) @ np.square(gain - mean)))
        if abs(mean) <= _CLEAR * error:
            return None
        return other if mean > 0 else one


def agreement_when_renamed(
    labels: NDArray[np.int64], others: NDArray[np.int64], n_classes: int, weights: NDArray[np.float64] | None = None
) -> tuple[float, float]:
    """Share of rows on which two labellings agree, as they are and once classes of one are renamed for the best.

    >>> agreement_when_renamed(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    (0.25, 0.75)
    """
    mass = check_weights(weights, len(labels))
    table = np.bincount(labels * n_classes + others, mass, minlength=n_classes**2).reshape(n_classes, n_classes)
    chosen = linear_sum_assignment(-table)
    return float(np.trace(table)), float(table[chosen].sum())

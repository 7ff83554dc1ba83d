"""The rule: which candidate agrees best with labels of the target that are not its own? No target labels, no models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftfit.checks import check_weights
from driftfit.errors import InputError

# Shares of each class that count as confident. No candidate made the carried labels, so all may vote but the tenth that
# self-training would drop as well; the candidates made the consensus themselves, so only its surest part may (a fifth
# was best on the design data of docs/choice.md).
_SHARE_CARRIED = 0.9
_SHARE_CONSENSUS = 0.2
# Scores are means of probabilities: differences below this are rounding.
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Scores:
    """What the validation rows say about each candidate.

    ``values``: score of each candidate between 0 and 1: the mean probability that it gives to the pseudo-labels of the
    validation rows, every class counting the same; a class without a validation row counts as 0. ``best``: the
    candidate with the highest score; of equal ones the smallest. ``rows``: target rows used for validation, ascending.
    ``labels``: their pseudo-labels, as column numbers of the probabilities. ``carried``: whether labels carried along
    the plans were at hand. ``missing``: classes without a validation row. The scores cannot tell whether a candidate
    lost them.
    """

    values: dict[int, float]
    best: int
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    carried: bool
    missing: tuple[int, ...] = ()

    def sentence(self, classes: Sequence[object] | NDArray[Any] = ()) -> str:
        """The choice in words; ``classes`` are the names of the columns."""
        shown = ", ".join(f"{number}: {100 * value:.1f} %" for number, value in self.values.items())
        whose = "carried along the plans" if self.carried else "that all candidates give together"
        domains = "1 generated domain" if self.best == 1 else f"{self.best} generated domains"
        text = (
            f"with {domains} between two neighbours the model agrees best with the confident labels {whose} "
            f"({len(self.rows):,} target rows, no target labels; {shown})"
        )
        if self.missing:
            lost = ", ".join(str(classes[place]) if len(classes) else f"number {place}" for place in self.missing)
            text += f"; no row was confidently labelled as class {lost}: whether a model lost it cannot be seen"
        return text


def score_candidates(
    probabilities: Mapping[int, ArrayLike],
    carried: ArrayLike | None = None,
    *,
    share: float | None = None,
    weights: ArrayLike | None = None,
) -> Scores:
    """Score candidates, such as numbers of generated domains, by what they say about the target.

    The labels of the validation rows must not be those of one candidate, which would always
    be right. They are those that the plans carry from the source to the target, where given,
    together with the mean over all candidates; the mean alone otherwise, which is a weaker
    rule. The most confident share of each class is kept, so that a class which any row is labelled
    as is not missing; `Scores.missing` names the others.

    Parameters
    ----------
    probabilities : mapping of int to array of shape (n_target, K)
        Class probabilities of each candidate for the same target rows.
    carried : array of shape (n_target, K), optional
        Labels of the source, one-hot, carried along all plans to the target (`driftfit.methods.carry_labels`). Rows
        need not sum to 1; a row of zeros, which lost its mass to a cutoff, is left out.
    share : float, optional
        Share of each class that is used; by default 0.9 with carried labels and 0.2 without.
    weights : array of length n_target, optional
        Weights of the target rows.

    Examples
    --------
    >>> good = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    >>> one_class = np.array([[1.0, 0.0]] * 4)
    >>> carried = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> scores = score_candidates({0: one_class, 3: good}, carried)
    >>> scores.best, {number: round(value, 2) for number, value in scores.values.items()}
    (3, {0: 0.5, 3: 0.85})
    """
    table = _checked(probabilities)
    if share is None:
        share = _SHARE_CONSENSUS if carried is None else _SHARE_CARRIED
    elif not 0.0 < share <= 1.0:
        raise InputError(f"share must lie above 0 and at most at 1, got {share!r}")
    opinion = np.mean(list(table.values()), axis=0)
    eligible = np.ones(len(opinion), dtype=bool)
    if carried is not None:
        arrived, eligible = _normalised(carried, opinion.shape)
        # A label that is carried whole stands, however sure all candidates are of another.
        opinion = 0.5 * (opinion + arrived) + _TIE * arrived
    labels = opinion.argmax(axis=1)
    rows = _confident(opinion.max(axis=1), np.where(eligible, labels, -1), share)
    weighed = check_weights(weights, len(opinion))[rows]
    values = {number: _score(table[number][rows], labels[rows], weighed) for number in table}
    highest = max(values.values())
    best = min(number for number, value in values.items() if value >= highest - _TIE)
    missing = tuple(int(label) for label in np.setdiff1d(np.arange(opinion.shape[1]), labels[rows]))
    return Scores(values, best, rows, labels[rows], carried is not None, missing)


def _score(probabilities: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Mean probability of the labels, first over each class: of K classes one alone earns at most 1 / K.

    A class that no row is labelled as earns nothing, for any candidate: it does not change who is best, and nobody is
    said to be right about everything on the word of a single class.
    """
    given = probabilities[np.arange(len(labels)), labels]
    return float(given @ row_weights(labels, weights, probabilities.shape[1]))


def row_weights(labels: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """What each row counts for where every class counts the same; a class without weight counts nothing.

    >>> row_weights(np.array([0, 0, 1]), np.array([1.0, 3.0, 1.0]), 2).tolist()
    [0.125, 0.375, 0.5]
    """
    sizes = np.bincount(labels, weights=weights, minlength=n_classes)[labels]
    return np.asarray(np.divide(weights, sizes * n_classes, out=np.zeros(len(labels)), where=sizes > 0))


def _confident(confidence: NDArray[np.float64], labels: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """The surest share of the rows of each class; what ties with the last one is in, and label -1 is out."""
    kept = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels[labels >= 0]):
        rows = np.flatnonzero(labels == label)
        last = int(np.ceil(share * len(rows))) - 1
        kept[rows[confidence[rows] >= -np.sort(-confidence[rows])[last]]] = True
    return np.flatnonzero(kept)


def _checked(probabilities: Mapping[int, ArrayLike]) -> dict[int, NDArray[np.float64]]:
    """Arrays in ascending order of the candidates, so that no sum depends on how they were handed in."""
    if not probabilities:
        raise InputError("there is no candidate to score; give the probabilities of at least one")
    table = {number: np.asarray(probabilities[number], dtype=np.float64) for number in sorted(probabilities)}
    shape = next(iter(table.values())).shape
    for number, values in table.items():
        if values.ndim != 2 or values.shape != shape or 0 in shape:
            raise InputError(
                f"candidate {number} has probabilities of shape {values.shape}, the first one {shape}; "
                "all need one row for each target sample and one column for each class"
            )
        if not np.isfinite(values).all() or values.min() < 0 or np.abs(values.sum(axis=1) - 1).max() > 1e-3:
            raise InputError(f"candidate {number}: rows are not probabilities that sum to 1; apply softmax to logits")
    return table


def _normalised(carried: ArrayLike, shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    arrived = np.asarray(carried, dtype=np.float64)
    if arrived.shape != shape:
        raise InputError(f"carried labels have shape {arrived.shape}, the probabilities {shape}; they must be the same")
    if not np.isfinite(arrived).all() or arrived.min() < 0:
        raise InputError("carried labels must be finite and not negative; carry one-hot labels along the plans")
    mass = arrived.sum(axis=1, keepdims=True)
    if not mass.any():
        raise InputError("no row carries a label; leave carried out, or loosen the cutoffs")
    return np.divide(arrived, mass, out=np.zeros_like(arrived), where=mass > 0), mass[:, 0] > 0

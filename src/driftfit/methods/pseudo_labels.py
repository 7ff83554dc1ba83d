"""Class shares and pseudo-labels: what a model says about samples without labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.checks import check_fraction
from driftfit.models import Learner

Confidence = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def top_probability(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of the predicted class.

    >>> top_probability(np.array([[0.0, 0.0]])).item()
    0.5
    """
    return np.asarray(softmax(logits, axis=1).max(axis=1))


def logit_range(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest minus smallest logit: the confidence behind the published tables.

    >>> logit_range(np.array([[1.0, 3.0, 2.0]])).item()
    2.0
    """
    return np.asarray(np.ptp(logits, axis=1))


def margin(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest minus second largest logit.

    >>> margin(np.array([[1.0, 3.0, 2.0]])).item()
    1.0
    """
    top = np.partition(logits, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


@dataclass(frozen=True, eq=False)
class PseudoLabels:
    """Labels by a teacher for one domain.

    ``labels``: most likely class of each sample, as an index into the learner's classes. ``shares``: class
    probabilities, the soft labels. ``kept``: which samples are confident enough to train on.
    """

    labels: NDArray[np.int64]
    shares: NDArray[np.float64]
    confidence: NDArray[np.float64]
    kept: NDArray[np.bool_]


def pseudo_label(
    teacher: Learner, samples: Any, drop_fraction: float = 0.1, confidence: Confidence = top_probability
) -> PseudoLabels:
    """Label samples by a teacher and mark the least confident share of them as dropped.

    Samples that tie with the last one kept are kept, so a teacher that is equally
    sure of everything drops nothing.
    """
    share = check_fraction(drop_fraction, "drop_fraction")
    logits = teacher.logits(samples)
    sure = confidence(logits)
    kept = sure >= np.quantile(sure, share) if share > 0 else np.ones(len(sure), dtype=bool)
    return PseudoLabels(logits.argmax(axis=1), softmax(logits, axis=1), sure, kept)


Weights = NDArray[np.float64] | None

# A class counts where it has at least this share of the labelled rows.
_SMALLEST_SHARE = 0.02
# It is lost where a model gives it less than this part of its share in the source, and the adapted model
# less than this part of what the source model gives it.
_REMAINING = 0.25


def class_shares(codes: NDArray[np.int64], n_classes: int, weights: Weights = None) -> NDArray[np.float64]:
    """Share of each class.

    >>> class_shares(np.array([0, 0, 1]), 2, np.array([0.25, 0.25, 0.5])).tolist()
    [0.5, 0.5]
    """
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def total_variation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The share of the samples that would have to change class to turn one set of shares into the other.

    >>> total_variation(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.25
    """
    return float(0.5 * np.abs(a - b).sum())


def lost_shares(
    known: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which classes adaptation lost: shares in the source, and in the target by the source and the adapted model.

    A class that the source model had lost on the target already is not lost by adaptation.

    >>> lost_shares(np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.95, 0.05])).tolist()
    [False, True]
    """
    return np.asarray(
        (known >= _SMALLEST_SHARE) & (before >= _REMAINING * known) & (after < _REMAINING * np.minimum(known, before))
    )

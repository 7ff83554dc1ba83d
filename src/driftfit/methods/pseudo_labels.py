"""Pseudo-labels: what a teacher says about unlabelled samples, and how sure it is."""

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

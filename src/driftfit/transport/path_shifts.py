"""How far a sequence of domains moves: per step, per class, along the path and straight through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence, some_rows
from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.transport.distances import wasserstein

__all__ = ["PathShifts", "measure_path"]


@dataclass(frozen=True, eq=False)
class PathShifts:
    """Wasserstein shifts of a sequence of domains.

    Attributes
    ----------
    p : float
        Order of the distance.
    steps : float array
        Distance of each domain from the one before (the paper's Delta_t).
    direct : float
        Distance from the first to the last domain.
    classes : array
        Classes of the labels that were given; empty without labels.
    class_steps : float array of shape (steps, classes)
        The same for the samples of one class on both sides; NaN where one side has none.
    class_direct : float array
        Distance from the first to the last domain for each class.
    """

    p: float
    steps: NDArray[np.float64]
    direct: float
    classes: NDArray[Any]
    class_steps: NDArray[np.float64]
    class_direct: NDArray[np.float64]

    @property
    def average(self) -> float:
        """Mean shift of a step (the paper's Delta)."""
        return float(self.steps.mean())

    @property
    def length(self) -> float:
        """Sum of the shifts."""
        return float(self.steps.sum())

    @property
    def detour(self) -> float:
        """Path length over direct distance: 1 on a geodesic."""
        return _ratio(self.length, self.direct)

    @property
    def class_detours(self) -> NDArray[np.float64]:
        """Detour of each class on its own; NaN where a class is missing on the way."""
        lengths = self.class_steps.sum(axis=0)
        return np.array([_ratio(a, b) for a, b in zip(lengths, self.class_direct, strict=True)])

    @property
    def largest_class_step(self) -> NDArray[np.float64]:
        """The largest shift of any class in each step; with ``p = inf`` the Delta of Kumar et al."""
        filled = np.where(np.isnan(self.class_steps), -np.inf, self.class_steps)
        return np.asarray(filled.max(axis=1)) if len(self.classes) else self.steps


def measure_path(
    sequence: DomainSequence,
    p: float = 2.0,
    *,
    labels: Sequence[Any] | None = None,
    max_samples: int | None = None,
    **options: Any,
) -> PathShifts:
    """Shifts of a sequence, overall and per class.

    Parameters
    ----------
    sequence : DomainSequence
    p : float
        1, 2, any larger number or ``inf``.
    labels : sequence of arrays, optional
        Labels or pseudo-labels, one array per domain. Without them nothing is measured per
        class; the domains' own labels are not looked at.
    max_samples : int, optional
        Measure on at most this many samples of each domain, drawn alike from domains of one size.
    **options
        As for `wasserstein`.

    Examples
    --------
    >>> path = DomainSequence([Domain([[float(i)], [i + 9.0]], labels=[0, 1]) for i in (0, 3, 1)])
    >>> shifts = measure_path(path, labels=[[0, 1]] * 3)
    >>> shifts.steps.tolist(), shifts.length, shifts.direct, shifts.detour
    ([3.0, 2.0], 5.0, 1.0, 5.0)
    >>> shifts.class_steps.tolist()
    [[3.0, 3.0], [2.0, 2.0]]
    """
    domains = list(sequence)
    tags = [None] * len(domains) if labels is None else [np.asarray(tag) for tag in labels]
    if len(tags) != len(domains):
        raise InputError(f"labels must hold one array for each of the {len(domains)} domains, got {len(tags)}")
    for domain, tag in zip(domains, tags, strict=True):
        if tag is not None and tag.shape != (len(domain),):
            raise InputError(f"domain {domain.name!r} has {len(domain)} samples but labels of shape {tag.shape}")
    clouds = [_cloud(domain, tag, max_samples) for domain, tag in zip(domains, tags, strict=True)]
    classes = np.unique(np.concatenate([cloud.labels for cloud in clouds])) if labels is not None else np.array([])
    steps = [_distances(a, b, classes, p, options) for a, b in pairwise(clouds)]
    # Two domains are one step: no need to measure it twice.
    direct = steps[0] if len(clouds) == 2 else _distances(clouds[0], clouds[-1], classes, p, options)
    return PathShifts(
        float(p),
        np.array([overall for overall, _ in steps]),
        direct[0],
        classes,
        np.array([per_class for _, per_class in steps]).reshape(len(steps), len(classes)),
        direct[1],
    )


@dataclass(frozen=True, eq=False)
class _Cloud:
    samples: Any
    weights: NDArray[np.float64] | None
    labels: NDArray[Any]


def _cloud(domain: Domain, labels: NDArray[Any] | None, max_samples: int | None) -> _Cloud:
    tags = np.zeros(len(domain), dtype=np.int64) if labels is None else labels
    rows = some_rows(len(domain), max_samples, derive_seed("measure", len(domain)))
    some = domain.take(rows)
    return _Cloud(some.matrix(), some.weights, tags[rows])


def _distances(
    a: _Cloud, b: _Cloud, classes: NDArray[Any], p: float, options: dict[str, Any]
) -> tuple[float, NDArray[np.float64]]:
    overall = wasserstein(a.samples, b.samples, p, a.weights, b.weights, **options)
    per_class = np.full(len(classes), np.nan)
    for number, label in enumerate(classes):
        rows, cols = np.flatnonzero(a.labels == label), np.flatnonzero(b.labels == label)
        if len(rows) and len(cols):
            w0 = None if a.weights is None else a.weights[rows]
            w1 = None if b.weights is None else b.weights[cols]
            per_class[number] = wasserstein(a.samples[rows], b.samples[cols], p, w0, w1, **options)
    return overall, per_class


def _ratio(length: float, direct: float) -> float:
    if direct == 0.0:
        return 1.0 if length == 0.0 else float("inf")
    return float(length / direct)

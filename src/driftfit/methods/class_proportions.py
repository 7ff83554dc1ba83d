"""Class proportions of an unlabelled window: by likelihood, by the confusion of a model, or as somebody knows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.alignment import OwnScale
from driftfit.methods.held_out import HeldOut, RescaledClassifier, held_out
from driftfit.methods.method import Adaptation, Assumption, Method
from driftfit.methods.plans import Workspace
from driftfit.methods.registry import offer
from driftfit.models import Learner
from driftfit.models.scikit import ScikitLearner
from driftfit.seeds import derive_seed

# An estimate that other samples of the same size would move by more than this share of the rows tells nothing.
LARGEST_SPREAD = 0.1
# No class is taken to be rarer than this.
_SMALLEST = 1e-3


@dataclass(frozen=True, eq=False)
class ProportionEstimate:
    """Class proportions of a window, with a 95 % interval for each class.

    ``spread``: share of the rows that 95 % of the estimates on other samples of the same size would put elsewhere.
    ``draws``: of shape (n_resamples, K); estimates on samples drawn from both samples.
    """

    source: tuple[float, ...]
    estimate: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    spread: float
    method: str
    draws: NDArray[np.float64] = field(repr=False)

    @property
    def identifiable(self) -> bool:
        """Whether the model tells the classes apart well enough for their shares to be read off."""
        return self.spread <= LARGEST_SPREAD

    @property
    def distance(self) -> float:
        """Share of the rows that would have to change class to turn the source's proportions into these."""
        return float(0.5 * np.abs(np.subtract(self.source, self.estimate)).sum())

    @property
    def log_ratio(self) -> NDArray[np.float64]:
        """What the correction adds to the logarithm of each class's probability."""
        return log_ratio(np.asarray(self.estimate), np.asarray(self.source))


def log_ratio(new: NDArray[np.float64], old: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the ratio of proportions; fewer than one row in a thousand count as one."""
    return np.asarray(np.log(np.maximum(new, _SMALLEST)) - np.log(np.maximum(old, _SMALLEST)))


class ProportionEstimator(Protocol):
    """A way to estimate class proportions, as a value."""

    def estimate(self, held: HeldOut, logits: NDArray[np.float64]) -> ProportionEstimate:
        """From scores of held-out source rows and of the window's rows, both by one kind of model."""
        ...


@dataclass(frozen=True)
class ByLikelihood:
    """Proportions of largest likelihood under calibrated probabilities (Saerens et al. 2002, Alexandari et al. 2020).

    ``n_resamples``: of both samples, for the intervals.
    """

    n_resamples: int = 50
    seed: int = 0

    def estimate(self, held: HeldOut, logits: NDArray[np.float64]) -> ProportionEstimate:
        calibration = held.calibration()
        own, there = calibration.probabilities(held.logits), calibration.probabilities(logits)

        def find(rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.float64]:
            # The mean probability on the source itself: the start under which nothing has changed.
            return expectation_maximisation(there[cols], own[rows].mean(axis=0))

        return _resampled("likelihood", find, held, len(logits), self.n_resamples, self.seed)


@dataclass(frozen=True)
class ByConfusion:
    """Proportions that explain the predictions, given how often each class is taken for another (Lipton et al. 2018).

    ``n_resamples``: of both samples, for the intervals.
    """

    n_resamples: int = 50
    seed: int = 0

    def estimate(self, held: HeldOut, logits: NDArray[np.float64]) -> ProportionEstimate:
        k = held.logits.shape[1]
        own, there = held.logits.argmax(axis=1), logits.argmax(axis=1)

        def find(rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.float64]:
            confusion = confusion_shares(own[rows], held.codes[rows], k)
            return black_box_proportions(confusion, np.bincount(there[cols], minlength=k) / len(cols))

        return _resampled("confusion", find, held, len(logits), self.n_resamples, self.seed)


@dataclass(frozen=True)
class GivenProportions:
    """Proportions that somebody knows, in the order of the classes."""

    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        shares = np.asarray(self.shares, dtype=np.float64)
        if shares.ndim != 1 or not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1) > 0.01:
            raise InputError(f"proportions must be shares that sum to 1, got {self.shares!r}")
        object.__setattr__(self, "shares", tuple((shares / shares.sum()).tolist()))

    def estimate(self, held: HeldOut, logits: NDArray[np.float64]) -> ProportionEstimate:
        source = _shares(held)
        if len(self.shares) != len(source):
            raise InputError(f"there are {len(source)} classes, but {len(self.shares)} proportions were given")
        return ProportionEstimate(
            tuple(source.tolist()), self.shares, self.shares, self.shares, 0.0, "given", np.array([self.shares])
        )


def confusion_shares(
    predicted: NDArray[np.int64], codes: NDArray[np.int64], k: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Probability of each prediction (row) for each true class (column); an absent class is always recognised.

    >>> confusion_shares(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    counts = np.zeros((k, k))
    np.add.at(counts, (predicted, codes), 1.0 if weights is None else weights)
    absent = counts.sum(axis=0) == 0
    counts[absent, absent] = 1.0
    return np.asarray(counts / counts.sum(axis=0))


def black_box_proportions(confusion: NDArray[np.float64], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Proportions that explain the predictions, if only the proportions changed (Lipton et al. 2018).

    ``confusion``: of shape (K, K); probability of each prediction (row) for each true class (column): columns sum to 1.
    ``predicted``: of length K; shares of the predictions on the new domain.

    >>> black_box_proportions(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([0.34, 0.66])).round(6).tolist()
    [0.2, 0.8]
    """
    weights, _ = nnls(confusion, predicted)
    return np.asarray(weights / weights.sum()) if weights.sum() > 0 else np.asarray(predicted)


def expectation_maximisation(
    probabilities: NDArray[np.float64],
    source: NDArray[np.float64],
    n_rounds: int = 200,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Proportions of largest likelihood under a model's class probabilities (Saerens et al. 2002).

    >>> shares = np.repeat([[1.0, 0.0], [0.0, 1.0]], [3, 1], axis=0)
    >>> expectation_maximisation(shares, np.array([0.5, 0.5])).tolist()
    [0.75, 0.25]
    """
    current = source.copy()
    for _ in range(n_rounds):
        joint = probabilities * (current / np.maximum(source, 1e-12))
        updated = np.average(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300), axis=0, weights=weights)
        if np.abs(updated - current).max() < 1e-9:
            return np.asarray(updated)
        current = updated
    return current


def _resampled(
    method: str,
    find: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]],
    held: HeldOut,
    n_window: int,
    n_resamples: int,
    seed: int,
) -> ProportionEstimate:
    """An estimate with the intervals that samples drawn from both samples give."""
    n = len(held.codes)
    source, found = _shares(held), find(np.arange(n), np.arange(n_window))
    rng = np.random.default_rng(derive_seed(seed, "proportions", method))
    drawn = [find(rng.integers(n, size=n), rng.integers(n_window, size=n_window)) for _ in range(n_resamples)]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    moved = 0.5 * np.abs(np.asarray(drawn) - found).sum(axis=1)
    low, high = np.minimum(low, found), np.maximum(high, found)
    shares = [tuple(part.tolist()) for part in (source, found, low, high)]
    return ProportionEstimate(
        shares[0], shares[1], shares[2], shares[3], float(np.quantile(moved, 0.95)), method, np.asarray(drawn)
    )


def _shares(held: HeldOut) -> NDArray[np.float64]:
    return np.asarray(np.bincount(held.codes, minlength=held.logits.shape[1]) / len(held.codes))


@dataclass(frozen=True)
class ProportionCorrection(Method):
    """The source model with its probabilities multiplied by the ratio of new to old class proportions.

    Right where the classes look as they did and only their shares moved. The probabilities are calibrated first, on
    source rows that were held out. The estimate itself is in ``Adaptation.choice``.

    Parameters
    ----------
    estimator : ProportionEstimator
        `ByLikelihood`, `ByConfusion` or `GivenProportions`.
    n_folds : int
        Parts of the source that are held out in turn.
    seed : int
    """

    estimator: ProportionEstimator = field(default_factory=ByLikelihood)
    n_folds: int = 3
    seed: int = 0
    assumes = frozenset({Assumption.PROPORTIONS})

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        if not isinstance(learner, ScikitLearner):
            raise InputError(
                f"{type(learner.estimator).__name__} is no scikit-learn classifier; proportions can be corrected "
                "behind one of these only"
            )
        held = held_out(learner, sequence.source, self.n_folds, self.seed)
        found = self.estimator.estimate(held, held.elsewhere(sequence.target.samples))
        calibration = held.calibration()
        head = learner.head()
        offsets = np.asarray(calibration.offsets) + found.log_ratio
        model = RescaledClassifier.of(head.estimator, calibration.scale, offsets)
        student = learner.with_head(replace(head, estimator=model))
        return Adaptation(student, choice=found)


offer("proportions", ProportionCorrection(), labels=True, answers=Assumption.PROPORTIONS)
offer(
    "own-scale-proportions", OwnScale(then=ProportionCorrection()), shown="own scale, proportions", labels=True,
    about="Each window scaled by itself, then class proportions corrected.",
)  # fmt: skip

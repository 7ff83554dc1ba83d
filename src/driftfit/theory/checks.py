"""Checks of what goes into a bound: numbers, and the paper's assumptions about data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from driftfit.errors import InputError
from driftfit.seeds import derive_seed

_N_TREES = 60
_SMALLEST_LEAF = 5


def check_non_negative(value: Any, name: str) -> float:
    """Return ``value`` as a finite float >= 0."""
    return _number(value, name, "be a finite number >= 0", lambda number: isfinite(number) and number >= 0)


def check_positive(value: Any, name: str) -> float:
    """Return ``value`` as a finite float > 0."""
    return _number(value, name, "be a finite number > 0", lambda number: isfinite(number) and number > 0)


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Return ``value`` as an integer of at least ``least``."""
    wanted = f"be a whole number of at least {least}"
    return int(_number(value, name, wanted, lambda number: isfinite(number) and number == int(number) >= least))


def check_probability(value: Any, name: str) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    remedy = "; 0.05 asks for 95 % confidence"
    return _number(value, name, "lie strictly between 0 and 1", lambda number: 0.0 < number < 1.0, remedy)


def check_shifts(values: Any, name: str = "shifts") -> NDArray[np.float64]:
    """Return the shifts of the steps as a float array with at least one entry, none negative."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, got {values!r} ({error})") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must hold one number per step, got shape {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InputError(f"{name} must be finite and not negative, got {array.tolist()}")
    return array


def check_simplex(weights: Any, size: int, name: str = "weights") -> NDArray[np.float64]:
    """Return a probability vector of length ``size``; ``None`` means uniform."""
    if weights is None:
        return np.full(size, 1.0 / size)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (size,):
        raise InputError(f"{name} must have {size} entries, one per domain, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any() or abs(array.sum() - 1.0) > 1e-9:
        raise InputError(f"{name} must be non-negative and sum to 1, got {array.tolist()}; divide them by their sum")
    return array


def _number(value: Any, name: str, wanted: str, fits: Callable[[float], bool], remedy: str = "") -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, got {value!r}") from None
    if not fits(number):
        raise InputError(f"{name} must {wanted}, got {value!r}{remedy}")
    return number


@dataclass(frozen=True)
class InputBound:
    """Norms of samples (Assumption 1 asks for the unit ball)."""

    # The largest norm, for complexities over all trees of samples; the root of the mean square, for Kumar et al. and
    # complexities of independent samples.
    largest: float
    mean_square: float

    @property
    def holds(self) -> bool:
        """Whether these samples lie in the unit ball; others of their law may not."""
        return self.largest <= 1.0


def input_bound(samples: Any) -> InputBound:
    """Norms of samples, one row each; divide by ``largest`` and Assumption 1 holds for them.

    >>> input_bound([[3.0, 4.0], [0.0, 0.0]])
    InputBound(largest=5.0, mean_square=3.5355339059327378)
    """
    norms = np.linalg.norm(_rows(samples, "samples"), axis=1)
    return InputBound(float(norms.max()), sqrt(float(np.square(norms).mean())))


@dataclass(frozen=True)
class LabelInvariance:
    """Whether the label given the features is the same in two domains (Assumption 5, covariate shift).

    The gain is by how much knowing the domain lowers the log loss of predicting the label, and the p-value the
    probability of such a gain, or a larger one, where the label does not depend on the domain.
    """

    gain: float
    p_value: float

    def rejected(self, level: float = 0.05) -> bool:
        """Whether the assumption is rejected at a level. Not to reject it is not to prove it."""
        return self.p_value < level


def label_invariance(before: tuple[Any, Any], after: tuple[Any, Any], *, seed: int = 0) -> LabelInvariance:
    """Assumption 5 as a test, for two labelled domains: does the domain say more about the label than the features do?

    It needs labels of both domains, which adaptation does not have: it judges an encoder or a benchmark afterwards.
    Two forests of trees predict the label, with and without the domain as a column, each sample by trees
    that did not see it; their log losses are compared sample by sample. Each domain is (features, labels).

    >>> rng = np.random.default_rng(0)
    >>> x, moved = rng.normal(size=(400, 1)), rng.normal(size=(400, 1)) + 0.5
    >>> same = label_invariance((x, x[:, 0] > 0), (moved, moved[:, 0] > 0))
    >>> turned = label_invariance((x, x[:, 0] > 0), (moved, moved[:, 0] < 0))
    >>> same.rejected(), turned.rejected()
    (False, True)
    """
    x = np.concatenate([_rows(before[0], "before"), _rows(after[0], "after")])
    labels = np.concatenate([np.asarray(before[1]), np.asarray(after[1])])
    if len(labels) != len(x):
        raise InputError(f"there must be one label per row, got {len(labels)} for {len(x)}")
    domain = np.repeat([0.0, 1.0], [len(before[1]), len(after[1])])
    # An idle column of the same kind keeps the two forests alike in all but what they know.
    idle = np.random.default_rng(derive_seed(seed, "invariance")).permutation(domain)
    gains = _log_losses(np.column_stack([x, idle]), labels, seed) - _log_losses(
        np.column_stack([x, domain]), labels, seed
    )
    error = float(gains.std(ddof=1)) / sqrt(len(gains))
    return LabelInvariance(float(gains.mean()), float(norm.sf(gains.mean() / error)) if error > 0 else 1.0)


def _log_losses(x: NDArray[np.float64], labels: NDArray[Any], seed: int) -> NDArray[np.float64]:
    from sklearn.ensemble import ExtraTreesClassifier

    forest = ExtraTreesClassifier(
        _N_TREES,
        min_samples_leaf=_SMALLEST_LEAF,
        max_features=None,
        bootstrap=True,
        oob_score=True,
        random_state=derive_seed(seed, "invariance trees"),
    ).fit(x, labels)
    codes = np.searchsorted(forest.classes_, labels)
    shares = forest.oob_decision_function_[np.arange(len(labels)), codes]
    return np.asarray(-np.log(np.clip(shares, 1.0 / _N_TREES, None)))


def _rows(samples: Any, name: str) -> NDArray[np.float64]:
    matrix = np.asarray(samples, dtype=np.float64)
    if matrix.ndim < 2 or len(matrix) == 0 or not np.isfinite(matrix).all():
        raise InputError(f"{name} must be finite rows of numbers, got shape {matrix.shape}")
    return matrix.reshape(len(matrix), -1)

"""The paper's assumptions about data as checks: bounded samples, a bounded loss, labels that keep their meaning."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.theory.assumptions import LIPSCHITZ_LOSS, LIPSCHITZ_MODEL, ONES, Assumptions
from driftfit.theory.bound import Bound
from driftfit.theory.numbers import check_non_negative
from driftfit.theory.standing import guarantee

__all__ = ["InputBound", "LabelInvariance", "input_bound", "label_invariance", "largest_loss"]

_N_TREES = 60
_SMALLEST_LEAF = 5


@dataclass(frozen=True)
class InputBound:
    """Norms of samples (Assumption 1 asks for the unit ball).

    Attributes
    ----------
    largest : float
        Largest norm: what complexities over all trees of samples need.
    mean_square : float
        Root of the mean square: what Kumar et al. and complexities of independent samples need.
    """

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


def largest_loss(
    label_bound: float, data_norm: float = 1.0, assumptions: Assumptions = ONES, *, at_zero: float = 0.0
) -> Bound:
    """``M``: ``rho * (|h(0)| + R X + Y)`` above the loss of the answer 0 to the label 0, which counts as none.

    Parameters
    ----------
    label_bound : float
        ``Y``, the largest absolute label.
    data_norm : float
        ``X``, the largest norm of a sample.
    assumptions : Assumptions
        ``rho`` and ``R`` are used.
    at_zero : float
        Largest ``|h(0)|`` of a model. The lemma leaves it out and does not hold without: a constant is 0-Lipschitz,
        however large.

    Examples
    --------
    >>> largest_loss(1.0, assumptions=Assumptions(model_lipschitz=2.0)).total
    3.0
    """
    rho, radius = assumptions.loss_lipschitz, assumptions.model_lipschitz
    return Bound(
        "Lemma 3 (bounded loss)",
        {
            "answer at zero": rho * check_non_negative(at_zero, "at_zero"),
            "samples": rho * radius * check_non_negative(data_norm, "data_norm"),
            "labels": rho * check_non_negative(label_bound, "label_bound"),
        },
        {"rho": rho, "R": radius},
        guarantee(LIPSCHITZ_MODEL, LIPSCHITZ_LOSS, "the loss of the answer 0 to the label 0 is 0"),
    )


@dataclass(frozen=True)
class LabelInvariance:
    """Whether the label given the features is the same in two domains (Assumption 5, covariate shift).

    Attributes
    ----------
    gain : float
        By how much knowing the domain lowers the log loss of predicting the label; 0 or less where it does not help.
    p_value : float
        Probability of such a gain, or a larger one, where the label does not depend on the domain.
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
    that did not see it; their log losses are compared sample by sample.

    Parameters
    ----------
    before, after : (features, labels)
        Rows of numbers, and one label each.
    seed : int

    Examples
    --------
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

"""Evidence of isometry: does a plan between two domains bend distances more than one between halves of the first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from driftfit.checks import check_points, check_weights
from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.transport.arrays import beside, is_tensor
from driftfit.transport.problem import Problem, Solver
from driftfit.transport.structure.gromov import GromovWasserstein

# The ratio of an isometry is at most this, and its interval ends below that. Fixed on turned and coloured digits (0.9
# to 1.2, intervals up to 1.3), small clusters (0.7 to 1.3, up to 2.7), portraits (2 and more) and Cover Type (2 and
# more, intervals up to 9 and more), see docs/frontier.md.
_NEAR_ONE, _SURELY = 1.5, 3.0
# Exact steps after the search: the first ones find nearly all.
_STEPS = 5


@dataclass(frozen=True, eq=False)
class Isometry:
    """Distortion between two domains over distortion between halves of the first.

    Near 1 the second domain may be a turned, reflected or moved version of the first, and a plan by structure
    has a meaning; far above 1 it has none. It cannot tell which of several equal structures is meant: a ring of
    three equal classes looks the same after a third of a turn.

    ``ratio``: geometric mean over the splits. ``lower`` and ``upper``: its 95 % interval, by Student's t over the
    logarithms of the splits' ratios. ``ratios``: one for each split.
    """

    ratio: float
    lower: float
    upper: float
    ratios: NDArray[np.float64]

    @property
    def plausible(self) -> bool:
        """Whether the ratio is near 1; where the splits disagree too much to say, it is not."""
        return self.ratio <= _NEAR_ONE and self.upper <= _SURELY

    def __str__(self) -> str:
        verdict = "may be an isometry" if self.plausible else "is not shown to be an isometry"
        return (
            f"distances are bent {self.ratio:.2f} times as much as between halves of the first domain "
            f"({self.lower:.2f} to {self.upper:.2f}): the shift {verdict}"
        )


def isometry(
    x0: Any,
    x1: Any,
    weights0: Any = None,
    weights1: Any = None,
    *,
    solver: Solver | None = None,
    splits: int = 4,
    max_samples: int = 500,
    seed: int = 0,
) -> Isometry:
    """Whether two domains may be turned versions of each other, from unlabelled samples.

    Each split cuts the first domain in two halves; the first half is coupled with the other
    half and with as many samples of the second domain, and the two distortions are divided.

    Parameters
    ----------
    x0, x1 : arrays, sparse matrices or tensors of shapes (n, d) and (m, d)
    weights0, weights1 : arrays, optional
        Samples are drawn by them.
    solver : Solver, optional
        ``GromovWasserstein()`` by default.
    splits : int
        At least 2.
    max_samples : int
        Of each half, at most: a small sample is enough, and distortion depends on its size.
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lines = rng.uniform(size=(600, 4)) * [8.0, 4.0, 2.0, 1.0]
    >>> turned, cube = lines[400:, ::-1] + 5.0, rng.uniform(size=(200, 4)) * 5.0
    >>> isometry(lines[:400], turned).plausible, isometry(lines[:400], cube).plausible
    (True, False)
    """
    if splits < 2:
        raise InputError(f"splits must be at least 2, got {splits!r}")
    x0, x1 = (x if is_tensor(x) else check_points(x, name) for x, name in ((x0, "x0"), (x1, "x1")))
    n0, n1 = x0.shape[0], x1.shape[0]
    w0, w1 = check_weights(weights0, n0, "weights0"), check_weights(weights1, n1, "weights1")
    size = min(max_samples, n0 // 2, n1)
    if size < 2:
        raise InputError(f"there are {n0} and {n1} samples; 4 and 2 are the least to split and compare")
    solver = solver or GromovWasserstein(starts=1, steps=_STEPS, bounded=False)
    ratios = np.empty(splits)
    for number in range(splits):
        rng = np.random.default_rng(derive_seed(seed, "isometry", str(number)))
        halves = rng.choice(n0, 2 * size, replace=False, p=_shares(w0, 2 * size))
        others = rng.choice(n1, size, replace=False, p=_shares(w1, size))
        one, two = _rows(x0, halves[:size]), _rows(x0, halves[size:])
        own = _distortion(one, two, solver)
        between = _distortion(one, _rows(x1, others), solver)
        ratios[number] = between / own if own > 0 else (1.0 if between == 0 else np.inf)
    return _summary(ratios)


def _shares(weights: NDArray[np.float64], size: int) -> NDArray[np.float64] | None:
    return weights if np.ptp(weights) > 0 and (weights > 0).sum() >= size else None


def _rows(x: Any, rows: NDArray[np.int64]) -> Any:
    return x[beside(x, rows)]


def _distortion(x0: Any, x1: Any, solver: Solver) -> float:
    found = solver.solve(Problem.of(x0, x1)).distortion
    if found is None:
        raise InputError(f"{solver!r} does not look at distances inside the domains; use GromovWasserstein()")
    return found.value


def _summary(ratios: NDArray[np.float64]) -> Isometry:
    """Ratios spread by factors: mean and interval are those of their logarithms."""
    if not (np.isfinite(ratios).all() and (ratios > 0).all()):
        worst = float(ratios.max())
        return Isometry(worst, worst, worst, ratios)
    logs = np.log(ratios)
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    mean, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half]).tolist()
    return Isometry(mean, low, high, ratios)

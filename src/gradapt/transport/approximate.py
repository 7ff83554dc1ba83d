"""Plans that trade cost for speed or structure: `Sliced` and `LowRank`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gradapt.errors import InputError, SolverError
from gradapt.seeds import derive_seed
from gradapt.transport.costs import SquaredEuclidean
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import Entries, monotone_entries, round_to_marginals

__all__ = ["LowRank", "Sliced"]

_LOW_RANK_PAIRS = 50_000_000


@dataclass(frozen=True)
class Sliced:
    """The cheapest of several one-dimensional plans.

    Both clouds are projected on a random direction, sorted, and coupled in order; the
    plan of the direction whose coupling costs least in the full space is kept. Time
    ``n log n`` and memory ``n`` per direction, at most ``n + m - 1`` entries.

    Parameters
    ----------
    n_directions : int
        Directions tried; the difference of the means is always among them.
    seed : int
        Seeds the directions.

    >>> from gradapt.transport import transport
    >>> transport([[0.0], [1.0]], [[1.5], [0.5]], solver=Sliced()).cols.tolist()
    [1, 0]
    """

    n_directions: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_directions < 1:
            raise InputError(f"n_directions must be at least 1, got {self.n_directions!r}")

    def solve(self, problem: Problem) -> Solution:
        rng = np.random.default_rng(derive_seed(self.seed, "sliced"))
        directions = rng.standard_normal((self.n_directions, problem.x0.shape[1]))
        difference = np.asarray(problem.weights1 @ problem.x1 - problem.weights0 @ problem.x0).ravel()
        if np.abs(difference).max() > 0:
            directions[0] = difference / np.abs(difference).max()
        best, best_cost = None, np.inf
        for direction in directions:
            entries = self._coupled_along(problem, direction)
            cost = float(entries[2] @ problem.pair_costs(entries[0], entries[1]))
            if cost < best_cost:
                best, best_cost = entries, cost
        assert best is not None
        rows, cols, mass = best
        return Solution(rows, cols, mass / mass.sum())

    @staticmethod
    def _coupled_along(problem: Problem, direction: np.ndarray) -> Entries:
        order0 = np.argsort(np.asarray(problem.x0 @ direction), kind="stable")
        order1 = np.argsort(np.asarray(problem.x1 @ direction), kind="stable")
        rows, cols, mass = monotone_entries(problem.weights0[order0], problem.weights1[order1])
        return order0[rows], order1[cols], mass


@dataclass(frozen=True)
class LowRank:
    """A coupling that passes through ``rank`` anchors (Scetbon, Cuturi and Peyre 2021), by POT.

    Squared Euclidean cost only. The smooth plan is dense by nature: its entries are
    formed and all but a negligible mass of them are stored.

    Parameters
    ----------
    rank : int
        Number of anchors.
    seed : int
        Seeds the initial factors.

    >>> from gradapt.transport import transport
    >>> plan = transport([[0.0], [1.0], [5.0]], [[0.1], [1.1], [5.1]], solver=LowRank(rank=3))
    >>> bool(plan.certificate.marginal_error < 1e-12)
    True
    """

    rank: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InputError(f"rank must be at least 1, got {self.rank!r}")

    def solve(self, problem: Problem) -> Solution:
        if not isinstance(problem.cost, SquaredEuclidean):
            raise InputError(f"LowRank works with the squared Euclidean cost, got {problem.cost!r}; use Sinkhorn()")
        n, m = problem.shape
        if n * m > _LOW_RANK_PAIRS:
            raise InputError(f"LowRank stores its dense plan and {n} x {m} pairs are too many; use Sliced()")
        rows, cols = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
        w0, w1 = problem.weights0[rows], problem.weights1[cols]
        dense = self._factors(problem.x0[rows], problem.x1[cols], w0, w1)
        r, c = np.nonzero(dense > 1e-9 / dense.size)
        r, c, mass = round_to_marginals(r, c, dense[r, c], w0, w1)
        return Solution(rows[r], cols[c], mass)

    def _factors(self, x0: Any, x1: Any, w0: np.ndarray, w1: np.ndarray) -> np.ndarray:
        import ot  # slow to import

        x0 = np.asarray(x0.toarray() if sp.issparse(x0) else x0, np.float64)
        x1 = np.asarray(x1.toarray() if sp.issparse(x1) else x1, np.float64)
        # POT's steps depend on the scale of the costs: give it clouds of unit size.
        centre = x0.mean(axis=0)
        scale = max(float(np.abs(x0 - centre).max()), float(np.abs(x1 - centre).max()))
        rank = min(self.rank, len(x0), len(x1))
        if rank == 1 or scale == 0 or (np.ptp(x0, axis=0).max() == 0 and np.ptp(x1, axis=0).max() == 0):
            # One anchor, or one place on either side: every plan costs the same.
            return np.asarray(np.outer(w0, w1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # POT warns where it stops early; the certificate tells more
            q, r, g = ot.lowrank.lowrank_sinkhorn(
                (x0 - centre) / scale,
                (x1 - centre) / scale,
                w0,
                w1,
                rank=rank,
                init="random",
                seed_init=derive_seed(self.seed, "low rank"),
                numItermax=500,
            )
        used = g > 0
        dense = (q[:, used] / g[None, used]) @ r[:, used].T
        if not np.isfinite(dense).all():
            raise SolverError(f"the low-rank iteration broke down at rank {rank}; try a smaller rank or Sinkhorn()")
        return np.asarray(dense)

"""`Sliced`: the best of several one-dimensional plans, in linear memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.transport.problem.problem import Problem, Solution
from driftfit.transport.solvers.entries import Entries, monotone_entries

__all__ = ["Sliced"]


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

    >>> from driftfit.transport.solve import transport
    >>> transport([[0.0], [1.0]], [[1.5], [0.5]], solver=Sliced()).cols.tolist()
    [1, 0]
    """

    n_directions: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_directions < 1:
            raise InputError(f"n_directions must be at least 1, got {self.n_directions!r}")

    def solve(self, problem: Problem) -> Solution:
        problem = problem.to_host()
        rng = np.random.default_rng(derive_seed(self.seed, "sliced"))
        directions = rng.standard_normal((self.n_directions, problem.x0.shape[1]))
        difference = np.asarray(problem.weights1 @ problem.x1 - problem.weights0 @ problem.x0).ravel()
        if np.abs(difference).max() > 0:
            directions[0] = difference / np.abs(difference).max()
        table = problem.table()

        def cost(entries: Entries) -> float:
            return float(entries[2] @ table.pairs(entries[0], entries[1]))

        rows, cols, mass = min((self._coupled_along(problem, direction) for direction in directions), key=cost)
        return Solution(rows, cols, mass / mass.sum())

    @staticmethod
    def _coupled_along(problem: Problem, direction: np.ndarray) -> Entries:
        order0 = np.argsort(np.asarray(problem.x0 @ direction), kind="stable")
        order1 = np.argsort(np.asarray(problem.x1 @ direction), kind="stable")
        rows, cols, mass = monotone_entries(problem.weights0[order0], problem.weights1[order1])
        return order0[rows], order1[cols], mass

"""Couplings that look at no pair's cost: by order along directions, at random, by identity; solver values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.transport.plan import Entries, monotone_entries
from driftfit.transport.problem import Problem, Solution


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


@dataclass(frozen=True)
class RandomCoupling:
    """Entries at random places with random mass, as in the paper's ablation.

    ``n_entries`` pairs are drawn without replacement, get masses drawn uniformly from
    (0, 1) and are normalised; the marginals of the domains are not respected.

    Parameters
    ----------
    n_entries : int or None
        By default the number an exact plan has: ``max(n, m)``, or fewer if there are fewer pairs.
    seed : int
    """

    n_entries: int | None = None
    seed: int = 0

    def solve(self, problem: Problem) -> Solution:
        rng = np.random.default_rng(derive_seed(self.seed, "random coupling"))
        rows, cols = _random_places(problem, self.n_entries, rng)
        mass = 1.0 - rng.random(len(rows))  # in (0, 1]
        return Solution(rows, cols, mass / mass.sum())


@dataclass(frozen=True)
class UniformCoupling:
    """Like `RandomCoupling`, with the same mass on every entry."""

    n_entries: int | None = None
    seed: int = 0

    def solve(self, problem: Problem) -> Solution:
        rng = np.random.default_rng(derive_seed(self.seed, "uniform coupling"))
        rows, cols = _random_places(problem, self.n_entries, rng)
        return Solution(rows, cols, np.full(len(rows), 1.0 / len(rows)))


@dataclass(frozen=True)
class IndependentCoupling:
    """The product of both marginals: every sample goes everywhere."""

    def solve(self, problem: Problem) -> Solution:
        rows0, cols1 = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
        rows, cols = np.repeat(rows0, len(cols1)), np.tile(cols1, len(rows0))
        return Solution(rows, cols, problem.weights0[rows] * problem.weights1[cols])


@dataclass(frozen=True, eq=False)
class OracleCoupling:
    """The true pairing, known when both domains show the same objects.

    Parameters
    ----------
    ids0, ids1 : sequences or None
        The object each sample shows. ``None`` means that row ``i`` of one domain and
        row ``i`` of the other show the same object.

    >>> from driftfit.transport.solve import transport
    >>> oracle = OracleCoupling(ids0=["a", "b"], ids1=["b", "a"])
    >>> transport([[0.0], [1.0]], [[0.0], [1.0]], solver=oracle).cols.tolist()
    [1, 0]
    """

    ids0: Any = field(default=None, repr=False)
    ids1: Any = field(default=None, repr=False)

    def solve(self, problem: Problem) -> Solution:
        n, m = problem.shape
        if (self.ids0 is None) != (self.ids1 is None):
            raise InputError("give both ids0 and ids1, or neither")
        if self.ids0 is None:
            if n != m:
                raise InputError(f"domains of {n} and {m} samples cannot be paired row by row; give ids0 and ids1")
            rows = cols = np.arange(n)
        else:
            rows, cols = _matching_ids(np.asarray(self.ids0), np.asarray(self.ids1), n, m)
        mass = problem.weights0[rows]
        carries = mass > 0
        if not carries.any():
            raise InputError("no pair carries weight")
        return Solution(rows[carries], cols[carries], mass[carries] / mass.sum())


def _random_places(
    problem: Problem, n_entries: int | None, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n, m = problem.shape
    count = max(n, m) if n_entries is None else n_entries
    if not 1 <= count <= n * m:
        raise InputError(f"n_entries must lie between 1 and {n * m}, got {count!r}")
    places = rng.choice(n * m, size=count, replace=False, shuffle=False)
    return places // m, places % m


def _matching_ids(
    ids0: NDArray[Any], ids1: NDArray[Any], n: int, m: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if ids0.shape != (n,) or ids1.shape != (m,):
        raise InputError(f"ids0 and ids1 must have lengths {n} and {m}, got {ids0.shape} and {ids1.shape}")
    if len(np.unique(ids0)) < n or len(np.unique(ids1)) < m:
        raise InputError("ids0 and ids1 must not repeat a value within one domain")
    common, rows, cols = np.intersect1d(ids0, ids1, assume_unique=True, return_indices=True)
    if len(common) == 0:
        raise InputError("ids0 and ids1 have no value in common")
    return rows, cols

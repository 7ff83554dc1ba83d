"""Entropy-regularised transport: `Sinkhorn` and its greedy sibling `Greenkhorn`.

Both work on potentials ``f, g`` in the log domain; the plan is
``exp((f + g - cost) / epsilon)``. Neither can divide by an underflowed zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.kernels.arrays import log_sum, to_numpy
from driftfit.transport.problem.cost_table import CostTable, HeldTable
from driftfit.transport.problem.devices import fits_on_device
from driftfit.transport.problem.problem import Problem, Solution
from driftfit.transport.problem.reductions import among_carriers
from driftfit.transport.solvers.annealing import annealed_potentials, annealing
from driftfit.transport.solvers.entries import Entries, balanced, large_entries, round_to_marginals
from driftfit.transport.solvers.pricing import least_pairs

__all__ = ["Greenkhorn", "Sinkhorn"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# More pairs than this are never held at once, and get fewer sweeps: each one forms all costs anew.
_DENSE_PAIRS = 50_000_000
_BLOCK_SWEEPS = 60
# Entries of the plan kept for each row and each column, and scaled up to carry all of its mass.
_KEPT = 32


@dataclass(frozen=True)
class Sinkhorn:
    """Entropic transport by alternating scaling, annealed and stabilised.

    Parameters
    ----------
    epsilon : float
        Strength of the entropy term, in units of the mean cost, so that it means
        the same for any scale of the features.
    tolerance : float
        Stop when the marginals are off by less than this mass.
    max_iterations : int
        Sweeps over rows and columns at the final ``epsilon``.

    The result is rounded to exact marginals, so its cost is a true upper bound. Beyond
    some 7,000 x 7,000 samples the costs are formed in blocks and never held as a whole; on a GPU
    they are held where they fit, in 12 bytes for each pair. Both keep the 32 largest entries of each
    row and column, scaled to the marginals: for a large ``epsilon`` a sharper plan than the entropic one.

    >>> from driftfit.transport.solve import transport
    >>> plan = transport([[0.0], [1.0]], [[0.0], [1.0]], solver=Sinkhorn(epsilon=0.1))
    >>> plan.todense().round(3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    epsilon: float = 0.05
    tolerance: float = 1e-6
    max_iterations: int = 2_000

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def solve(self, problem: Problem) -> Solution:
        return among_carriers(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        n, m = problem.shape
        table = problem.table(apart=True)
        held = fits_on_device(problem) if problem.on_device else n * m <= _DENSE_PAIRS
        if held:
            table = HeldTable.of(table)
        weights = problem.weights0, problem.weights1
        levels = annealing(self.epsilon) * (table.mean() or 1.0)
        sweeps = self.max_iterations if held else min(self.max_iterations, _BLOCK_SWEEPS)
        f, g = annealed_potentials(table, weights, levels, last_sweeps=sweeps, tolerance=self.tolerance)
        whole = held and not problem.on_device
        entries = _all_entries if whole else _largest_entries
        return Solution(*entries(table, f, g, float(levels[-1]), weights), table.potential0(to_numpy(f)))


@dataclass(frozen=True)
class Greenkhorn:
    """Entropic transport that rescales, at each step, the row or column that is most off.

    After one annealed pass of Sinkhorn, as Altschuler, Weed and Rigollet (2017).

    Parameters
    ----------
    epsilon : float
        In units of the mean cost.
    tolerance : float
        Stop when the marginals are off by less than this mass.
    max_iterations : int or None
        Single-row or single-column updates; by default 50 for each sample.

    >>> from driftfit.transport.solve import transport
    >>> plan = transport([[0.0], [1.0]], [[0.0], [1.0]], solver=Greenkhorn(epsilon=0.1))
    >>> plan.todense().round(3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    epsilon: float = 0.05
    tolerance: float = 1e-6
    max_iterations: int | None = None

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def solve(self, problem: Problem) -> Solution:
        return among_carriers(problem.to_host(), self._solve)

    def _solve(self, problem: Problem) -> Solution:
        table = HeldTable.of(problem.table(apart=True))
        w0, w1 = weights = problem.weights0, problem.weights1
        levels = annealing(self.epsilon) * (table.mean() or 1.0)
        epsilon = float(levels[-1])
        f, g = annealed_potentials(table, weights, levels, last_sweeps=1)
        limit = 50 * sum(problem.shape) if self.max_iterations is None else self.max_iterations
        f, g = _greedy_updates(table.matrix, w0, w1, f, g, epsilon, self.tolerance, limit)
        return Solution(*_all_entries(table, f, g, epsilon, weights), table.potential0(f))


def _all_entries(table: CostTable, f: Float, g: Float, epsilon: float, weights: tuple[Float, Float]) -> Entries:
    """The plan itself, rounded to its marginals; only negligible mass is left out."""
    plan = np.exp((f[:, None] + g[None, :] - table.block(slice(0, len(f)))) / epsilon)
    return round_to_marginals(*large_entries(plan), *weights)


def _largest_entries(table: CostTable, f: Any, g: Any, epsilon: float, weights: tuple[Float, Float]) -> Entries:
    """The largest entries of each row and column, scaled to the marginals."""
    rows, cols = np.divmod(least_pairs(table, f, g, _KEPT)[0], table.shape[1])
    reduced = table.pairs(rows, cols) - to_numpy(f)[rows] - to_numpy(g)[cols]
    mass = balanced(rows, cols, np.exp(np.minimum(-reduced / epsilon, 0.0)), *weights)
    return round_to_marginals(rows, cols, mass, *weights)


def _greedy_updates(
    costs: Float, w0: Float, w1: Float, f: Float, g: Float, epsilon: float, tolerance: float, limit: int
) -> tuple[Float, Float]:
    f, g = f.copy(), g.copy()
    plan = np.exp((f[:, None] + g[None, :] - costs) / epsilon)
    row_mass, column_mass = plan.sum(axis=1), plan.sum(axis=0)
    for step in range(limit):
        excess0, excess1 = _divergence(w0, row_mass), _divergence(w1, column_mass)
        i, j = int(excess0.argmax()), int(excess1.argmax())
        if step % 64 == 0 and np.abs(row_mass - w0).sum() + np.abs(column_mass - w1).sum() < tolerance:
            break
        if excess0[i] >= excess1[j]:
            f[i] = epsilon * (np.log(w0[i]) - log_sum((g - costs[i]) / epsilon, 0))
            line = np.exp((f[i] + g - costs[i]) / epsilon)
            column_mass += line - plan[i]
            plan[i], row_mass[i] = line, line.sum()
        else:
            g[j] = epsilon * (np.log(w1[j]) - log_sum((f - costs[:, j]) / epsilon, 0))
            line = np.exp((f + g[j] - costs[:, j]) / epsilon)
            row_mass += line - plan[:, j]
            plan[:, j], column_mass[j] = line, line.sum()
        np.maximum(row_mass, 0.0, out=row_mass)
        np.maximum(column_mass, 0.0, out=column_mass)
    return f, g


def _divergence(wanted: Float, got: Float) -> Float:
    """Greenkhorn's measure of how far each marginal is off; infinite where mass is missing altogether."""
    with np.errstate(divide="ignore"):
        return np.asarray(got - wanted + wanted * np.log(wanted / got))


def _check_epsilon(epsilon: float) -> None:
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"epsilon must be a positive number, got {epsilon!r}; 0.01 to 0.1 are usual")

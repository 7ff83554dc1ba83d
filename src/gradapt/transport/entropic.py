"""Entropy-regularised transport: `Sinkhorn` and its greedy sibling `Greenkhorn`.

Both work on potentials ``f, g`` in the log domain; the plan is
``exp((f + g - cost) / epsilon)``. Neither can divide by an underflowed zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gradapt.errors import InputError
from gradapt.transport.blockwise import blockwise_sinkhorn
from gradapt.transport.device_entropic import fits_on_device, sinkhorn_on_device
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import round_to_marginals

__all__ = ["Greenkhorn", "Sinkhorn"]

Array = NDArray[np.float64]

# Entries that together carry less than this mass are not stored.
_NEGLIGIBLE_MASS = 1e-9
# More pairs than this are never held at once, and get fewer sweeps: each one forms all costs anew.
_DENSE_PAIRS = 50_000_000
_BLOCK_SWEEPS = 60
# Sweeps at a level of the annealing, fewer where the marginals are off by less than this mass.
_LEVEL_SWEEPS, _LEVEL_TOLERANCE = 50, 1e-3
# Scalings are absorbed into the potentials before they leave this range.
_LARGEST_SCALING = 1e60


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

    >>> from gradapt.transport import transport
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
        carried = problem.weights0.min() > 0 and problem.weights1.min() > 0
        if fits_on_device(problem) and carried:
            return sinkhorn_on_device(problem, self.epsilon, self.tolerance, self.max_iterations)
        if problem.on_device or (carried and problem.shape[0] * problem.shape[1] > _DENSE_PAIRS):
            return blockwise_sinkhorn(problem, self.epsilon, self.tolerance, min(self.max_iterations, _BLOCK_SWEEPS))
        rows, cols, costs, epsilon = _reduced(problem, self.epsilon)
        f, g = sinkhorn_potentials(
            costs, problem.weights0[rows], problem.weights1[cols], epsilon, self.tolerance, self.max_iterations
        )
        return _solution(problem, rows, cols, costs, f, g, epsilon)


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

    >>> from gradapt.transport import transport
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
        rows, cols, costs, epsilon = _reduced(problem, self.epsilon)
        w0, w1 = problem.weights0[rows], problem.weights1[cols]
        f, g = _annealed_start(costs, w0, w1, epsilon)
        limit = 50 * (len(w0) + len(w1)) if self.max_iterations is None else self.max_iterations
        f, g = _greedy_updates(costs, w0, w1, f, g, epsilon, self.tolerance, limit)
        return _solution(problem, rows, cols, costs, f, g, epsilon)


def sinkhorn_potentials(
    costs: Array, w0: Array, w1: Array, epsilon: float, tolerance: float, max_iterations: int
) -> tuple[Array, Array]:
    """Potentials whose plan has marginals ``w0`` and ``w1`` up to ``tolerance``."""
    f, g = _annealed_start(costs, w0, w1, epsilon)
    return _scaled(costs, w0, w1, f, g, epsilon, tolerance, max_iterations)


def _scaled(
    costs: Array, w0: Array, w1: Array, f: Array, g: Array, epsilon: float, tolerance: float, max_iterations: int
) -> tuple[Array, Array]:
    """Fast scaling iterations on the kernel ``exp((f + g - costs) / epsilon)``.

    A step in the log domain whenever a scaling grows too large or a kernel row underflows.
    """
    sweeps = 0
    while sweeps < max_iterations:
        kernel = np.exp((f[:, None] + g[None, :] - costs) / epsilon)
        a, b = np.ones_like(w0), np.ones_like(w1)
        converged = absorbed = False
        while sweeps < max_iterations and not (converged or absorbed):
            sweeps += 1
            column_mass = kernel.T @ a
            row_kernel = kernel @ b
            if column_mass.min() <= 0 or row_kernel.min() <= 0:
                break
            converged = bool(np.abs(a * row_kernel - w0).sum() < tolerance)
            if converged:
                break
            a = w0 / row_kernel
            b = w1 / (kernel.T @ a)
            largest = max(a.max(), b.max(), 1 / a.min(), 1 / b.min())
            absorbed = not largest < _LARGEST_SCALING
        usable = np.isfinite(a).all() and np.isfinite(b).all() and a.min() > 0 and b.min() > 0
        if usable:
            f, g = f + epsilon * np.log(a), g + epsilon * np.log(b)
        if converged:
            break
        f, g = _log_sweep(costs, w0, w1, g, epsilon)
    return f, g


def _annealed_start(costs: Array, w0: Array, w1: Array, epsilon: float) -> tuple[Array, Array]:
    """Sweeps at each of a falling sequence of epsilons; the last has a single one, and its plan the marginal ``w1``."""
    f, g = np.zeros_like(w0), np.zeros_like(w1)
    level = max(float(np.mean(costs)), epsilon)
    while level > epsilon:
        f, g = _log_sweep(costs, w0, w1, g, level)
        f, g = _scaled(costs, w0, w1, f, g, level, _LEVEL_TOLERANCE, _LEVEL_SWEEPS)
        level = max(level / 4, epsilon)
    return _log_sweep(costs, w0, w1, g, epsilon)


def _log_sweep(costs: Array, w0: Array, w1: Array, g: Array, epsilon: float) -> tuple[Array, Array]:
    f = epsilon * (np.log(w0) - logsumexp((g[None, :] - costs) / epsilon, axis=1))
    g = epsilon * (np.log(w1) - logsumexp((f[:, None] - costs) / epsilon, axis=0))
    return f, g


def _greedy_updates(
    costs: Array, w0: Array, w1: Array, f: Array, g: Array, epsilon: float, tolerance: float, limit: int
) -> tuple[Array, Array]:
    f, g = f.copy(), g.copy()
    plan = np.exp((f[:, None] + g[None, :] - costs) / epsilon)
    row_mass, column_mass = plan.sum(axis=1), plan.sum(axis=0)
    for step in range(limit):
        excess0, excess1 = _divergence(w0, row_mass), _divergence(w1, column_mass)
        i, j = int(excess0.argmax()), int(excess1.argmax())
        if step % 64 == 0 and np.abs(row_mass - w0).sum() + np.abs(column_mass - w1).sum() < tolerance:
            break
        if excess0[i] >= excess1[j]:
            f[i] = epsilon * (np.log(w0[i]) - logsumexp((g - costs[i]) / epsilon))
            line = np.exp((f[i] + g - costs[i]) / epsilon)
            column_mass += line - plan[i]
            plan[i], row_mass[i] = line, line.sum()
        else:
            g[j] = epsilon * (np.log(w1[j]) - logsumexp((f - costs[:, j]) / epsilon))
            line = np.exp((f + g[j] - costs[:, j]) / epsilon)
            row_mass += line - plan[:, j]
            plan[:, j], column_mass[j] = line, line.sum()
        np.maximum(row_mass, 0.0, out=row_mass)
        np.maximum(column_mass, 0.0, out=column_mass)
    return f, g


def _divergence(wanted: Array, got: Array) -> Array:
    """Greenkhorn's measure of how far each marginal is off; infinite where mass is missing altogether."""
    with np.errstate(divide="ignore"):
        return np.asarray(got - wanted + wanted * np.log(wanted / got))


def _reduced(problem: Problem, epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, float]:
    """Costs between the samples that carry weight, and epsilon in units of their mean."""
    rows, cols = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
    costs = problem.cost_matrix()
    if len(rows) < len(costs) or len(cols) < costs.shape[1]:
        costs = costs[np.ix_(rows, cols)]
    mean = float(np.abs(costs).mean())
    return rows, cols, costs, epsilon * (mean if mean > 0 else 1.0)


def _solution(
    problem: Problem,
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    costs: Array,
    f: Array,
    g: Array,
    epsilon: float,
) -> Solution:
    plan = np.exp((f[:, None] + g[None, :] - costs) / epsilon)
    # Below this value all entries together weigh less than the negligible mass.
    r, c = np.nonzero(plan > _NEGLIGIBLE_MASS / plan.size)
    r, c, mass = round_to_marginals(r, c, plan[r, c], problem.weights0[rows], problem.weights1[cols])
    potential = np.zeros(problem.shape[0])
    potential[rows] = f
    return Solution(rows[r], cols[c], mass, potential)


def _check_epsilon(epsilon: float) -> None:
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"epsilon must be a positive number, got {epsilon!r}; 0.01 to 0.1 are usual")

"""Sinkhorn iterations that never hold the matrix of costs: one pass over blocks for each sweep.

Works on NumPy arrays and, where the samples are torch tensors, on their device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import balanced, round_to_marginals

__all__ = ["blockwise_sinkhorn"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Entries of the plan kept for each sample, and scaled up to carry all of its mass.
_KEPT = 32
# Entries of a block on a GPU.
_DEVICE_ENTRIES = 2**26


def blockwise_sinkhorn(problem: Problem, epsilon: float, tolerance: float, max_sweeps: int) -> Solution:
    """Entropic transport with ``epsilon`` in units of the mean cost, in memory linear in the samples.

    All samples must carry weight.
    """
    log0, log1 = np.log(problem.weights0), np.log(problem.weights1)
    total = sum(float(costs.sum()) for _, costs in _blocks(problem))
    mean = total / (problem.shape[0] * problem.shape[1]) or 1.0
    f, g = np.zeros(problem.shape[0]), np.zeros(problem.shape[1])
    level, last = mean, epsilon * mean
    for sweep in range(max_sweeps):
        f, g, error = _sweep(problem, g, log0, log1, level)
        if level <= last and error < tolerance:
            break
        # Two sweeps at each of a falling sequence of epsilons, the rest at the last.
        level = max(level / 4, last) if sweep % 2 else level
    rows, cols, mass = _largest_entries(problem, f, g, last)
    mass = balanced(rows, cols, mass, problem.weights0, problem.weights1)
    return Solution(*round_to_marginals(rows, cols, mass, problem.weights0, problem.weights1), f)


def _sweep(problem: Problem, g: Float, log0: Float, log1: Float, epsilon: float) -> tuple[Float, Float, float]:
    """Update both potentials in one pass, and measure how far the columns were off before it."""
    f = np.empty(problem.shape[0])
    column = np.full(problem.shape[1], -np.inf)
    for part, costs in _blocks(problem):
        exponents = -costs / epsilon
        f[part] = epsilon * (log0[part] - _log_sum(exponents + _like(exponents, g / epsilon), 1))
        column = np.logaddexp(column, _log_sum(exponents + _like(exponents, f[part] / epsilon)[:, None], 0))
    error = float(np.abs(np.exp(np.minimum(column + g / epsilon, 50.0)) - np.exp(log1)).sum())
    return f, epsilon * (log1 - column), error


def _largest_entries(problem: Problem, f: Float, g: Float, epsilon: float) -> tuple[Index, Index, Float]:
    """The largest entries of each row and of each column, each entry once."""
    m = problem.shape[1]
    numbers, exponents = [], []
    # Of each column, the best rows of all blocks so far.
    best_rows, best = np.zeros((0, m), np.int64), np.zeros((0, m))
    for part, costs in _blocks(problem):
        entries = (_like(costs, f[part])[:, None] + _like(costs, g) - costs) / epsilon
        place, values = _largest(entries, min(_KEPT, m), 1)
        numbers.append((np.arange(part.start, part.stop)[:, None] * m + place).ravel())
        exponents.append(values.ravel())
        place, values = _largest(entries, min(_KEPT, part.stop - part.start), 0)
        joined = np.concatenate([best_rows, place + part.start])
        top, best = _largest(np.concatenate([best, values]), min(_KEPT, len(joined)), 0)
        best_rows = np.take_along_axis(joined, top, axis=0)
    numbers.append((best_rows * m + np.arange(m)).ravel())
    exponents.append(best.ravel())
    pairs, first = np.unique(np.concatenate(numbers), return_index=True)
    return pairs // m, pairs % m, np.exp(np.minimum(np.concatenate(exponents)[first], 0.0))


def _largest(values: Any, count: int, axis: int) -> tuple[Index, Float]:
    """Places and values of the largest ``count`` along an axis, in no order."""
    if not isinstance(values, np.ndarray):
        top = values.topk(count, dim=axis, sorted=False)
        return top.indices.cpu().numpy(), top.values.cpu().numpy()
    place = np.argpartition(values, -count, axis=axis).take(np.arange(-count, 0), axis=axis)
    return place, np.take_along_axis(values, place, axis=axis)


def _blocks(problem: Problem) -> Iterator[tuple[slice, Any]]:
    """Costs in blocks of rows, where the samples live."""
    if not problem.on_device:
        yield from problem.cost_blocks()
        return
    x1 = problem.x1.double()
    centre = x1.mean(dim=0)
    right = x1 - centre
    norms = (right * right).sum(dim=1)
    step = max(1, _DEVICE_ENTRIES // len(x1))
    for start in range(0, problem.shape[0], step):
        part = slice(start, min(start + step, problem.shape[0]))
        left = problem.x0[part].double() - centre
        yield part, ((left * left).sum(dim=1)[:, None] + norms - 2.0 * left @ right.T).clamp_min(0.0)


def _like(costs: Any, values: Float) -> Any:
    """A vector beside the costs, on their device."""
    if isinstance(costs, np.ndarray):
        return values
    import torch  # slow to import

    return torch.from_numpy(values).to(costs.device)


def _log_sum(exponents: Any, axis: int) -> Float:
    if isinstance(exponents, np.ndarray):
        return np.asarray(logsumexp(exponents, axis=axis))
    return np.asarray(exponents.logsumexp(dim=axis).cpu().numpy())

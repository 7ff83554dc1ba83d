"""Proven lower bounds on the c-transform of a potential, over all pairs and for the arithmetic used.

``min_i (cost(i, j) - u[i])`` is computed in float64, in blocks, and lowered by a bound on
everything that rounding can have done (Higham, *Accuracy and Stability of Numerical
Algorithms*, chapter 3): a sum of ``k`` products is off by at most ``gamma(k)`` times the
sum of their absolute values, in whatever order the matrix product adds them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gradapt.transport.costs import Precomputed, SquaredEuclidean
from gradapt.transport.problem import Problem

__all__ = ["gamma", "transform_bound"]

Float = NDArray[np.float64]

UNIT = 2.0**-53
# Above this many multiplications squared distances are formed by matrix products.
PRODUCT_WORK = 1e8
# Blocks of the product hold about this many entries: they stay in the processor's cache.
_BLOCK_ENTRIES = 2**22
# Pairs looked at again, one by one, for each sample: more are not worth it.
_CLOSE_PAIRS = 16
# Values of a float64 copy of samples on a GPU: 1 GiB.
_TENSOR_ENTRIES = 2**27


def gamma(k: int, unit: float = UNIT) -> float:
    """Relative rounding error of a sum of ``k`` products.

    >>> gamma(10) < 1.2e-15
    True
    """
    return k * unit / (1.0 - k * unit)


def transform_bound(problem: Problem, rows: NDArray[np.int64], u: Float, wanted: float) -> tuple[Float, Float]:
    """Potentials ``(u', v)``, proven feasible: ``u'[i] + v[j] <= cost(i, j)`` for all ``i`` of ``rows`` and all ``j``.

    ``v`` is the c-transform of ``u`` and ``u'`` is ``u``, each lowered by the rounding error
    that its own magnitude can have caused. ``wanted`` is the precision aimed at: where
    rounding costs more, the close pairs are computed once more from their differences.
    """
    if problem.on_device:
        return _by_tensors(problem, rows, u)
    dense = not sp.issparse(problem.x0) and not sp.issparse(problem.x1)
    work = len(rows) * problem.shape[1] * problem.x0.shape[1]
    if isinstance(problem.cost, SquaredEuclidean) and dense and work > PRODUCT_WORK:
        return _by_products(problem, rows, u, wanted)
    return _by_blocks(problem, rows, u)


def _by_blocks(problem: Problem, rows: NDArray[np.int64], u: Float) -> tuple[Float, Float]:
    """From the cost's own blocks, whose entries are sums without cancellation (or given numbers)."""
    terms = 0 if isinstance(problem.cost, Precomputed) else problem.x0.shape[1] + 16
    keep = 1.0 - gamma(terms + 2)
    lowered = u - (2.0 * gamma(terms + 2) + gamma(4)) * np.abs(u)
    v = np.full(problem.shape[1], np.inf)
    for part, costs in problem.cost_blocks(rows):
        # Negative costs exist too: lowering them means enlarging them.
        costs = np.where(costs > 0, costs * keep, costs / keep)
        np.minimum(v, (costs - lowered[part, None]).min(axis=0), out=v)
    return lowered, np.asarray(v - gamma(2) * np.abs(v))


def _by_products(problem: Problem, rows: NDArray[np.int64], u: Float, wanted: float) -> tuple[Float, Float]:
    x1, centre = problem.x1, problem.x1.mean(axis=0, dtype=np.float64)
    features = x1.shape[1]
    g = gamma(features + 16)
    right = np.empty((features + 2, len(x1)))
    np.subtract(x1.T, centre[:, None], out=right[:features])
    norms1 = np.einsum("ij,ij->j", right[:features], right[:features])
    right[features], right[features + 1] = 1.0, norms1
    # 2 (a + b)^2 <= 4 a^2 + 4 b^2 splits the error into a term per row and a term per column.
    error1 = 8.0 * g * norms1
    v = np.full(len(x1), np.inf)
    row_errors = np.zeros(len(rows))
    for part, left, errors in _left_blocks(problem, rows, u, centre, g):
        row_errors[part] = errors
        np.minimum(v, (left @ right).min(axis=0), out=v)
    proven = u - row_errors, v - error1
    lost = problem.weights1 @ error1 + problem.weights0[rows] @ row_errors
    if lost <= wanted:
        return proven
    margin = 4.0 * (error1 + row_errors.max())
    closer = _close_pairs(problem, rows, u, centre, right, v, margin)
    return proven if closer is None else closer


def _by_tensors(problem: Problem, rows: NDArray[np.int64], u: Float) -> tuple[Float, Float]:
    """`_by_products` on the device where the samples live, in float64 like the other."""
    import torch  # slow to import

    every, x1 = torch.from_numpy(rows).to(problem.x1.device), problem.x1
    centre = x1.mean(dim=0, dtype=torch.float64)
    features = x1.shape[1]
    g = gamma(features + 16)
    potential = torch.from_numpy(u).to(x1.device)
    v = torch.full((len(x1),), torch.inf, dtype=torch.float64, device=x1.device)
    row_errors, norms1 = torch.empty_like(potential), torch.empty_like(v)
    wide = max(1, min(_TENSOR_ENTRIES // features, 2**16))
    high = max(1, min(_TENSOR_ENTRIES // features, 2 * _TENSOR_ENTRIES // wide))
    for first in range(0, len(x1), wide):
        right = (x1[first : first + wide].double() - centre).T
        norms1[first : first + wide] = (right * right).sum(dim=0)
        for start in range(0, len(every), high):
            part = slice(start, start + high)
            left = problem.x0[every[part]].double() - centre
            norms0 = (left * left).sum(dim=1)
            row_errors[part] = 8.0 * g * norms0 + 4.0 * g * potential[part].abs()
            # The product, then the two terms: three sums more than the features, counted in gamma.
            reduced = torch.mm(left, right).mul_(-2.0).add_((norms0 - potential[part])[:, None])
            least = reduced.add_(norms1[first : first + wide]).amin(dim=0)
            v[first : first + wide] = torch.minimum(v[first : first + wide], least)
    lowered = potential - row_errors
    return lowered.cpu().numpy(), (v - 8.0 * g * norms1).cpu().numpy()


def _left_blocks(
    problem: Problem, rows: NDArray[np.int64], u: Float, centre: Float, g: float
) -> Iterator[tuple[slice, Float, Float]]:
    """Rows ``(-2 x, |x|^2 - u, 1)``, whose products with ``(y, 1, |y|^2)`` are costs less ``u``; and their errors."""
    features = len(centre)
    step = max(1, min(_BLOCK_ENTRIES // problem.shape[1], _BLOCK_ENTRIES // features + 1))
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        x = problem.x0[rows[part]] - centre
        norms = np.einsum("ij,ij->i", x, x)
        errors = 8.0 * g * norms + 4.0 * g * np.abs(u[part])
        left = np.empty((len(x), features + 2))
        np.multiply(x, -2.0, out=left[:, :features])
        left[:, features], left[:, features + 1] = norms - u[part], 1.0
        yield part, left, errors


def _close_pairs(
    problem: Problem, rows: NDArray[np.int64], u: Float, centre: Float, right: Float, v: Float, margin: Float
) -> tuple[Float, Float] | None:
    """The same bound with the pairs that come near the minimum computed from their differences."""
    features = len(centre)
    g, direct = gamma(features + 16), gamma(features + 8)
    # What is not close is at least this large; the margin holds every row's error.
    bound = v + 0.5 * margin
    lowered = u - (2.0 * direct + gamma(4)) * np.abs(u)
    found = 0
    for part, left, _ in _left_blocks(problem, rows, u, centre, g):
        r, c = np.nonzero(left @ right <= v + margin)
        found += len(r)
        if found > _CLOSE_PAIRS * sum(problem.shape):
            return None
        costs = problem.pair_costs(rows[part][r], c) * (1.0 - direct)
        np.minimum.at(bound, c, costs - lowered[part][r])
    return lowered, np.asarray(bound - gamma(2) * np.abs(bound))

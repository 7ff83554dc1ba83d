"""The inside of two clouds: squared distances as inner products, and what a coupling makes of them.

About their weighted mean, samples have ``D[i, j] = r[i] + r[j] - 2 x[i].x[j]`` with ``r = |x|^2``. For a plan ``T``
the loss of Gromov and Wasserstein then depends on two things only: the cross moment ``M = X0' T X1`` and the mean
of ``r0 r1`` under ``T``. Its gradient is, up to separable terms, a bilinear form of ``(x0, r0)`` and ``(x1, r1)``: a
squared Euclidean transport problem in one dimension more. No product of two matrices of all distances is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import as_double, beside, concatenated, is_tensor, to_numpy, vector
from driftfit.transport.costs.cost import SquaredEuclidean
from driftfit.transport.costs.table import row_parts
from driftfit.transport.plan import monotone_entries
from driftfit.transport.problem import Problem, equal_weights

Float = NDArray[np.float64]

# Sums of this module are right to this share of their largest term, with much to spare.
_ROUNDING = 1e-11
# Distances are counted in so many bins; what lies in one bin or the next may be equal, so rounding cannot fool it.
_BINS = 20_000
# Multiplications beyond which all distances are too many to look at, and the bound is 0.
_MOST_WORK = 1e13
_BLOCK = 2**22
# Negative eigenvalues up to this share of the largest one are rounding.
_NOT_NEGATIVE = 1e-9


@dataclass(frozen=True, eq=False)
class Cloud:
    """Samples about their weighted mean, along their principal axes; ``radii`` are squared lengths."""

    x: Any
    radii: Any
    weights: Any

    @classmethod
    def of(cls, x: Any, weights: Any) -> Cloud:
        """Samples as they are, about their mean."""
        w = beside(x, to_numpy(weights))
        x = x - w @ x
        return cls(x, (x**2).sum(1), w)

    def scaled(self, factor: float) -> Cloud:
        return Cloud(self.x * factor, self.radii * factor**2, self.weights)

    def taken(self, rows: Any, components: int) -> Cloud:
        """Some samples, equally weighted, in their leading components."""
        return Cloud.of(self.x[beside(self.x, rows)][:, :components], np.full(len(rows), 1.0 / len(rows)))

    @property
    def mean_radius(self) -> float:
        return float(self.weights @ self.radii)

    @cached_property
    def covariance(self) -> Any:
        return self.x.T @ (self.weights[:, None] * self.x)

    @cached_property
    def spread(self) -> Any:
        """Covariance of the samples with their squared lengths as one coordinate more."""
        both = _with_column(self.x, self.radii - self.mean_radius)
        return both.T @ (self.weights[:, None] * both)

    @property
    def mean_square_distance(self) -> float:
        """The mean of the squares of all numbers of ``D``."""
        square = float(self.weights @ self.radii**2)
        return 2.0 * square + 2.0 * self.mean_radius**2 + 4.0 * float((self.covariance**2).sum())


@dataclass(frozen=True, eq=False)
class Clouds:
    """Two clouds in one unit, and the loss. The unit of squared distances is their mean inside the clouds."""

    first: Cloud
    second: Cloud
    unit: float
    # The samples are those given times a power of two.
    exponent: int = 0

    @classmethod
    def of(cls, problem: Problem) -> Clouds:
        # Turning a cloud changes nothing inside it.
        x0, x1 = principal(problem.x0, problem.weights0), principal(problem.x1, problem.weights1)
        first, second = Cloud.of(x0, problem.weights0), Cloud.of(x1, problem.weights1)
        unit = first.mean_radius + second.mean_radius
        factor = 1.0 / np.sqrt(unit) if unit > 0 else 1.0
        return cls(first.scaled(factor), second.scaled(factor), unit or 1.0, problem.exponent)

    def in_given_units(self, loss: float) -> float:
        """A loss as one of the samples that were given; 0 or infinity out of the range of float64."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(np.ldexp(loss * self.unit**2, 2 * self.exponent), 2 * self.exponent))

    def sample(self, rows: Any, cols: Any, components: int) -> Clouds:
        """A smaller version to search with."""
        return Clouds(self.first.taken(rows, components), self.second.taken(cols, components), self.unit)

    def moment(self, rows: Any, cols: Any, mass: Any) -> Any:
        """The cross moment of a sparse plan."""
        rows, cols = beside(self.first.x, rows), beside(self.first.x, cols)
        return self.first.x[rows].T @ (beside(self.first.x, mass)[:, None] * self.second.x[cols])

    def linearised(self, moment: Any) -> tuple[Problem, float]:
        """The transport problem whose cost is the gradient at a cross moment, and the deviation of that cost.

        The gradient is the cost of the problem up to a factor and separable terms.
        """
        first, second = self.first, self.second
        pull, radial = 16.0 * moment, 2.0
        left = _with_column(first.x @ pull, radial * (first.radii - first.mean_radius))
        right = _with_column(second.x, radial * (second.radii - second.mean_radius))
        # Both sides in numbers of one size: distances lose fewer digits.
        size0, size1 = float((left**2).mean()) ** 0.25, float((right**2).mean()) ** 0.25
        balance = size1 / size0 if size0 > 0 and size1 > 0 else 1.0
        left, right = left * balance, right / balance
        w0, w1 = to_numpy(first.weights), to_numpy(second.weights)
        uniform = len(w0) == len(w1) and equal_weights(w0) and equal_weights(w1)
        problem = Problem(left, right, w0, w1, SquaredEuclidean(), uniform)
        return problem, 2.0 * self._deviation(pull, radial)

    def _deviation(self, pull: Any, radial: float) -> float:
        """The deviation of the bilinear form over all pairs: of ``x0' pull x1`` plus ``radial^2`` times the radii."""
        k0, k1 = pull.shape
        form = vector(pull, (k0 + 1, k1 + 1), 0.0)
        form[:k0, :k1] = pull
        form[k0, k1] = radial**2
        square = float(((form.T @ self.first.spread @ form) * self.second.spread).sum())
        return math.sqrt(max(square, 0.0))

    def loss(self, rows: Any, cols: Any, mass: Any, moment: Any = None) -> float:
        """The mean squared difference of distances, in units of ``unit`` squared; 0 where rounding says less.

        ``moment`` is that of the plan, where it is at hand.
        """
        first, second = self.first, self.second
        moment = self.moment(rows, cols, mass) if moment is None else moment
        r0, r1 = first.radii[beside(first.x, rows)], second.radii[beside(first.x, cols)]
        together = float(beside(first.x, mass) @ (r0 * r1))
        return max(self._loss(together, float((moment**2).sum())), 0.0)

    def least_loss(self) -> float:
        """No plan has a smaller loss: the mean of ``r0 r1`` and the cross moment are both at most so large.

        The first is largest when both radii are in order; the square of the second is at most the sum of products
        of the ordered eigenvalues of the covariances, since ``M = C0^(1/2) K C1^(1/2)`` with a contraction ``K``.
        """
        first, second = self.first, self.second
        values0, values1 = (
            np.maximum(to_numpy(_eigenpairs(cloud.covariance)[0])[::-1], 0.0) for cloud in (first, second)
        )
        size = min(len(values0), len(values1))
        radii = [to_numpy(values) for cloud in (first, second) for values in (cloud.radii, cloud.weights)]
        least = self._loss(_largest_mean_product(*radii), float(values0[:size] @ values1[:size]))
        own = first.mean_square_distance + second.mean_square_distance
        return max(least - _ROUNDING * own, 0.0)

    def _loss(self, together: float, moment_square: float) -> float:
        first, second = self.first, self.second
        own = first.mean_square_distance + second.mean_square_distance
        return own - 4.0 * together - 4.0 * first.mean_radius * second.mean_radius - 8.0 * moment_square


def _with_column(x: Any, column: Any) -> Any:
    """A matrix with one column more."""
    if is_tensor(x):
        return concatenated([x.T, column[None]]).T.contiguous()
    return np.column_stack([x, column])


def principal(x: Any, weights: Any) -> Any:
    """Samples about their weighted mean, along their own principal axes, those of largest variance first.

    >>> principal(np.array([[0.0, 5.0], [0.0, 7.0]]), np.full(2, 0.5)).round(9).tolist()[0][1:]
    [0.0]
    """
    x = as_double(x.toarray() if sp.issparse(x) else x)
    return _turned(x - beside(x, weights) @ x)


def _turned(x: Any) -> Any:
    """The same distances in as few coordinates as samples or features, those of largest variance first."""
    n, d = x.shape
    if d <= n:
        return x @ _flipped(_eigenpairs(x.T @ x)[1])
    values, vectors = _eigenpairs(x @ x.T)
    return _flipped(vectors * values.clip(min=0.0) ** 0.5)


def _eigenpairs(matrix: Any) -> tuple[Any, Any]:
    if not is_tensor(matrix):
        return np.linalg.eigh(matrix)
    import torch  # slow to import

    values, vectors = torch.linalg.eigh(matrix)
    return values, vectors


def _flipped(columns: Any) -> Any:
    return columns.flip(1) if is_tensor(columns) else np.ascontiguousarray(columns[:, ::-1])


def _largest_mean_product(r0: Float, w0: Float, r1: Float, w1: Float) -> float:
    """The largest mean of a product over all couplings of two weighted lists of numbers: both in order."""
    order0, order1 = np.argsort(r0), np.argsort(r1)
    rows, cols, mass = monotone_entries(w0[order0], w1[order1])
    return float(mass @ (r0[order0][rows] * r1[order1][cols]))


def distance_bound(first: Cloud, second: Cloud) -> float:
    """A lower bound on the mean squared difference of distances that any plan joins, from all distances; 0 if too many.

    Any plan couples the pairs of one cloud with the pairs of the other, so the cheapest coupling of the two lists of
    distances, which joins them in order, is no dearer.
    """
    work = sum(float(cloud.x.shape[0]) ** 2 * cloud.x.shape[1] for cloud in (first, second))
    # A squared distance is at most twice the sum of two squared lengths.
    largest = 4.0 * max(float(cloud.radii.max()) for cloud in (first, second))
    if work > _MOST_WORK or largest == 0.0:
        return 0.0
    counts = [_counts(cloud, largest / _BINS) for cloud in (first, second)]
    rows, cols, mass = monotone_entries(*counts)
    gaps = np.maximum(np.abs(rows - cols) - 2.0, 0.0) * (largest / _BINS)
    return float(mass @ gaps**2)


def _counts(cloud: Cloud, width: float) -> NDArray[np.float64]:
    """Weight of the pairs in each bin of distances."""
    total = np.zeros(_BINS + 1)
    n = cloud.x.shape[0]
    for part in row_parts((n, n), _BLOCK):
        distances: Any = cloud.radii[part, None] + cloud.radii[None] - 2.0 * (cloud.x[part] @ cloud.x.T)
        bins = (distances.clip(min=0.0) / width).reshape(-1)
        weights = (cloud.weights[part, None] * cloud.weights[None]).reshape(-1)
        if isinstance(bins, np.ndarray):
            total += np.bincount(bins.astype(np.int64), weights, _BINS + 1)
        else:
            total += to_numpy(bins.long().bincount(weights, _BINS + 1))
    return total


def embed_distances(distances: ArrayLike, *, dimensions: int | None = None) -> Float:
    """Points whose *squared* distances are the numbers of a matrix.

    Euclidean and city-block distances, and their roots, are of this kind (Schoenberg), as squared Euclidean ones
    are; others are refused. One point has a coordinate for each other one, at most.

    ``distances``: of shape (n, n); symmetric, zero on the diagonal. ``dimensions``: pad with zeros to so many
    coordinates, so that clouds of different sizes can be coupled.

    >>> points = embed_distances([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> ((points[0] - points[2]) ** 2).sum().round(12).item()
    2.0
    """
    given = np.asarray(distances, dtype=np.float64)
    _check(given)
    centred = given - given.mean(axis=0) - given.mean(axis=1)[:, None] + given.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    largest = float(abs(values).max(initial=0.0))
    if values.min(initial=0.0) < -_NOT_NEGATIVE * max(largest, np.finfo(float).tiny):
        raise InputError(
            f"these distances are not squared distances between points (an eigenvalue is {values.min():.3g}, the "
            f"largest {largest:.3g}); take Euclidean, city-block or squared Euclidean distances"
        )
    points: Float = np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1])
    if dimensions is None:
        return points
    if dimensions < len(points):
        raise InputError(f"dimensions must be at least the number of points, {len(points)}, got {dimensions!r}")
    return np.pad(points, ((0, 0), (0, dimensions - len(points))))


def _check(given: Any) -> None:
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise InputError(f"distances must be a square matrix, got shape {given.shape}")
    if not np.isfinite(given).all():
        raise InputError("distances hold NaN or infinity; every pair needs a finite distance")
    size = float(np.abs(given).max())
    if np.abs(given - given.T).max() > 1e-9 * size or np.abs(np.diag(given)).max() > 1e-9 * size:
        raise InputError("distances must be symmetric and zero on the diagonal; symmetrise them as (D + D.T) / 2")

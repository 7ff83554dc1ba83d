"""Global maps under which two clouds are compared, and `Mapped`: a map and a coupling, each made for the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import as_double, beside, is_tensor
from driftfit.transport.problem import Problem, Solution, Solver, placed
from driftfit.transport.solve import optimal_plan
from driftfit.transport.structure.inner import Clouds, principal

# The relative fall of the cost under the map below which there are no more rounds.
_FALL = 1e-4


class Map(Protocol):
    """Brings two clouds to one place. ``follows`` says whether a better coupling makes a better map."""

    @property
    def follows(self) -> bool: ...

    def bring(self, problem: Problem, coupling: Solution | None) -> tuple[Any, Any]:
        """Both clouds where they are compared."""


@dataclass(frozen=True)
class Orthogonal:
    """A turn or reflection, by Procrustes: the one that brings coupled samples closest.

    Each cloud is taken about its mean, in its own principal components.

    Parameters
    ----------
    components : int
        At most so many of them; small ones are noise that a turn would amplify.

    >>> from driftfit.transport.problem import Problem
    >>> x = np.array([[0.0, 1.0], [0.0, -1.0], [3.0, 0.0]])
    >>> each = np.arange(3)
    >>> coupling = Solution(each, each, np.full(3, 1 / 3))
    >>> x0, x1 = Orthogonal().bring(Problem.of(x, x[:, ::-1].copy()), coupling)
    >>> bool(np.allclose(x0, x1))
    True
    """

    components: int = 150

    def __post_init__(self) -> None:
        _check_components(self.components)

    @property
    def follows(self) -> bool:
        return True

    def bring(self, problem: Problem, coupling: Solution | None) -> tuple[Any, Any]:
        x0, x1, moment = _moment(problem, coupling, self.components)
        left, _, right = _svd(moment)
        return x0 @ (left @ right), x1


@dataclass(frozen=True)
class SameScale:
    """Every feature by its own mean and deviation in its own cloud.

    >>> from driftfit.transport.problem import Problem
    >>> x0, x1 = SameScale().bring(Problem.of([[0.0], [2.0]], [[10.0], [30.0]]), None)
    >>> x0.ravel().tolist(), x1.ravel().tolist()
    ([-1.0, 1.0], [-1.0, 1.0])
    """

    @property
    def follows(self) -> bool:
        return False

    def bring(self, problem: Problem, coupling: Solution | None) -> tuple[Any, Any]:
        return _standardised(problem.x0, problem.weights0), _standardised(problem.x1, problem.weights1)


def _moment(problem: Problem, coupling: Solution | None, components: int) -> tuple[Any, Any, Any]:
    """Both clouds in principal components, and their cross moment under the coupling."""
    if coupling is None:
        raise InputError("this map is fitted to a coupling; give Mapped a start, such as GromovWasserstein()")
    x0, x1 = principal(problem.x0, problem.weights0), principal(problem.x1, problem.weights1)
    size = min(components, x0.shape[1], x1.shape[1])
    x0, x1 = x0[:, :size], x1[:, :size]
    mass = beside(x0, coupling.mass)[:, None]
    return x0, x1, x0[beside(x0, coupling.rows)].T @ (mass * x1[beside(x0, coupling.cols)])


def _standardised(x: Any, weights: Any) -> Any:
    x = as_double(x.toarray() if sp.issparse(x) else x)
    w = beside(x, weights)
    x = x - w @ x
    deviation = (w @ x**2) ** 0.5
    # A feature that never changes says nothing.
    largest = abs(x).max(0)
    largest = largest.values if is_tensor(x) else largest
    constant = deviation <= 1e-12 * largest
    return x / (deviation + constant * 1.0) * (~constant)


def middle_ranks(
    column: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Distinct values, the share of the column below each with ties counted half, and the value of each row.

    >>> middle_ranks(np.array([3.0, 1.0, 3.0, 3.0]))[1].tolist()
    [0.125, 0.625]
    """
    values, places = np.unique(column, return_inverse=True)
    mass = np.bincount(places, weights)
    mass = mass / mass.sum()
    return values, np.cumsum(mass) - 0.5 * mass, np.asarray(places, dtype=np.int64)


def _svd(matrix: Any) -> tuple[Any, Any, Any]:
    if not is_tensor(matrix):
        return np.linalg.svd(matrix)
    import torch  # slow to import

    left, values, right = torch.linalg.svd(matrix)
    return left, values, right


def _check_components(components: int) -> None:
    if components < 1:
        raise InputError(f"components must be at least 1, got {components!r}")


@dataclass(frozen=True)
class Mapped:
    """Couple the clouds under a map, fit the map to the coupling, and so on while the cost falls.

    The map is for finding the plan only: the plan joins the samples that were given.

    Parameters
    ----------
    map : Map
        `Orthogonal()` or `SameScale()`.
    solver : Solver, optional
        Couples the clouds under the map; exact by default.
    start : Solver, optional
        The coupling that the first map is fitted to, such as ``GromovWasserstein()``; by default that of
        ``solver``.
    rounds : int
        At most.
    device : {"auto", "cpu", "cuda"}
    progress : callable, optional
        Called with the stage's name and the share of it that is done.

    Examples
    --------
    >>> from driftfit.transport.structure.maps import SameScale
    >>> from driftfit.transport.solve import transport
    >>> plan = transport([[0.0], [1.0]], [[70.0], [50.0]], solver=Mapped(SameScale()))
    >>> plan.cols.tolist()
    [1, 0]
    """

    map: Map = field(default_factory=Orthogonal)
    solver: Solver | None = None
    start: Solver | None = None
    rounds: int = 10
    device: str = "auto"
    progress: Callable[[str, float], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InputError(f"rounds must be at least 1, got {self.rounds!r}")

    def solve(self, problem: Problem) -> Solution:
        problem = placed(problem, self.device) if problem.squared else problem
        found = self._started(problem)
        least = np.inf
        for number in range(self.rounds if self.map.follows else 1):
            moved = Problem.of(*self.map.bring(problem, found), problem.weights0, problem.weights1)
            better = self._coupled(moved)
            cost = float(better.mass @ moved.pair_costs(better.rows, better.cols))
            if found is not None and not cost < least * (1.0 - _FALL):
                break
            distortion = None if found is None else found.distortion
            found, least = replace(better, potential0=None, distortion=distortion), cost
            if self.progress is not None:
                self.progress("map", (number + 1) / self.rounds)
        if found is None:
            raise InputError("no round was made")
        return self._measured(problem, found)

    def _started(self, problem: Problem) -> Solution | None:
        if self.start is not None:
            return self.start.solve(problem)
        if not self.map.follows:
            return None
        return self._coupled(problem)

    def _coupled(self, problem: Problem) -> Solution:
        return optimal_plan(problem) if self.solver is None else self.solver.solve(problem)

    def _measured(self, problem: Problem, found: Solution) -> Solution:
        """What the start knew about distances inside the clouds, for the plan that came of it."""
        if found.distortion is None:
            return found
        clouds = Clouds.of(problem)
        value = clouds.in_given_units(clouds.loss(found.rows, found.cols, found.mass))
        return replace(found, distortion=replace(found.distortion, value=value))

"""`Mapped`: a coupling and a global map, each made for the other in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from driftfit.errors import InputError
from driftfit.transport.problem.devices import placed
from driftfit.transport.problem.problem import Problem, Solution, Solver
from driftfit.transport.structure.inner import Clouds
from driftfit.transport.structure.maps import Map, Orthogonal
from driftfit.transport.structure.steps import optimal_plan

__all__ = ["Mapped"]

# The relative fall of the cost under the map below which there are no more rounds.
_FALL = 1e-4


@dataclass(frozen=True)
class Mapped:
    """Couple the clouds under a map, fit the map to the coupling, and so on while the cost falls.

    The map is for finding the plan only: the plan joins the samples that were given.

    Parameters
    ----------
    map : Map
        `Orthogonal()`, `Affine()`, `SameScale()` or `SameRank()`.
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

"""`GromovWasserstein` and `FusedGromovWasserstein`: samples coupled by their distances to their own kind.

Search with entropy first, then exact steps that never raise the loss:

    M <- 0                                       every sample looks alike but for its distance from the centre
    for strength in falling strengths:           a smooth plan, sharper each time
        T <- entropic plan of the gradient at M
        M <- X0' T X1
    repeat:                                      the loss is concave between two such clouds, so that a whole
        T <- optimal plan of the gradient at M   step to the optimal plan of its gradient cannot raise it
        M <- X0' T X1
    until the loss stays
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.seeds import derive_seed
from driftfit.transport.arrays import beside, is_tensor, to_numpy
from driftfit.transport.costs.table import HeldTable, table_parts
from driftfit.transport.plan import Distortion
from driftfit.transport.problem import Problem, Solution, fits_on_device, placed
from driftfit.transport.reductions import among_carriers, collapse
from driftfit.transport.solve import optimal_plan
from driftfit.transport.solvers.exact import SMALL_PAIRS
from driftfit.transport.solvers.sinkhorn import column_potential, row_shares
from driftfit.transport.structure.inner import Clouds, distance_bound

Float = NDArray[np.float64]
Progress = Callable[[str, float], None]
# A plan's entries.
Entries = tuple[NDArray[np.int64], NDArray[np.int64], Float]

# Strengths of the entropy from first to last, in units of the gradient's deviation, and how many.
_FIRST, _LAST, _STRENGTHS = 3.0, 0.03, 30
# Sweeps at each, fewer where the marginals are off by less than this mass.
_SWEEPS, _OFF = 10, 1e-3
# Principal components that the search looks at; the exact steps look at all.
_COMPONENTS = 100
# The relative fall of the objective below which there are no more exact steps.
_FALL = 1e-10
# Costly starts are left after so many steps if their objective is so many times the best.
_TRIAL, _BEHIND = 2, 1.2
# Pairs whose gradient is held in the search on the processor.
_HELD_PAIRS = 50_000_000
# Starts where the clouds are small, and where they are not.
_SMALL_STARTS, _STARTS = 8, 2


@dataclass(frozen=True)
class GromovWasserstein:
    """The plan that changes distances inside the clouds least; where the clouds lie does not matter.

    Minimises the sum of ``(D0[i, j] - D1[k, l])^2 T[i, k] T[j, l]`` over all plans, with squared
    Euclidean distances ``D0`` and ``D1``. The problem is not convex: the result is a local minimum, the best of several
    starts; `Plan.distortion` has its value and a proven lower bound. For other distances couple
    ``embed_distances(D0)`` and ``embed_distances(D1)``. Time grows with the number of pairs
    times the number of features, memory with the samples where pairs are too many to be held.

    Parameters
    ----------
    starts : int, optional
        Searches from different starts; by default 8 for small clouds and 2 for others.
    search_samples : int
        The search looks at no more samples than this of each cloud, drawn by their weights; the exact steps at all.
    seed : int
        Draws these samples and the starts after the third.
    steps : int
        Exact steps after a search, at most; fewer where the loss stays.
    bounded : bool
        Prove a lower bound on the distortion, which is a pass over all distances.
    device : {"auto", "cpu", "cuda"}
    progress : callable, optional
        Called with the stage's name and the share of it that is done.

    Examples
    --------
    A cloud, turned by a quarter and shuffled:

    >>> from driftfit.transport.solve import transport
    >>> x = np.random.default_rng(0).normal(size=(30, 2)) * [3.0, 1.0] + np.arange(30)[:, None] ** 0.5
    >>> order = np.random.default_rng(1).permutation(30)
    >>> plan = transport(x, x[order] @ [[0.0, 1.0], [-1.0, 0.0]], solver=GromovWasserstein())
    >>> bool((order[plan.cols] == plan.rows).all()), round(plan.distortion.value, 9)
    (True, 0.0)
    """

    starts: int | None = None
    search_samples: int = 2_000
    seed: int = 0
    steps: int = 60
    bounded: bool = True
    device: str = "auto"
    progress: Progress | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.starts is not None and self.starts < 1:
            raise InputError(f"starts must be at least 1, got {self.starts!r}")
        if self.search_samples < 2:
            raise InputError(f"search_samples must be at least 2, got {self.search_samples!r}")
        if self.steps < 1:
            raise InputError(f"steps must be at least 1, got {self.steps!r}")

    def solve(self, problem: Problem) -> Solution:
        return _solved(problem, self)


def _solved(problem: Problem, settings: GromovWasserstein) -> Solution:
    problem = placed(problem, settings.device) if problem.squared else problem.to_host()
    return among_carriers(problem, lambda carried: _merged(carried, settings))


def _merged(problem: Problem, settings: GromovWasserstein) -> Solution:
    """Equal samples are one: what tells them apart is their number only."""
    collapsed = None if problem.on_device else collapse(problem)
    if collapsed is None:
        return _best(problem, settings)
    return collapsed.spread(_best(collapsed.problem, settings))


def _best(problem: Problem, settings: GromovWasserstein) -> Solution:
    clouds = Clouds.of(problem)
    best: tuple[Entries, tuple[float, ...], str] | None = None
    names = list(_start_names(problem.shape, settings))
    for number, name in enumerate(names):
        moment = _START[name.split()[0]](clouds, settings, number)
        beaten = np.inf if best is None else best[1][-1]
        entries, history = _descended(clouds, moment, settings, beaten)
        if best is None or history[-1] < best[1][-1]:
            best = entries, history, name
        if settings.progress is not None:
            settings.progress("starts", (number + 1) / len(names))
    if best is None:
        raise InputError("starts must be at least 1")
    entries, history, name = best
    rows, cols, mass = entries
    bounds = {"none": 0.0}
    if settings.bounded:
        bounds = {"moments": clouds.least_loss(), "distances": distance_bound(clouds.first, clouds.second)}
    bound = max(bounds, key=lambda kind: bounds[kind])
    distortion = Distortion(
        value=clouds.in_given_units(clouds.loss(rows, cols, mass)),
        lower=clouds.in_given_units(bounds[bound]),
        bound=bound,
        history=tuple(clouds.in_given_units(value) for value in history),
        start=name,
    )
    return Solution(rows, cols, mass, distortion=distortion)


def _start_names(shape: tuple[int, int], settings: GromovWasserstein) -> Iterator[str]:
    small = shape[0] * shape[1] <= SMALL_PAIRS
    count = settings.starts or (_SMALL_STARTS if small else _STARTS)
    names = ["annealed", "axes", "independent"]
    yield from names[:count]
    yield from (f"signs {number}" for number in range(1, count - len(names) + 1))


def _annealed(clouds: Clouds, settings: GromovWasserstein, number: int) -> Any:
    """The cross moment after a search with falling entropy, on a sample where there are many."""
    n, m = len(clouds.first.x), len(clouds.second.x)
    width = clouds.first.x.shape[1], clouds.second.x.shape[1]
    rows = _drawn(clouds.first.weights, settings, "first")
    cols = _drawn(clouds.second.weights, settings, "second")
    whole = len(rows) == n and len(cols) == m and max(width) <= _COMPONENTS
    small = clouds if whole else clouds.sample(rows, cols, _COMPONENTS)
    moment = _no_moment(small)
    g = None
    for step, strength in enumerate(np.geomspace(_FIRST, _LAST, _STRENGTHS), start=1):
        problem, deviation = small.linearised(moment)
        if deviation == 0.0:
            break
        table = problem.table(apart=True)
        if fits_on_device(problem) if problem.on_device else problem.shape[0] * problem.shape[1] <= _HELD_PAIRS:
            table = HeldTable.of(table)
        epsilon = float(strength) * deviation
        weights = small.first.weights, small.second.weights
        g = column_potential(table, weights, epsilon, g, sweeps=_SWEEPS, tolerance=_OFF)
        moment = _smooth_moment(small, table, g, epsilon)
        if settings.progress is not None:
            settings.progress("search", step / _STRENGTHS)
    return moment if whole else _padded(moment, width)


def _smooth_moment(clouds: Clouds, table: Any, g: Any, epsilon: float) -> Any:
    total: Any = 0.0
    for part in table_parts(table):
        shares = row_shares(table, part, g, epsilon)
        x1 = clouds.second.x if not is_tensor(shares) else clouds.second.x.to(shares.dtype)
        arrived = shares @ x1
        weighted = clouds.first.weights[part, None] * clouds.first.x[part]
        total = total + weighted.T @ (arrived if not is_tensor(arrived) else arrived.to(weighted.dtype))
    return total


def _axes(clouds: Clouds, settings: GromovWasserstein, number: int) -> Any:
    """Principal axes joined in their order, turned so that both clouds are skewed the same way."""
    skews = [to_numpy((cloud.weights[:, None] * cloud.x**3).sum(0)) for cloud in (clouds.first, clouds.second)]
    size = min(len(skew) for skew in skews)
    return _joined_axes(clouds, np.where(skews[0][:size] * skews[1][:size] < 0, -1.0, 1.0))


def _signs(clouds: Clouds, settings: GromovWasserstein, number: int) -> Any:
    """Principal axes joined in their order, each turned at random."""
    size = min(clouds.first.x.shape[1], clouds.second.x.shape[1])
    rng = np.random.default_rng(derive_seed(settings.seed, "gromov", str(number)))
    return _joined_axes(clouds, rng.choice([-1.0, 1.0], size))


def _independent(clouds: Clouds, settings: GromovWasserstein, number: int) -> Any:
    return _no_moment(clouds)


_START: dict[str, Callable[[Clouds, GromovWasserstein, int], Any]] = {
    "annealed": _annealed,
    "axes": _axes,
    "signs": _signs,
    "independent": _independent,
}


def _joined_axes(clouds: Clouds, signs: Float) -> Any:
    spreads = [
        np.sqrt(to_numpy((cloud.weights[:, None] * cloud.x**2).sum(0))) for cloud in (clouds.first, clouds.second)
    ]
    size = len(signs)
    moment = np.zeros((len(spreads[0]), len(spreads[1])))
    moment[np.arange(size), np.arange(size)] = signs * spreads[0][:size] * spreads[1][:size]
    return beside(clouds.first.x, moment)


def _descended(
    clouds: Clouds, moment: Any, settings: GromovWasserstein, best: float
) -> tuple[Entries, tuple[float, ...]]:
    """Exact steps while the loss falls; what the last one did not improve is not taken.

    A start that is far behind the ``best`` one after some steps, where these are costly, is left.
    """
    costly = len(clouds.first.x) * len(clouds.second.x) > SMALL_PAIRS
    entries: Entries | None = None
    history: list[float] = []
    for step in range(settings.steps):
        problem, _ = clouds.linearised(moment)
        found = optimal_plan(problem)
        candidate = found.rows, found.cols, found.mass
        reached = clouds.moment(*candidate)
        value = clouds.loss(*candidate, reached)
        if entries is not None and not value < history[-1] * (1.0 - _FALL):
            break
        entries, moment = candidate, reached
        history.append(value)
        if costly and step + 1 >= _TRIAL and value > _BEHIND * best:
            break
        if settings.progress is not None:
            settings.progress("exact steps", (step + 1) / settings.steps)
    if entries is None:
        raise InputError("no exact step was made")
    return entries, tuple(history)


def _drawn(weights: Any, settings: GromovWasserstein, which: str) -> NDArray[np.int64]:
    """Numbers of the samples that the search looks at."""
    shares = to_numpy(weights)
    equal = bool(np.ptp(shares) == 0.0)
    if len(shares) <= settings.search_samples and equal:
        return np.arange(len(shares))
    rng = np.random.default_rng(derive_seed(settings.seed, "gromov", which))
    size = min(settings.search_samples, len(shares))
    if equal:
        return np.sort(rng.choice(len(shares), size, replace=False))
    # As many copies as the weight is worth, by evenly spaced marks with one random offset.
    marks = (np.arange(size) + rng.random()) / size
    return np.minimum(np.searchsorted(np.cumsum(shares), marks), len(shares) - 1)


def _no_moment(clouds: Clouds) -> Any:
    return beside(clouds.first.x, np.zeros((clouds.first.x.shape[1], clouds.second.x.shape[1])))


def _padded(moment: Any, shape: tuple[int, int]) -> Any:
    known = to_numpy(moment)
    whole = np.zeros(shape)
    whole[: known.shape[0], : known.shape[1]] = known
    return beside(moment, whole)

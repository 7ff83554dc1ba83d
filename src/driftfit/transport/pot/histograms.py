"""`emd` and `emd2`: the optimal plan between two histograms for given costs, and its cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import SolverError
from driftfit.transport.arrays import has_numba
from driftfit.transport.pot.libraries import Library, RefusedError, gathered, signed
from driftfit.transport.problem import Problem
from driftfit.transport.solvers.exact import Exact
from driftfit.transport.solvers.masters import LinearProgramme
from driftfit.transport.solvers.simplex import TransportTree

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Total masses that differ by this much are two different masses, as in POT.
_SAME_MASS = 1.5e-6
_INFEASIBLE = "Problem infeasible. Check that a and b are in the simplex, and that all costs are finite"


@dataclass(frozen=True, eq=False)
class Found:
    """Entries of a plan with both potentials, feasible for samples without weight too; its cost."""

    rows: Index
    cols: Index
    mass: Float
    u: Float
    v: Float
    cost: float
    warning: str | None = None

    @classmethod
    def nothing(cls, n: int, m: int) -> Found:
        """What POT gives where there is no plan."""
        none = np.zeros(0, np.int64)
        return cls(none, none, np.zeros(0), np.zeros(n), np.zeros(m), 0.0, _INFEASIBLE)

    def plan(self) -> Float:
        plan = np.zeros((len(self.u), len(self.v)))
        np.add.at(plan, (self.rows, self.cols), self.mass)
        return plan

    def centred(self, a: Float, b: Float) -> Found:
        """Potentials shifted so that both sides count the same."""
        total = a.sum() + b.sum()
        shift = (b / total) @ self.v - (a / total) @ self.u if total else 0.0
        return Found(self.rows, self.cols, self.mass, self.u + shift, self.v - shift, self.cost, self.warning)


@signed(
    "a", "b", "M", numItermax=100000, log=False, center_dual=True, numThreads=1, check_marginals=True,
    potentials_init=None,
)  # fmt: skip
def emd(given: SimpleNamespace) -> Any:
    """The optimal plan between two histograms, as `ot.emd` gives it.

    Parameters
    ----------
    a, b : array-like
        Histograms of one total mass; uniform if empty.
    M : array-like or sparse matrix of shape (len(a), len(b))
        Costs; pairs that a sparse matrix does not name are forbidden.
    numItermax : int
        Without effect, which is said where it is below what any solver takes: plans are always optimal.
    log : bool
        Whether to return the cost and both potentials too.
    center_dual : bool
        Whether the potentials are shifted so that both sides count the same.
    numThreads : int or "max"
        Without effect, as in POT.
    check_marginals : bool
        Whether different total masses are an error; else ``b`` is scaled to the mass of ``a``.
    potentials_init : two arrays, optional
        Potentials to start from; the plan is optimal whatever they are. Sparse costs make no use of them.

    Returns
    -------
    plan or (plan, log)
        A dense matrix, or a sparse one where the costs are sparse; ``log`` has ``cost``, ``u``, ``v``, ``warning``
        and ``result_code``.

    Examples
    --------
    >>> emd([0.5, 0.5], [0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    problem = _Histograms(given)
    found = problem.solve(problem.b)
    plan = problem.plan(found)
    return (plan, problem.log(found, found.cost)) if given.log else plan


@signed(
    "a", "b", "M", processes=1, numItermax=100000, log=False, return_matrix=False, center_dual=True, numThreads=1,
    check_marginals=True, potentials_init=None,
)  # fmt: skip
def emd2(given: SimpleNamespace) -> Any:
    """The cost of the optimal plan, as `ot.emd2` gives it; parameters as for `emd`, and two more.

    Several histograms as columns of ``b`` give a list. With ``log`` or ``return_matrix`` each result is a list of the
    cost and the log of `emd`, with the plan as ``G`` where it is asked for; ``processes`` has no effect. Tensors get
    gradients: of the costs the plan, of the histograms the potentials less their means.

    Examples
    --------
    >>> emd2([0.5, 0.5], [0.25, 0.75], [[0.0, 1.0], [1.0, 0.0]])
    0.25
    """
    if given.processes > 1:
        warnings.warn("The 'processes' parameter has no effect", stacklevel=3)
    problem = _Histograms(given)

    def one(b: Float) -> Any:
        found = problem.solve(b)
        cost = problem.differentiable(found)
        if not (given.log or given.return_matrix):
            return cost
        log = problem.log(found, cost)
        if given.return_matrix:
            log["G"] = problem.plan(found)
        return [cost, log]

    return one(problem.b) if problem.b.ndim == 1 else [one(b) for b in problem.b.T]


class _Histograms:
    """What `emd` and `emd2` were given, on the processor and as it came."""

    def __init__(self, given: SimpleNamespace) -> None:
        self.lib, a, b, costs = gathered(given.a, given.b, given.M)
        self.given, self.sparse = given, self.lib.is_sparse(costs)
        n, m = self.shape = int(costs.shape[0]), int(costs.shape[1])
        present = [side for side in (a, b) if side is not None and len(side)]
        # Results are of the type of the first histogram, or of the costs where both are left out.
        self.kind = present[0] if present else costs
        self.inputs = a, b, costs
        self.a, self.b = (uniform_where_empty(self.lib, side, size) for side, size in ((a, n), (b, m)))
        if self.a.shape != (n,) or self.b.shape[0] != m:
            raise RefusedError(
                f"Dimension mismatch: a and b must have {n} and {m} entries like M,"
                f" got {self.a.shape} and {self.b.shape}"
            )
        self.b = check_sums(self.a, self.b, given.check_marginals)
        checked_threads(given.numThreads)
        if given.numItermax < n + m:
            warnings.warn(f"numItermax={given.numItermax} has no effect: the plan is optimal", stacklevel=5)
        if not self.sparse and not self.lib.is_floating(self.kind):
            warnings.warn(
                "Input histogram consists of integer. The transport plan will be casted accordingly, possibly resulting"
                " in a loss of precision; give histograms of floating point numbers",
                stacklevel=5,
            )
        if self.sparse:
            rows, cols, values = self.lib.entries(costs)
            self.rows, self.cols, self.costs = rows.astype(np.int64), cols.astype(np.int64), values.astype(np.float64)
        else:
            self.costs = np.ascontiguousarray(self.lib.host(costs), np.float64)

    def solve(self, b: Float) -> Found:
        if self.sparse:
            found = _optimal_on_pairs((self.rows, self.cols, self.costs), self.shape, self.a, b)
        else:
            found = optimal(self.costs, self.a, b, self.given.potentials_init)
        if found.warning:
            warnings.warn(found.warning, stacklevel=6)
        return found.centred(self.a, b) if self.given.center_dual else found

    def plan(self, found: Found) -> Any:
        if self.sparse:
            return self.lib.coo(found.mass, found.rows, found.cols, self.shape, self.kind)
        return self.lib.like(found.plan(), self.kind)

    def log(self, found: Found, cost: Any) -> dict[str, Any]:
        u, v = (self.lib.like(side, self.kind) for side in (found.u, found.v))
        return {"cost": cost, "u": u, "v": v, "warning": found.warning, "result_code": int(found.warning is None)}

    def differentiable(self, found: Found) -> Any:
        """The cost with its gradients, which are formed where somebody may ask for them."""
        lib, cost = self.lib, self.lib.like(found.cost, self.kind)
        if not lib.wants_gradients(*self.inputs):
            return cost
        u, v = (lib.like(side - side.mean(), self.kind) for side in (found.u, found.v))
        a, b, costs = self.inputs
        sides = tuple((side, gradient) for side, gradient in ((a, u), (b, v)) if side is not None and len(side))
        given, gradients = zip(*sides, (costs, self._by_costs(found)), strict=True)
        return lib.with_gradients(cost, given, gradients)

    def _by_costs(self, found: Found) -> Any:
        """The plan, as entries of all the pairs that sparse costs name."""
        if not self.sparse:
            return self.plan(found)
        mass = sp.csr_array((found.mass, (found.rows, found.cols)), shape=self.shape)
        return self.lib.coo(mass[self.rows, self.cols], self.rows, self.cols, self.shape, self.kind)


def uniform_where_empty(lib: Library, side: Any, size: int) -> Float:
    """A histogram on the processor."""
    if side is None or len(side) == 0:
        return np.full(size, 1.0 / size)
    return np.asarray(lib.host(side), dtype=np.float64)


def check_sums(a: Float, b: Float, checked: bool = True) -> Float:
    """The second histogram, or each column of it, scaled to the mass of the first.

    >>> check_sums(np.ones(2), np.full(2, 2.0), checked=False).tolist()
    [1.0, 1.0]
    """
    total0, total1 = a.sum(), b.sum(axis=0)
    if checked and not (np.abs(total0 - total1) < _SAME_MASS).all():
        raise RefusedError(f"a and b vector must have the same sum, got {total0!r} and {total1!r}; scale one of them")
    return np.asarray(b * (total0 / total1))


def checked_threads(number: Any) -> None:
    """POT's word on a number of threads, which has no effect there either."""
    if number is None or (isinstance(number, str) and number.lower() == "max"):
        number = -1
    elif not isinstance(number, int) or number < 1:
        raise RefusedError(f'numThreads should either be "max" or a strictly positive integer, got {number!r}')
    if number != 1:
        warnings.warn("The 'numThreads' parameter is deprecated and has no effect", DeprecationWarning, stacklevel=6)


def optimal(costs: Float, a: Float, b: Float, start: Any = None) -> Found:
    """The optimal plan between histograms of one mass for a matrix of costs.

    >>> optimal(np.array([[0.0, 1.0]]), np.ones(1), np.array([0.25, 0.75])).cost
    0.75
    """
    if not _feasible(a, b) or not (np.isfinite(costs.sum()) or np.isfinite(costs).all()):
        return Found.nothing(*costs.shape)
    problem = Problem.from_costs(costs, a, b, start)
    solution = Exact(device="cpu").solve(problem)
    mass, unit = solution.mass * a.sum(), problem.unit
    first = np.zeros(len(a)) if solution.potential0 is None else solution.potential0 * unit
    reduced = costs - first[:, None]
    v = (reduced if problem.carried else reduced[a > 0]).min(axis=0)
    # Over all columns: those without weight bind rows without weight.
    u = first if problem.carried else (costs - v).min(axis=1)
    with np.errstate(over="ignore"):  # a cost beyond the range of float64 is infinite
        cost = float(mass @ costs[solution.rows, solution.cols])
    return Found(solution.rows, solution.cols, mass, u, v, cost)


def _optimal_on_pairs(pairs: tuple[Index, Index, Float], shape: tuple[int, int], a: Float, b: Float) -> Found:
    """The optimal plan on some pairs; nothing where they admit none."""
    rows, cols, costs = pairs
    if not _feasible(a, b) or not np.isfinite(costs).all():
        return Found.nothing(*shape)
    # Of several costs of one pair the least counts.
    numbers = rows * shape[1] + cols
    order = np.lexsort((costs, numbers))
    order = order[np.diff(numbers[order], prepend=-1) > 0]
    rows, cols, costs, numbers = rows[order], cols[order], costs[order], numbers[order]
    # Samples without weight stay out, and get the largest potentials that are feasible.
    carried = np.flatnonzero((a[rows] > 0) & (b[cols] > 0))
    (some0, r), (some1, c) = (np.unique(side[carried], return_inverse=True) for side in (rows, cols))
    if len(some0) < np.count_nonzero(a) or len(some1) < np.count_nonzero(b):
        return Found.nothing(*shape)
    master = (TransportTree if has_numba() else LinearProgramme)(a[some0], b[some1])
    master.add(r, c, costs[carried])
    try:
        master.begin(np.zeros(len(some0)), np.zeros(len(some1)))
        master.improve()
    except SolverError:
        return Found.nothing(*shape)
    entry_rows, entry_cols, mass = master.entries()
    entry_rows, entry_cols = some0[entry_rows], some1[entry_cols]
    u, v = np.full(shape[0], np.inf), np.full(shape[1], np.inf)
    u[some0], v[some1] = master.potentials
    for first, second, place, other in ((u, v, rows, cols), (v, u, cols, rows)):
        free = np.isfinite(first[place]) & ~np.isfinite(second[other])
        np.minimum.at(second, other[free], costs[free] - first[place[free]])
        second[np.isinf(second)] = 0.0
    at = np.searchsorted(numbers, entry_rows * shape[1] + entry_cols)
    return Found(entry_rows, entry_cols, mass, u, v, float(mass @ costs[at]))


def _feasible(a: Float, b: Float) -> bool:
    return all(bool(np.isfinite(side).all() and side.min() >= 0 and side.sum() > 0) for side in (a, b))

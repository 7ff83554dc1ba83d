"""`transport`: from two clouds to a certified plan, by the solver that suits them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from driftfit.errors import InputError, SolverError
from driftfit.transport.certificate import proof
from driftfit.transport.costs.table import checked
from driftfit.transport.plan import Plan
from driftfit.transport.problem import Problem, Solution, Solver, placed, start_between, wants_gpu
from driftfit.transport.solvers.couplings import Sliced
from driftfit.transport.solvers.dense import DENSE, assign_samples, suits
from driftfit.transport.solvers.exact import SMALL_PAIRS, Exact
from driftfit.transport.solvers.hierarchical import Hierarchical

# Exact plans are chosen while they are expected to take less than this.
_PATIENCE = 600.0
# Seconds for each pair, measured on two cores; the benchmark shows the figures behind them.
_AUCTION_PAIR, _SIMPLEX_PAIR, _PRICED_PAIR, _GPU_PAIR = 1.5e-8, 6e-7, 1.5e-7, 2e-9
# The same for an auction that ends at a gap of some percent, on two cores and on a GPU.
_ROUGH_PAIR, _GPU_ROUGH_PAIR = 5e-9, 4e-11
# The gap to be proven where a GPU looks at all pairs in a few seconds, and the time that may take where ties abound.
_GAP, _GAP_SECONDS = 0.01, 300.0
# Multiplications per second of a float32 matrix product on two cores, and of a float64 one on a GPU.
_PROCESSOR_RATE, _GPU_RATE = 1e11, 2.5e13
# Passes over the costs where they are not kept.
_PASSES = 6
# Samples of each cloud up to which all costs are assigned at once on the processor; a GPU would wait for its launches.
_SMALL = 1_500


def transport(
    x0: Any,
    x1: Any,
    weights0: Any = None,
    weights1: Any = None,
    solver: Solver | None = None,
    *,
    cost: Any = None,
    start: Any = None,
) -> Plan:
    """Couple two clouds of samples at least cost.

    Parameters
    ----------
    x0, x1 : array-like, sparse or torch tensors, shapes (n, d) and (m, d)
        The samples of the two domains; the sizes may differ. Tensors on a GPU stay there.
    weights0, weights1 : array-like, optional
        Non-negative weights of the samples, scaled to sum 1; uniform by default.
    solver : Solver, optional
        `Exact()`, `Sinkhorn()`, `Sliced()` or a coupling such as `RandomCoupling()`; by default `choose_solver`
        picks one.
    cost : Cost or callable, optional
        `SquaredEuclidean()` by default, `PowerMetric(...)`, or a function ``(x0, x1) -> matrix``.
    start : Plan, (Plan, x0), two arrays or array, optional
        A plan between samples that have moved a little since, both its potentials, or the second one: `Exact` begins
        there. With the first samples it was made for, a plan serves for others too, also of another number. A start
        changes the time, not the cost.

    Returns
    -------
    Plan
        A sparse plan of mass 1 with its `Certificate`.

    Examples
    --------
    >>> plan = transport([[0.0], [1.0]], [[5.0], [4.0]])
    >>> plan.rows.tolist(), plan.cols.tolist(), plan.cost
    ([0, 1], [1, 0], 16.0)
    >>> plan.certificate.proves_optimal()
    True
    """
    if weights0 is weights1 is solver is cost is None and suits(x0, x1):
        plan = _small(x0, x1, None if start is None else start_between(x0, x1, start))
        if plan is not None:
            return plan
    return solve(Problem.of(x0, x1, weights0, weights1, cost, start), solver)


def _small(x0: Any, x1: Any, start: Any) -> Plan | None:
    """The plan between few samples, by the shortest way there is; ``None`` where it does not serve."""
    started, n = time.perf_counter(), len(x0)
    found = assign_samples(np.asarray(x0, np.float64), np.asarray(x1, np.float64), [n], start)
    return found.plan(0, time.perf_counter() - started, Exact()) if found.proven[0] else None


def solve(problem: Problem, solver: Solver | None = None, *, certified: bool = True) -> Plan:
    """Solve a `Problem` that is already checked and certify the result.

    ``certified=False`` saves the certificate's pass over all pairs.
    """
    if solver is None:
        solver = choose_solver(problem)
    if not isinstance(solver, Solver):
        raise InputError(f"solver must be a value such as Exact() or Sinkhorn(epsilon=0.05), got {solver!r}")
    device = getattr(solver, "device", None)
    if device is not None:
        problem = placed(problem, device)
    started = time.perf_counter()
    solution = solver.solve(problem)
    seconds = time.perf_counter() - started
    if len(solution.mass) == 0 or not np.isfinite(solution.mass).all():
        raise SolverError(f"{solver!r} ended without a plan: its numbers left the range of the arithmetic; use Exact()")
    costs = problem.pair_costs(solution.rows, solution.cols)
    certificate, potentials = proof(problem, solution, seconds, costs) if certified else (None, None)
    problem.forget()
    return Plan(
        rows=solution.rows,
        cols=solution.cols,
        mass=solution.mass,
        shape=problem.shape,
        costs=checked(costs * problem.unit) if problem.exponent else costs,
        certificate=certificate,
        solver=solver,
        distortion=solution.distortion,
        potentials=potentials,
    )


@dataclass(frozen=True)
class Estimate:
    """A solver and what it is expected to take: an order of magnitude, not a promise.

    ``seconds``: time on two cores (or on the GPU that was found), the certificate included. ``memory``: bytes beyond
    the samples themselves. ``reason``: why this solver.
    """

    solver: Solver
    seconds: float
    memory: float
    reason: str

    def __str__(self) -> str:
        return (
            f"{type(self.solver).__name__}: about {self.seconds:.2g} s and {self.memory / 2**30:.2g} GiB; {self.reason}"
        )


def choose_solver(problem: Problem) -> Solver:
    """Exact while that takes minutes at most, an approximation in linear memory beyond.

    >>> import numpy as np
    >>> choose_solver(Problem.of(np.zeros((5, 2)), np.ones((7, 2))))
    Exact(max_iterations=1000000000, memory=2147483648.0, device='auto')
    """
    return estimate(problem).solver


def estimate(problem: Problem, solver: Solver | None = None) -> Estimate:
    """What transport will take, before it starts; without a solver, the one that would be chosen.

    >>> import numpy as np
    >>> print(estimate(Problem.of(np.zeros((1000, 2)), np.ones((1000, 2)))))
    Exact: about 0.015 s and 0.015 GiB; few samples of equal weight: all pairs are assigned
    """
    if isinstance(solver, Hierarchical):
        return _hierarchical(problem, solver, "as asked")
    if isinstance(solver, Sliced):
        return _sliced(problem, solver, "as asked")
    exact = _exact(problem, solver if isinstance(solver, Exact) else Exact())
    if solver is not None:
        return Estimate(solver, exact.seconds, exact.memory, exact.reason if isinstance(solver, Exact) else "as asked")
    if exact.seconds <= _PATIENCE:
        return exact
    late = f"an exact plan would take about {exact.seconds:.2g} s"
    if problem.squared:
        quick = problem.uniform and (problem.on_device or wants_gpu(problem))
        return _hierarchical(problem, Hierarchical(gap=_GAP, seconds=_GAP_SECONDS) if quick else Hierarchical(), late)
    return _sliced(problem, Sliced(), late)


def _exact(problem: Problem, solver: Exact) -> Estimate:
    n, m = problem.shape
    pairs, work = float(n) * m, float(n) * m * problem.x0.shape[1]
    lists = 800.0 * n
    if problem.on_device or (solver.device == "auto" and wants_gpu(problem)):
        return Estimate(solver, pairs * _GPU_PAIR + 2 * work / _GPU_RATE + 0.5, 14.0 * pairs, "a GPU is at hand")
    if problem.uniform and n <= DENSE:
        return Estimate(
            solver, pairs * _AUCTION_PAIR, 16.0 * pairs, "few samples of equal weight: all pairs are assigned"
        )
    if problem.uniform:
        kept = 4.0 * pairs <= solver.memory
        passes = 1 if kept else _PASSES
        seconds = pairs * _AUCTION_PAIR + (passes + 2) * work / _PROCESSOR_RATE
        memory = lists + (4.0 * pairs if kept else 64 * 2.0**20)
        reason = "equal sizes and uniform weights: an assignment problem"
        return Estimate(solver, seconds, memory if kept else memory + lists, reason)
    if pairs <= SMALL_PAIRS:
        return Estimate(solver, pairs * _SIMPLEX_PAIR, 40.0 * pairs, "small enough for the simplex on all pairs")
    kept = 8.0 * pairs <= solver.memory
    seconds = pairs * _PRICED_PAIR + (4 if kept else 12) * work / _PROCESSOR_RATE
    return Estimate(solver, seconds, lists + (8.0 * pairs if kept else 2.0**28), "candidate pairs with pricing")


def _hierarchical(problem: Problem, solver: Hierarchical, reason: str) -> Estimate:
    n = max(problem.shape)
    if problem.uniform and (solver.gap is not None or solver.seconds is not None):
        return _refined(problem, solver, reason)
    per_pass = n * min(solver.block, n) * (_AUCTION_PAIR + problem.x0.shape[1] / _PROCESSOR_RATE)
    return Estimate(solver, (1 + solver.passes) * per_pass * 1.5, 400.0 * n + 32.0 * solver.block**2, reason)


def _refined(problem: Problem, solver: Hierarchical, reason: str) -> Estimate:
    """All pairs are looked at some times, and once more for the certificate."""
    n, m = problem.shape
    pairs, work = float(n) * m, float(n) * m * problem.x0.shape[1]
    if problem.on_device or (solver.device != "cpu" and wants_gpu(problem)):
        seconds, proof, memory = pairs * _GPU_ROUGH_PAIR + 0.5, 2 * work / _GPU_RATE, 600.0 * n + 2.0**32
    else:
        seconds, memory = pairs * _ROUGH_PAIR + _PASSES * work / _PROCESSOR_RATE, 1000.0 * n + 2.0**31
        proof = 2 * work / _PROCESSOR_RATE
    limit = seconds if solver.seconds is None else solver.seconds
    return Estimate(solver, min(seconds, limit) + proof, memory, reason)


def _sliced(problem: Problem, solver: Sliced, reason: str) -> Estimate:
    n = sum(problem.shape)
    seconds = solver.n_directions * n * (3e-7 + 4e-9 * problem.x0.shape[1])
    return Estimate(solver, seconds, 200.0 * n, reason)


def optimal_plan(problem: Problem) -> Solution:
    """The optimal plan, with a potential only where the solver that suits the problem gives one.

    >>> optimal_plan(Problem.of([[0.0], [1.0]], [[1.5], [0.5]])).cols.tolist()
    [1, 0]
    """
    n = problem.shape[0]
    if not problem.uniform or n > _SMALL:
        return choose_solver(problem).solve(problem)
    rows, cols = linear_sum_assignment(problem.cost_matrix())
    return Solution(rows.astype(np.int64), cols.astype(np.int64), np.full(n, 1.0 / n))

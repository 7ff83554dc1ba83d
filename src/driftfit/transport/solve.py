"""`transport`: from two clouds to a certified plan."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from driftfit.errors import InputError, SolverError
from driftfit.transport.plan import Plan
from driftfit.transport.problem.certificate import certify
from driftfit.transport.problem.cost_table import checked
from driftfit.transport.problem.devices import placed
from driftfit.transport.problem.problem import Problem, Solver
from driftfit.transport.solvers.automatic import choose_solver

__all__ = ["solve", "transport"]


def transport(
    x0: Any,
    x1: Any,
    weights0: Any = None,
    weights1: Any = None,
    solver: Solver | None = None,
    *,
    cost: Any = None,
) -> Plan:
    """Couple two clouds of samples at least cost.

    Parameters
    ----------
    x0, x1 : array-like, sparse or torch tensors, shapes (n, d) and (m, d)
        The samples of the two domains; the sizes may differ. Tensors on a GPU stay there.
    weights0, weights1 : array-like, optional
        Non-negative weights of the samples, scaled to sum 1; uniform by default.
    solver : Solver, optional
        `Exact()`, `Sinkhorn()`, `Greenkhorn()`, `LowRank()`, `Sliced()` or a coupling
        such as `RandomCoupling()`; by default `choose_solver` picks one.
    cost : Cost or callable, optional
        `SquaredEuclidean()` by default, `PowerMetric(...)`, or a function ``(x0, x1) -> matrix``.

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
    return solve(Problem.of(x0, x1, weights0, weights1, cost), solver)


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
    certificate = certify(problem, solution, seconds, costs) if certified else None
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
    )

"""POT's exact entry points with driftfit's solver below them: one import line is the switch.

``from driftfit.transport.pot import emd, emd2`` in place of ``from ot import emd, emd2``, and
``solve_sample`` in place of ``ot.solve_sample``; the parameters are POT's, and so are the returned
values. POT itself is not needed. Plans are always optimal to machine precision: ``numItermax``,
``numThreads``, ``processes`` and ``potentials_init`` are accepted and have no effect. Not taken, with an
error that says so: tensors (there are no gradients here), sparse cost matrices, and any regularised or
unbalanced problem, for which there is ``transport(x0, x1, solver=Sinkhorn(...))``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import is_tensor
from driftfit.transport.costs.cost import PowerMetric, SquaredEuclidean
from driftfit.transport.plan import Plan
from driftfit.transport.problem import Problem, Solution
from driftfit.transport.solve import solve
from driftfit.transport.solvers.exact import Exact

Float = NDArray[np.float64]

# Total masses that differ by this much are two different masses, as in POT.
_SAME_MASS = 1.5e-6


def emd(
    a: Any,
    b: Any,
    M: Any,
    numItermax: int = 100000,
    log: bool = False,
    center_dual: bool = True,
    numThreads: int | str = 1,
    check_marginals: bool = True,
    potentials_init: Any = None,
) -> Any:
    """The optimal plan between two histograms, as `ot.emd` gives it.

    Parameters
    ----------
    a, b : array-like
        Histograms of one total mass; uniform if empty.
    M : array-like of shape (len(a), len(b))
        Costs.
    log : bool
        Whether to return the cost and both potentials too.
    center_dual : bool
        Whether the potentials are shifted so that both sides count the same.
    check_marginals : bool
        Whether different total masses are an error; else ``b`` is scaled to the mass of ``a``.
    numItermax, numThreads, potentials_init
        Without effect.

    Returns
    -------
    plan or (plan, log)
        A dense matrix; ``log`` has ``cost``, ``u``, ``v``, ``warning`` and ``result_code``.

    Examples
    --------
    >>> emd([0.5, 0.5], [0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    costs, w0, w1, dtype = _checked(a, b, M, check_marginals)
    solution = Exact().solve(Problem.from_costs(costs, w0, w1))
    plan = _dense(solution, costs.shape, float(w0.sum()))
    if not log:
        return plan.astype(dtype, copy=False)
    u, v = _potentials(costs, w0, w1, solution, center_dual)
    with np.errstate(over="ignore"):  # a cost beyond the range of float64 is infinite
        cost = float((plan * costs).sum())
    found = {"cost": cost, "u": u, "v": v, "warning": None, "result_code": 1}
    return plan.astype(dtype, copy=False), found


def _signature_of_emd2() -> inspect.Signature:
    """Those of `emd` and two more, in POT's order."""
    parameters = list(inspect.signature(emd).parameters.values())
    for place, name, default in ((3, "processes", 1), (6, "return_matrix", False)):
        parameters.insert(place, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return inspect.Signature(parameters)


def emd2(*arguments: Any, **options: Any) -> Any:
    """The cost of the optimal plan, as `ot.emd2` gives it; parameters as for `emd`, and two more.

    Several histograms as columns of ``b`` give a list. With ``log`` or ``return_matrix`` the second value returned
    is the log of `emd`, with the plan as ``G`` where it is asked for; ``processes`` has no effect.

    Examples
    --------
    >>> emd2([0.5, 0.5], [0.25, 0.75], [[0.0, 1.0], [1.0, 0.0]])
    0.25
    """
    given = _EMD2.bind(*arguments, **options)
    given.apply_defaults()
    asked = dict(given.arguments)
    log, return_matrix = asked.pop("log"), asked.pop("return_matrix")
    asked.pop("processes")
    targets = np.asarray(asked["b"], dtype=np.float64)
    if targets.ndim == 2:
        return [emd2(**{**asked, "b": target, "log": log, "return_matrix": return_matrix}) for target in targets.T]
    plan, found = emd(**asked, log=True)
    if return_matrix:
        found["G"] = plan
    cost = found["cost"]
    return (cost, found) if log or return_matrix else cost


_EMD2 = _signature_of_emd2()
emd2.__signature__ = _EMD2  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class SampleResult:
    """What `solve_sample` found, by the names of POT's result.

    Attributes
    ----------
    value : float
        Cost of the plan; ``value_linear`` is the same number.
    result : Plan
        The plan of mass 1 with its certificate, as `driftfit.transport.transport` returns it.
    mass : float
        The sum of the weights that were given.
    """

    value: float
    result: Plan = field(repr=False)
    mass: float = 1.0

    @property
    def value_linear(self) -> float:
        return self.value

    @property
    def plan(self) -> Float:
        """The plan as a full matrix."""
        return self.mass * self.result.todense()

    @property
    def sparse_plan(self) -> sp.csr_array:
        return self.mass * self.result.tosparse()

    @property
    def status(self) -> str:
        certificate = self.result.certificate
        return "Optimal" if certificate is not None and certificate.proves_optimal() else "Not proven optimal"


def solve_sample(X_a: Any, X_b: Any, a: Any = None, b: Any = None, metric: str = "sqeuclidean", **others: Any) -> Any:
    """Exact transport between samples, as `ot.solve_sample` without regularisation.

    Parameters
    ----------
    X_a, X_b : array-like
        Samples; costs are never held as a whole where they are many.
    a, b : array-like, optional
        Weights of one sum, which is the mass of the plan; 1 where they are not given.
    metric : str
        ``"sqeuclidean"`` or any metric of SciPy's ``cdist``.
    **others
        Further parameters of `ot.solve_sample`: taken where they are ``None``, its default or without effect on an
        exact plan, refused else.

    Examples
    --------
    >>> found = solve_sample([[0.0], [1.0]], [[1.5], [0.5]])
    >>> found.value, found.status
    (0.25, 'Optimal')
    """
    refused = {name: value for name, value in others.items() if not _harmless(name, value)}
    if refused:
        raise InputError(
            f"solve_sample finds exact, balanced plans and takes no {', '.join(sorted(refused))}, got {refused!r}; "
            "use transport(x0, x1, solver=Sinkhorn(...)) for entropic plans"
        )
    _refuse_tensors(X_a, X_b, a, b)
    cost = SquaredEuclidean() if metric == "sqeuclidean" else PowerMetric(metric)
    sides = [np.ones(1) if side is None else np.asarray(side, dtype=np.float64) for side in (a, b)]
    total = _common_mass(*sides)
    plan = solve(Problem.of(X_a, X_b, a, b, cost), Exact())
    return SampleResult(total * plan.cost, plan, total)


def _harmless(name: str, value: Any) -> bool:
    defaults = {
        "reg_type": "KL", "unbalanced_type": "KL", "rank": 100, "scaling": 0.95, "grad": "autodiff", "debias": False,
        "n_projections": 50, "reg": 0,
    }  # fmt: skip
    without_effect = {"lazy", "batch_size", "n_threads", "max_iter", "plan_init", "potentials_init", "X_init", "tol",
                      "verbose", "random_state"}  # fmt: skip
    return value is None or name in without_effect or (name in defaults and value == defaults[name])


def _checked(a: Any, b: Any, costs: Any, same_mass: bool) -> tuple[Float, Float, Float, Any]:
    """Costs and both histograms, and the type that the plan is to have."""
    _refuse_tensors(a, b, costs)
    if sp.issparse(costs):
        raise InputError("sparse costs are not taken: give every pair a cost, or use ot.emd for missing pairs")
    given = [np.asarray(side) for side in (a, b, costs) if np.size(side)]
    dtype = np.float32 if given and given[0].dtype == np.float32 else np.float64
    matrix = np.asarray(costs, dtype=np.float64)
    if matrix.ndim != 2:
        raise InputError(f"M must be a matrix, got shape {matrix.shape}")
    sides = []
    for name, side, size in (("a", a, matrix.shape[0]), ("b", b, matrix.shape[1])):
        weights = np.full(size, 1.0 / size) if np.size(side) == 0 else np.asarray(side, dtype=np.float64)
        if weights.shape != (size,):
            raise InputError(f"{name} must have {size} entries like M, got shape {weights.shape}")
        sides.append(weights)
    if same_mass:
        _common_mass(*sides)
    return matrix, sides[0], sides[1], dtype


def _common_mass(a: Float, b: Float) -> float:
    """The sum of two histograms, where it is one."""
    total0, total1 = float(a.sum()), float(b.sum())
    if not abs(total0 - total1) < _SAME_MASS:
        raise InputError(f"a and b must have one total mass, got {total0!r} and {total1!r}; scale one of them")
    return total0


def _refuse_tensors(*values: Any) -> None:
    if any(is_tensor(value) for value in values):
        raise InputError("tensors are not taken here: give x.detach().cpu().numpy(), or use transport() on a GPU")


def _dense(solution: Solution, shape: tuple[int, ...], total: float) -> Float:
    plan = np.zeros(shape)
    np.add.at(plan, (solution.rows, solution.cols), solution.mass * total)
    return plan


def _potentials(costs: Float, w0: Float, w1: Float, solution: Solution, centred: bool) -> tuple[Float, Float]:
    """Feasible potentials for all samples, those without weight too."""
    start = np.zeros(len(w0)) if solution.potential0 is None else solution.potential0
    carries = w0 > 0
    v = (costs[carries] - start[carries, None]).min(axis=0)
    # Over all columns: those without weight bind rows without weight.
    u = (costs - v).min(axis=1)
    if centred:
        total = w0.sum() + w1.sum()
        shift = (w1 / total) @ v - (w0 / total) @ u
        u, v = u + shift, v - shift
    return u, v

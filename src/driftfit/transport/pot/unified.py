"""`solve`, `solve_sample` and their batches: one result by the names of POT's."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.extras import has
from driftfit.transport.certificate import certify
from driftfit.transport.costs.cost import Cost, PowerMetric, SquaredEuclidean
from driftfit.transport.plan import Certificate
from driftfit.transport.pot.histograms import check_sums, emd2, uniform_where_empty
from driftfit.transport.pot.libraries import Library, RefusedError, gathered, signed
from driftfit.transport.problem import Problem, Solution
from driftfit.transport.solvers.exact import Exact

Float = NDArray[np.float64]

_METHODS = ("sinkhorn", "sinkhorn_log", "mm", "lbfgsb")
_BATCH = {"method": ("auto", "proximal", "log_sinkhorn", "sinkhorn"), "reg_type": ("kl", "entropy"),
          "grad": ("detach", "autodiff", "last_step", "envelope")}  # fmt: skip


@dataclass(eq=False)
class Result:
    """A solution by the names of POT's `OTResult`, where the input lives.

    Attributes
    ----------
    value : number or array
        Cost of the plan; ``value_linear`` is the same number.
    potentials : two arrays
    status : str
    log : dict, optional
    """

    value: Any
    potentials: tuple[Any, Any]
    status: str = "Converged"
    log: dict[str, Any] | None = None
    value_quad: None = field(default=None, repr=False)
    lazy_plan: None = field(default=None, repr=False)
    # POT's helpers look for the library here; without one they take NumPy's way, which serves.
    _backend: None = field(default=None, repr=False)
    _lib: Library = field(default_factory=Library, repr=False)
    _dense: Any = field(default=None, repr=False)
    _sparse: Any = field(default=None, repr=False)
    _proof: Callable[[], Certificate] | None = field(default=None, repr=False)

    @property
    def value_linear(self) -> Any:
        return self.value

    @property
    def plan(self) -> Any:
        """The plan as a full matrix."""
        if self._dense is None:
            self._dense = self._lib.dense(self._sparse)
        return self._dense

    @property
    def sparse_plan(self) -> Any:
        return self._lib.csr(self._dense) if self._sparse is None else self._sparse

    @property
    def potential_a(self) -> Any:
        return self.potentials[0]

    @property
    def potential_b(self) -> Any:
        return self.potentials[1]

    @property
    def marginal_a(self) -> Any:
        return self.plan.sum(-1)

    @property
    def marginal_b(self) -> Any:
        return self.plan.sum(-2)

    @property
    def marginals(self) -> tuple[Any, Any]:
        return self.marginal_a, self.marginal_b

    @cached_property
    def certificate(self) -> Certificate | None:
        """The proof, made when somebody asks for it, of a plan between samples; its figures are for a mass of 1."""
        return None if self._proof is None else self._proof()


@signed(
    "M", a=None, b=None, reg=None, c=None, reg_type="KL", unbalanced=None, unbalanced_type="KL", method=None,
    n_threads=1, max_iter=None, plan_init=None, potentials_init=None, tol=None, verbose=False, grad="autodiff",
)  # fmt: skip
def solve(given: SimpleNamespace) -> Any:
    """Transport between two histograms, as `ot.solve`: exact here, regularised or unbalanced by POT.

    Examples
    --------
    >>> solve(np.array([[0.0, 1.0], [1.0, 0.0]])).value
    0.0
    """
    if given.method is not None and given.method not in _METHODS:
        raise RefusedError(f"Unknown method={given.method} for solve, must be in {list(_METHODS)}")
    if given.reg or given.unbalanced is not None:
        return _by_pot("solve", given, "reg" if given.reg else "unbalanced")
    value, log = emd2(
        given.a, given.b, given.M, numItermax=given.max_iter or 1000000, log=True, return_matrix=True,
        numThreads=given.n_threads, potentials_init=given.potentials_init,
    )  # fmt: skip
    lib, _ = gathered(given.M)
    plan = {"_sparse" if lib.is_sparse(given.M) else "_dense": log["G"]}
    return Result(value, (log["u"], log["v"]), log["warning"] or "Converged", _lib=lib, **plan)


@signed(
    "X_a", "X_b", a=None, b=None, metric="sqeuclidean", reg=None, c=None, reg_type="KL", unbalanced=None,
    unbalanced_type="KL", lazy=False, batch_size=None, method=None, n_threads=1, max_iter=None, plan_init=None,
    rank=100, scaling=0.95, potentials_init=None, X_init=None, tol=None, verbose=False, grad="autodiff",
    random_state=None, debias=False, n_projections=50, projections=None, scaler=None,
)  # fmt: skip
def solve_sample(given: SimpleNamespace) -> Any:
    """Transport between samples, as `ot.solve_sample`: exact here, all else by POT.

    Costs are never held as a whole where samples are many; ``lazy`` makes no difference. Tensors get gradients of the
    value by samples and weights. ``metric`` is one of SciPy's ``cdist``.

    Examples
    --------
    >>> found = solve_sample([[0.0], [1.0]], [[1.5], [0.5]])
    >>> found.value, found.certificate.proves_optimal()
    (0.25, True)
    """
    for name in ("reg", "unbalanced", "method", "debias", "scaler"):
        if vars(given)[name]:
            return _by_pot("solve_sample", given, name)
    lib, x0, x1, a, b = gathered(given.X_a, given.X_b, given.a, given.b)
    w0, w1 = (uniform_where_empty(lib, side, x.shape[0]) for side, x in ((a, x0), (b, x1)))
    w1, total = check_sums(w0, w1), float(w0.sum())
    cost: Cost = SquaredEuclidean() if given.metric == "sqeuclidean" else PowerMetric(given.metric)
    at_home = given.metric == "sqeuclidean" and getattr(x0, "is_cuda", False)
    clouds = (x0.detach(), x1.detach()) if at_home else (lib.host(x0), lib.host(x1))
    problem = Problem.of(*clouds, w0, w1, cost, given.potentials_init)
    found = Exact().solve(problem)
    kind = x0 if a is None else a
    u, v = _potentials(problem, found, w0, w1)
    value = _value(lib, given.metric, (x0, x1), (a, b), (problem, found, u, v), total)
    potentials = lib.like(u, kind), lib.like(v, kind)
    plan = lib.coo(found.mass * total, found.rows, found.cols, problem.shape, kind)
    return Result(value, potentials, _lib=lib, _sparse=plan, _proof=lambda: certify(problem, found, 0.0))


def _potentials(problem: Problem, found: Solution, w0: Float, w1: Float) -> tuple[Float, Float]:
    """Feasible potentials for all samples, both sides counting the same."""
    unit, (n, m) = problem.unit, problem.shape
    u = np.zeros(n) if found.potential0 is None else found.potential0
    v, low = np.full(m, np.inf), np.empty(n)
    host = problem.to_host()
    for part, costs in host.cost_blocks():
        carried = w0[part] > 0
        np.minimum(v, (costs[carried] - u[part][carried, None]).min(axis=0, initial=np.inf), out=v)
    if problem.carried:
        low = u
    else:
        for part, costs in host.cost_blocks():
            low[part] = (costs - v).min(axis=1)
    total = w0.sum() + w1.sum()
    shift = (w1 / total) @ v - (w0 / total) @ low
    return (low + shift) * unit, (v - shift) * unit


def _value(
    lib: Library, metric: Any, samples: tuple[Any, Any], sides: tuple[Any, Any], solved: tuple[Any, ...], total: float
) -> Any:
    """The cost of the plan, with gradients by samples and weights where somebody may ask for them."""
    problem, found, u, v = solved
    (x0, x1), (a, b) = samples, sides
    rows, cols, mass = found.rows, found.cols, found.mass * total
    value = lib.like(float(mass @ problem.pair_costs(rows, cols)) * problem.unit, x0 if a is None else a)
    if lib.wants_gradients(x0, x1):
        value = (
            lib.like(mass, x0) * _pair_costs(lib, metric, x0[lib.places(rows, x0)], x1[lib.places(cols, x1)])
        ).sum()
    given = [(side, lib.like(p - p.mean(), side)) for side, p in ((a, u), (b, v)) if side is not None]
    return lib.with_gradients(value, *zip(*given, strict=True)) if given else value


def _pair_costs(lib: Library, metric: Any, x: Any, y: Any) -> Any:
    """Costs of aligned rows, differentiable."""
    if metric == "sqeuclidean":
        return ((x - y) ** 2).sum(1)
    if metric == "euclidean":
        return lib.length(x - y)
    if metric == "cityblock":
        return abs(x - y).sum(1)
    if metric == "cosine":
        return 1.0 - (x * y).sum(1) / (lib.length(x) * lib.length(y))
    raise InputError(
        f"gradients by samples are known for the metrics sqeuclidean, euclidean, cityblock and cosine, got {metric!r};"
        " detach the samples, or give the costs to solve()"
    )


@signed(
    "M", reg=None, a=None, b=None, max_iter=1000, tol=1e-5, method="auto", inner_iter=1, inner_reg=1e-3,
    reg_type="entropy", grad="envelope",
)  # fmt: skip
def solve_batch(given: SimpleNamespace) -> Any:
    """Transport for each matrix of costs of a batch, as `ot.solve_batch`; exact, where POT iterates up to ``tol``.

    Examples
    --------
    >>> solve_batch(np.array([[[0.0, 1.0], [1.0, 0.0]]])).value.tolist()
    [0.0]
    """
    _check_batch(given)
    if given.reg:
        return _by_pot("solve_batch", given, "reg")
    lib, costs, a, b = gathered(given.M, given.a, given.b)
    found = [
        emd2([] if a is None else a[k], [] if b is None else b[k], costs[k], log=True, return_matrix=True)
        for k in range(costs.shape[0])
    ]
    logs = [log for _, log in found]
    value = lib.xp.stack([np.float64(one) if isinstance(one, float) else one for one, _ in found])
    if given.grad == "detach":
        value = lib.like(lib.host(value), costs)
    plan, *potentials = (lib.xp.stack([log[name] for log in logs]) for name in ("G", "u", "v"))
    return Result(value, (potentials[0], potentials[1]), log={"n_iter": 0}, _lib=lib, _dense=plan)


@signed(
    "X_a", "X_b", reg=None, a=None, b=None, metric="sqeuclidean", p=2, max_iter=1000, tol=1e-5, method="auto",
    inner_iter=1, inner_reg=1e-3, reg_type="entropy", grad="envelope",
)  # fmt: skip
def solve_sample_batch(given: SimpleNamespace) -> Any:
    """Transport between each two sets of samples of a batch, as `ot.solve_sample_batch`; exact.

    ``metric`` is ``"sqeuclidean"``, ``"euclidean"`` or, with ``p``, ``"minkowski"``.

    Examples
    --------
    >>> solve_sample_batch(np.array([[[0.0], [1.0]]]), np.array([[[1.5], [0.5]]])).value.tolist()
    [0.25]
    """
    _check_batch(given)
    if given.reg or given.metric.lower() == "kl":
        return _by_pot("solve_sample_batch", given, "reg" if given.reg else "metric")
    lib, x0, x1 = gathered(given.X_a, given.X_b)
    differences = x0[:, :, None] - x1[:, None]
    metric = given.metric.lower()
    if metric == "minkowski" and given.p != 2:
        costs = (abs(differences) ** given.p).sum(-1) ** (1.0 / given.p)
    elif metric == "sqeuclidean":
        costs = (differences**2).sum(-1)
    elif metric in ("euclidean", "minkowski"):
        costs = lib.length(differences)
    else:
        raise RefusedError(f"Unknown metric: {given.metric}")
    options = {name: value for name, value in vars(given).items() if name not in ("X_a", "X_b", "metric", "p")}
    return solve_batch(costs, **options)


def _check_batch(given: SimpleNamespace) -> None:
    for name, known in _BATCH.items():
        if vars(given)[name] not in known:
            raise RefusedError(f"Unknown {name}: {vars(given)[name]}. Must be one of {list(known)}.")
    if given.method in ("sinkhorn", "log_sinkhorn") and not (given.reg and given.reg > 0):
        raise RefusedError(f"Sinkhorn methods require a strictly positive reg, got {given.reg!r}")


def _by_pot(name: str, given: SimpleNamespace, why: str) -> Any:
    """POT's own answer to what is not exact and balanced."""
    asked = f"{why}={vars(given)[why]!r}"
    if not has("ot"):
        raise InputError(
            f"{name} finds exact, balanced plans; for {asked} install POT (pip install POT), or use"
            " transport(x0, x1, solver=Sinkhorn(...))"
        )
    warnings.warn(f"{name} with {asked} is solved by POT", stacklevel=4)
    return getattr(importlib.import_module("ot"), name)(**vars(given))

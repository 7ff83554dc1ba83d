"""`Problem`: two weighted clouds and a cost, and where it is solved. `Solution`: what a solver hands back."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import check_points, check_same_features, check_weights
from driftfit.errors import InputError
from driftfit.transport.arrays import beside, has_numba, is_tensor, to_numpy
from driftfit.transport.costs.cost import Cost, PowerMetric, Precomputed, SquaredEuclidean, as_cost, degree_of, table_of
from driftfit.transport.costs.passes import carried
from driftfit.transport.costs.products import Products
from driftfit.transport.costs.squared import MovedTable, SquaredDistances
from driftfit.transport.costs.table import CostTable, HeldTable, gamma, table_parts
from driftfit.transport.plan import Distortion, Plan

# Samples are scaled where squares of their spread, or a higher power that is the cost, have an exponent beyond this.
_SAFE_EXPONENT = 600
# Costs that are given are scaled where the largest has an exponent beyond this: sums over them stay in range.
_SAFE_COST_EXPONENT = 900
# Multiplications from which moving the samples to a GPU pays for starting torch there.
_GPU_WORK = 2e10
# Share of a GPU's free memory that may be filled; 8 bytes for a cost, 4 for its kernel.
_MEMORY_SHARE = 0.7
_BYTES_PER_PAIR = 12


@dataclass(frozen=True, eq=False)
class Problem:
    """A transport problem with its input already checked.

    Attributes
    ----------
    x0, x1 : arrays (or CSR, or tensors) of shape (n, d) and (m, d)
    weights0, weights1 : float arrays that sum to 1
    cost : Cost
    uniform : bool
        Whether both clouds have the same size and equal weights: an assignment problem.
    exponent : int
        The samples, or the costs where these are given, are those handed in times ``2 ** -exponent``; 0 unless
        costs or their sums would leave the range of float64. `unit` is what a cost of the problem counts.
    start : float array, optional
        A second potential that exact solvers may begin from, one number for each sample of the second cloud.
    unsure : float
        A bound on how far the problem's costs are from those asked for: angles are solved as distances of directions.
    """

    x0: Any
    x1: Any
    weights0: NDArray[np.float64]
    weights1: NDArray[np.float64]
    cost: Cost
    uniform: bool
    exponent: int = 0
    start: NDArray[np.float64] | None = None
    unsure: float = 0.0
    _tables: dict[bool, CostTable] = field(default_factory=dict, init=False, repr=False)
    _products: list[Products] = field(default_factory=list, init=False, repr=False)
    _held: list[tuple[HeldTable, int]] = field(default_factory=list, init=False, repr=False)
    # The problem with equal samples merged, once somebody has looked: `reductions.collapse`.
    merged: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(
        cls,
        x0: Any,
        x1: Any,
        weights0: Any = None,
        weights1: Any = None,
        cost: Any = None,
        start: Any = None,
    ) -> Problem:
        """Check the input and build the problem; ``start`` is a plan or potentials to begin from."""
        cost = as_cost(cost)
        if _on_gpu(x0) or _on_gpu(x1):
            x0, x1 = _checked_tensors(x0, x1, cost)
        else:
            x0, x1 = (check_points(to_numpy(x) if is_tensor(x) else x, name) for x, name in ((x0, "x0"), (x1, "x1")))
        if not isinstance(cost, Precomputed):
            check_same_features(x0, x1)
        w0 = check_weights(weights0, x0.shape[0], "weights0")
        w1 = check_weights(weights1, x1.shape[0], "weights1")
        uniform = len(w0) == len(w1) and equal_weights(w0) and equal_weights(w1)
        problem = cls(x0, x1, w0, w1, cost, uniform)
        if isinstance(cost, PowerMetric) and (cost.metric, cost.p) == ("cosine", 1.0):
            problem = problem._by_directions()
            x0, x1, cost = problem.x0, problem.x1, problem.cost
        problem = replace(problem, start=problem._second_potential(start))
        if isinstance(cost, Precomputed):
            exponent = _exponent_beyond(float(np.abs(cost.matrix).max()), _SAFE_COST_EXPONENT)
            # Huge ones are brought into range and no further: costs far below the largest would become 0.
            exponent -= _SAFE_COST_EXPONENT if exponent > 0 else 0
            return problem._rescaled(exponent, cost=Precomputed(_scaled(cost.matrix, -exponent)) if exponent else cost)
        degree = degree_of(cost)
        exponent = 0 if degree is None else _unsafe_exponent(x0, x1, _SAFE_EXPONENT / max(degree, 2.0))
        if exponent == 0:
            return problem
        return problem._rescaled(exponent, x0=_scaled(x0, -exponent), x1=_scaled(x1, -exponent))

    def _second_potential(self, start: Any) -> NDArray[np.float64] | None:
        """What `second_potential` finds in a start; with its first samples a plan serves for others than its own."""
        if not _elsewhere(start):
            return second_potential(start, self.shape)
        plan, old = start[0], start[1]
        if isinstance(self.cost, Precomputed):
            raise InputError("between given costs a plan cannot be carried over to other samples; give potentials")
        if not self.on_device:
            old = check_points(to_numpy(old) if is_tensor(old) else old, "the samples beside the plan in start")
        check_same_features(old, self.x1)
        old = directions(old) if self.unsure else old
        second_potential(plan, (old.shape[0], plan.shape[1]))
        u = plan.potentials[0] if plan.potentials else np.zeros(0)
        return carried(table_of(self.cost, old, self.x1), u)

    def _by_directions(self) -> Problem:
        """Cosine distances as squared ones, ``1 - cos = |a - b|^2`` for directions of squared length one half."""
        if not (self.dense and all(np.abs(x).max(axis=1).min() > 0.0 for x in (self.x0, self.x1))):
            return self
        a, b = directions(self.x0), directions(self.x1)
        # A direction is off by so many roundings of its length, and costs by four times as much.
        return replace(self, x0=a, x1=b, cost=SquaredEuclidean(), unsure=4.0 * gamma(a.shape[1] + 16))

    def _rescaled(self, exponent: int, **parts: Any) -> Problem:
        """The problem with scaled parts; a start is in the unit of its costs."""
        scaled = replace(self, exponent=exponent, **parts)
        if self.start is None or exponent == 0:
            return scaled
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            start = self.start / scaled.unit
        return replace(scaled, start=start if np.isfinite(start).all() else None)

    @classmethod
    def from_costs(cls, costs: Any, weights0: Any = None, weights1: Any = None, start: Any = None) -> Problem:
        """A problem given by its cost matrix alone.

        >>> Problem.from_costs([[0.0, 1.0], [1.0, 0.0]]).shape
        (2, 2)
        """
        cost = Precomputed(costs)
        n, m = cost.matrix.shape
        return cls.of(np.arange(n)[:, None], np.arange(m)[:, None], weights0, weights1, cost, start)

    @property
    def shape(self) -> tuple[int, int]:
        return self.x0.shape[0], self.x1.shape[0]

    @property
    def unit(self) -> float:
        """What a cost of 1 is worth in the cost of the samples that were given; 0 or infinity out of range."""
        if self.exponent == 0:
            return 1.0
        power = self.exponent * (degree_of(self.cost) or 0.0)
        return 2.0**power if -1075 < power < 1024 else (0.0 if power < 0 else math.inf)

    @property
    def dense(self) -> bool:
        return not sp.issparse(self.x0) and not sp.issparse(self.x1)

    @property
    def squared(self) -> bool:
        """Whether the cost is the squared Euclidean distance between dense samples."""
        return isinstance(self.cost, SquaredEuclidean) and self.dense

    @property
    def carried(self) -> bool:
        """Whether every sample carries weight."""
        return bool(self.weights0.min() > 0 and self.weights1.min() > 0)

    @property
    def on_device(self) -> bool:
        """Whether the samples are torch tensors."""
        return is_tensor(self.x0)

    def to_device(self, device: Any) -> Problem:
        """The same problem with its samples as tensors on a torch device."""
        import torch  # slow to import

        move = [
            x if isinstance(x, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(x)) for x in (self.x0, self.x1)
        ]
        return replace(self, x0=move[0].to(device), x1=move[1].to(device))

    def to_host(self) -> Problem:
        """The same problem with its samples as NumPy arrays."""
        if not self.on_device:
            return self
        return replace(self, x0=to_numpy(self.x0), x1=to_numpy(self.x1))

    def between(self, rows: NDArray[Any], cols: NDArray[Any], weights0: Any = None, weights1: Any = None) -> Problem:
        """The problem between some of the samples, with their own weights or given ones, scaled to sum 1."""
        w0 = self.weights0[rows] if weights0 is None else weights0
        w1 = self.weights1[cols] if weights1 is None else weights1
        return replace(
            self,
            x0=self.x0[beside(self.x0, rows)],
            x1=self.x1[beside(self.x1, cols)],
            weights0=w0 / w0.sum(),
            weights1=w1 / w1.sum(),
            uniform=len(w0) == len(w1) and equal_weights(w0) and equal_weights(w1),
            start=None if self.start is None else self.start[cols],
        )

    def table(self, *, apart: bool = False) -> CostTable:
        """All costs; ``apart`` allows a solver's costs, which may differ by separable terms."""
        # Norms and centres of a table are the same for all who ask.
        if apart not in self._tables:
            self._tables[apart] = table_of(self.cost, self.x0, self.x1, apart=apart)
        return self._tables[apart]

    def held(self) -> HeldTable:
        """A solver's costs, ``table(apart=True)``, all of them kept; formed once. Arrays are read-only."""
        if not self._held:
            held = HeldTable.of(self.table(apart=True))
            if not self.on_device:
                held = replace(held, matrix=held.matrix.view())
                held.matrix.flags.writeable = False
            self._held.append((held, self._written(held)))
        return self._held[0][0]

    def _written(self, held: HeldTable) -> int:
        return int(held.matrix._version) if self.on_device else 0

    def proven_table(self) -> CostTable:
        """All costs, as a certificate reads them: those that are held are not formed a second time.

        torch counts how often somebody has written into a tensor. Where a solver did, its costs are not used.
        """
        table = self.table()
        held, version = self._held[0] if self._held else (None, 0)
        if held is None or self._written(held) != version:
            return table
        if not isinstance(table, SquaredDistances):
            return held
        return MovedTable(table, held) if self.on_device else table

    def products(self, *, kept: bool = False) -> Products | None:
        """Squared distances as a float32 product; what a solver keeps of it serves the certificate too.

        ``None`` where the costs are not formed by products, and with ``kept`` where no product is at hand.
        """
        if not self._products and not kept:
            table = self.table(apart=True)
            if isinstance(table, SquaredDistances) and table.by_product and not self.on_device:
                self._products.append(Products.of(table))
        if not self._products or (kept and self._products[0].matrix is None):
            return None
        return self._products[0]

    def forget(self) -> None:
        """Let go of what was kept for those who solve and certify."""
        self._tables.clear()
        self._products.clear()
        self._held.clear()
        self.merged.clear()

    def cost_matrix(self) -> NDArray[np.float64]:
        """All costs at once; raises where one overflows."""
        return to_numpy(HeldTable.of(self.table()).matrix)

    def cost_blocks(self) -> Iterator[tuple[slice, Any]]:
        """Costs in blocks of rows, never more than a few dozen MiB at a time (or a GiB on a GPU)."""
        table = self.table()
        for part in table_parts(table):
            yield part, table.block(part)

    def pair_costs(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.float64]:
        """Costs of single pairs, gathered a few at a time."""
        return self.table().pairs(rows, cols)


@dataclass(frozen=True, eq=False)
class Solution:
    """Entries of a plan, and the potential of the first domain where the solver has one.

    The second potential is not asked for: the certificate derives the best feasible
    one from the first, over all pairs, so that a wrong one cannot pass. ``distortion`` is what a
    solver that looks at distances inside the clouds knows about them.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    mass: NDArray[np.float64]
    potential0: NDArray[np.float64] | None = None
    distortion: Distortion | None = None


@runtime_checkable
class Solver(Protocol):
    """A frozen value with one verb."""

    def solve(self, problem: Problem) -> Solution: ...


def directions(x: NDArray[Any]) -> NDArray[np.float64]:
    """Each sample scaled to a squared length of one half.

    >>> directions(np.array([[3.0, 0.0]])).round(3).tolist()
    [[0.707, 0.0]]
    """
    x = np.asarray(x, np.float64)
    x = x / np.abs(x).max(axis=1, keepdims=True)
    return np.asarray(x / np.sqrt(2.0 * np.einsum("ij,ij->i", x, x))[:, None])


def _elsewhere(start: Any) -> bool:
    """Whether a start is a plan between other samples, with the first of these."""
    return isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], Plan)


def start_between(x0: Any, x1: Any, start: Any) -> NDArray[np.float64]:
    """A second potential to begin from at squared distances; zero for no start."""
    v = Problem.of(x0, x1, start=start).start if _elsewhere(start) else second_potential(start, (len(x0), len(x1)))
    return np.zeros(len(x1)) if v is None else v


def second_potential(start: Any, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """The potential of the second set out of a plan, a pair of potentials or that potential alone.

    >>> second_potential(([0.0], [1.0, 2.0]), (1, 2)).tolist()
    [1.0, 2.0]
    """
    if start is None:
        return None
    if isinstance(start, Plan):
        if start.potentials is None:
            raise InputError(f"a plan without potentials is no start, got {start!r}; use one that Exact() has proven")
        start = start.potentials
    pair = start if isinstance(start, tuple) else (np.zeros(shape[0]), start)
    try:
        sides = [np.asarray(to_numpy(side), np.float64) for side in pair]
    except (TypeError, ValueError):
        raise InputError(f"start must be a plan or potentials, got {start!r}") from None
    if tuple(side.shape for side in sides) != ((shape[0],), (shape[1],)):
        raise InputError(
            f"start has potentials of shape {' and '.join(str(side.shape) for side in sides)} for {shape[0]} x"
            f" {shape[1]} samples; for a plan between other samples, start=(plan, old_x0)"
        )
    if not all(np.isfinite(side).all() for side in sides):
        raise InputError("start holds NaN or infinity; leave it out, or give finite potentials")
    return sides[1]


def equal_weights(weights: NDArray[np.float64]) -> bool:
    return bool(np.ptp(weights) == 0.0)


def _exponent_beyond(size: float, limit: float) -> int:
    """The exponent of a size if it is beyond a limit, else 0."""
    exponent = math.frexp(size)[1]
    return 0 if size == 0.0 or abs(exponent) <= limit else exponent


def _unsafe_exponent(x0: Any, x1: Any, limit: float) -> int:
    """The exponent of the clouds' spread if it is beyond a limit, else 0."""
    if str(x0.dtype).endswith("float32") and str(x1.dtype).endswith("float32"):
        return 0
    if sp.issparse(x0) or sp.issparse(x1):
        spread = max(float(np.abs(x.data if sp.issparse(x) else x).max(initial=0.0)) for x in (x0, x1))
    else:
        # A feature that never changes says nothing about the size of the others.
        high = np.maximum(*(to_numpy(x.amax(0) if is_tensor(x) else x.max(axis=0)) for x in (x0, x1)))
        low = np.minimum(*(to_numpy(x.amin(0) if is_tensor(x) else x.min(axis=0)) for x in (x0, x1)))
        spread = float((high - low).max())
    return _exponent_beyond(spread, limit)


def _scaled(x: Any, exponent: int) -> Any:
    """The samples times a power of two, which loses nothing; in two steps, as one may be out of range."""
    half = exponent // 2
    return (x * 2.0**half) * 2.0 ** (exponent - half)


def _on_gpu(x: Any) -> bool:
    return bool(getattr(x, "is_cuda", False))


def _checked_tensors(x0: Any, x1: Any, cost: Cost) -> tuple[Any, Any]:
    """Two tensors on one GPU, finite and of one width; squared Euclidean cost."""
    if not (_on_gpu(x0) and _on_gpu(x1)):
        raise InputError("x0 and x1 must live on one device: move both to the GPU or neither")
    if not isinstance(cost, SquaredEuclidean):
        raise InputError(f"samples on a GPU go with the squared Euclidean cost, got {cost!r}; use x.cpu()")
    for name, x in (("x0", x0), ("x1", x1)):
        if x.ndim != 2 or 0 in x.shape:
            raise InputError(f"{name} must be a table of shape (samples, features), got shape {tuple(x.shape)}")
        if not bool(x.sum(dtype=x.new_zeros(1).double().dtype).isfinite()):
            raise InputError(f"{name} holds NaN, infinity or values whose sum overflows; clean or rescale it first")
    return x0, x1


def placed(problem: Problem, device: str) -> Problem:
    """The problem on the device asked for; ``"auto"`` takes a GPU that is there if the problem is large.

    >>> placed(Problem.of([[0.0]], [[1.0]]), "auto").on_device
    False
    """
    if problem.on_device:
        return problem.to_host() if device == "cpu" else problem
    if device == "cpu":
        return problem
    if device == "auto":
        return problem.to_device("cuda") if wants_gpu(problem) else problem
    if not problem.squared:
        raise InputError(
            f"device={device!r} takes dense samples and the squared Euclidean cost; use device='cpu' for this problem"
        )
    return problem.to_device(device)


def wants_gpu(problem: Problem) -> bool:
    """Whether the problem is of a kind and size for a GPU, and one is there."""
    n, m = problem.shape
    # Between unequal weights the simplex takes turns with the GPU, and is compiled.
    solvable = problem.uniform or has_numba()
    return problem.squared and solvable and n * m * problem.x0.shape[1] >= _GPU_WORK and gpu_available()


def gpu_available() -> bool:
    """Whether torch is installed and sees a GPU."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch  # slow to import

    return bool(torch.cuda.is_available())


def fits_on_device(problem: Problem) -> bool:
    """Whether all costs and the kernel fit into the memory of the device the samples are on."""
    return problem.on_device and bytes_on_device(problem) <= room_on_device(problem)


def room_on_device(problem: Problem) -> float:
    """Bytes that costs may take on the device the samples are on."""
    import torch  # slow to import

    place = problem.x0.device
    if place.type != "cuda":
        return inf
    free, _ = torch.cuda.mem_get_info(place)
    # Memory that torch has freed but keeps counts as taken there, and is handed out again.
    kept = torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place)
    return _MEMORY_SHARE * (free + kept)


def bytes_on_device(problem: Problem) -> int:
    """What all costs and the kernel take.

    >>> bytes_on_device(Problem.of([[0.0]], [[1.0], [2.0]]))
    24
    """
    return _BYTES_PER_PAIR * problem.shape[0] * problem.shape[1]

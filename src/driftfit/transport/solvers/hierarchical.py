"""`Hierarchical`: near-optimal plans between millions of samples, in linear memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError, SolverError
from driftfit.parallel import Batch, Engine
from driftfit.seeds import derive_seed
from driftfit.transport.arrays import has_numba, serial, worker_count
from driftfit.transport.costs.products import Products
from driftfit.transport.costs.squared import SquaredDistances
from driftfit.transport.problem import Problem, Solution
from driftfit.transport.solvers.anytime import bidding_for, refine
from driftfit.transport.solvers.auction import TiesError, assign, product_provider
from driftfit.transport.solvers.exact import Exact

Float = NDArray[np.float64]
Index = NDArray[np.int64]
# The samples of one part and the weight each has there.
Part = tuple[Index, Float, Index, Float]

# Samples from which a direction to cut along is learnt.
_SAMPLE = 2000


@dataclass(frozen=True)
class Hierarchical:
    """Exact plans inside the blocks of a partition, improved over several partitions.

    Both clouds are cut in halves of equal mass along one direction, again and again,
    until the blocks are small enough to be solved exactly. Each further pass groups the
    coupled pairs anew, by where their midpoints lie, and solves each group exactly: the
    cost never rises. Squared Euclidean cost. Time and memory are linear in the number
    of samples.

    With ``gap`` or ``seconds`` an auction between all samples goes on, at a finer and finer epsilon, until the gap
    that is proven is small enough or time is up, and blocks only complete what it leaves over. Memory stays
    linear; time does not: all pairs are looked at several times.

    Parameters
    ----------
    block : int
        Samples of each cloud in a block, at most.
    passes : int
        Regroupings after the first partition (equal sizes and uniform weights only).
    seed : int
        Seeds the directions of the regroupings.
    device : {"auto", "cpu", "cuda"}
        Where the blocks are solved.
    progress : callable, optional
        Called with the stage's name and the share of it that is done.
    engine : Engine, optional
        Workers that solve the blocks, one at a time each; by default threads of this process. The plan is the same.
    gap : float, optional
        The gap to be proven, as a share of the plan's cost, 0.05 for 5 % (equal sizes and uniform weights only).
    seconds : float, optional
        Time for the solver (likewise). What was found until then is completed to a plan, and
        the certificate takes its time to look at all pairs.

    >>> from driftfit.transport.solve import transport
    >>> plan = transport([[0.0], [1.0], [2.0]], [[2.5], [0.5], [1.5]], solver=Hierarchical(block=2))
    >>> plan.cols.tolist(), plan.cost
    ([1, 2, 0], 0.25)
    >>> plan = transport([[0.0], [1.0], [2.0]], [[2.5], [0.5], [1.5]], solver=Hierarchical(gap=0.01))
    >>> plan.certificate.gap <= 0.01
    True
    """

    block: int = 2000
    passes: int = 3
    seed: int = 0
    device: str = "auto"
    progress: Callable[[str, float], None] | None = field(default=None, repr=False, compare=False)
    engine: Engine | None = field(default=None, repr=False, compare=False)
    gap: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.block < 2:
            raise InputError(f"block must be at least 2, got {self.block!r}")
        for name in ("gap", "seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"{name} must not be negative, got {value!r}")
        if self.passes < 0:
            raise InputError(f"passes must not be negative, got {self.passes!r}")

    def solve(self, problem: Problem) -> Solution:
        given, problem = problem, problem.to_host()
        if not problem.squared:
            raise InputError(
                f"Hierarchical needs dense samples and the squared Euclidean cost, got {problem.cost!r}; use Sinkhorn()"
            )
        if not problem.uniform:
            return self._weighted(problem)
        rng = np.random.default_rng(derive_seed(self.seed, "hierarchical"))
        if self.gap is None and self.seconds is None:
            partner, potential = self._partitioned(problem, rng), None
        else:
            partner, potential = self._refined(given, problem, rng)
        n = problem.shape[0]
        return Solution(np.arange(n), partner, np.full(n, 1.0 / n), potential)

    def _partitioned(self, problem: Problem, rng: np.random.Generator, until: float = math.inf) -> Index:
        """The columns of all rows, by blocks and as many regroupings as there is time for."""
        partner = self._completed(problem, np.full(problem.shape[0], -1), rng, "blocks")
        for number in range(self.passes):
            if time.monotonic() > until:
                break
            groups = [(rows, partner[rows]) for rows in _bisect_pairs(problem, partner, self.block, rng)]
            self._each(problem, groups, partner, f"pass {number + 1} of {self.passes}")
        return partner

    def _completed(self, problem: Problem, partner: Index, rng: np.random.Generator, stage: str) -> Index:
        """The pairs, and those of the rows that have no column yet, by blocks."""
        partner = partner.copy()
        rows = np.flatnonzero(partner < 0)
        cols = np.setdiff1d(np.arange(len(partner)), partner, assume_unique=True)
        blocks = [
            (rows[i], cols[j]) for i, j in _bisect_both(problem.x0[rows], problem.x1[cols], self.block, rng) if len(i)
        ]
        self._each(problem, blocks, partner, stage)
        return partner

    def _refined(self, given: Problem, problem: Problem, rng: np.random.Generator) -> tuple[Index, Float | None]:
        """Columns and first potential when the gap or the time is reached; the problem as given and on the host."""
        until, start = math.inf, None
        if self.seconds is not None:
            until = time.monotonic() + self.seconds
            if not given.on_device:
                # On a processor time may end long before the auction has come round; a GPU is there sooner.
                start = self._partitioned(problem, rng, until)
        return refine(
            given, bidding_for(given), lambda partner: self._completed(problem, partner, rng, "rest"),
            gap=self.gap or 0.0, until=until, start=start, progress=self.progress,
        )  # fmt: skip

    def _each(self, problem: Problem, blocks: list[tuple[Index, Index]], partner: Index, stage: str) -> None:
        """Solve the blocks, several at a time."""
        if self.engine is not None:
            self._on_engine(self.engine, problem, blocks, partner, stage)
            return
        solver = self.block_solver()

        def work(block: tuple[Index, Index]) -> None:
            rows, cols = block
            partner[rows] = cols[solver(problem.x0[rows], problem.x1[cols])]

        workers = 1 if solver is not _on_processor else worker_count()
        with ThreadPoolExecutor(workers, initializer=serial) as pool:
            for done, _ in enumerate(pool.map(work, blocks)):
                if self.progress is not None:
                    self.progress(stage, (done + 1) / len(blocks))

    def _on_engine(
        self, engine: Engine, problem: Problem, blocks: list[tuple[Index, Index]], partner: Index, stage: str
    ) -> None:
        work = _BlockWork(problem.x0, problem.x1, self.device)
        for done, outcome in enumerate(engine.run(iter([Batch(work, tuple(blocks))]))):
            if outcome.failure is not None:
                raise SolverError(f"a block could not be solved: {outcome.failure.text}")
            partner[outcome.task[0]] = outcome.value
            if self.progress is not None:
                self.progress(stage, (done + 1) / len(blocks))

    def block_solver(self) -> Callable[[Any, Any], Index]:
        """What solves one block, by the device."""
        if self.device == "cpu" or (self.device == "auto" and has_numba()):
            return _on_processor
        device = "cuda" if self.device == "auto" else self.device
        return lambda x0, x1: Exact().solve(Problem.of(x0, x1).to_device(device)).cols

    def _weighted(self, problem: Problem) -> Solution:
        parts = _bisect_mass(problem, self.block)
        rows, cols, mass = [], [], []
        for done, (i, a, j, b) in enumerate(parts):
            solution = Exact().solve(problem.between(i, j, a, b))
            rows.append(i[solution.rows])
            cols.append(j[solution.cols])
            mass.append(solution.mass * a.sum())
            if self.progress is not None:
                self.progress("blocks", (done + 1) / len(parts))
        total = np.concatenate(mass)
        return Solution(np.concatenate(rows), np.concatenate(cols), total / total.sum())


@dataclass(frozen=True, eq=False)
class _BlockWork:
    """Blocks of one pair of clouds, which lie with every worker."""

    x0: NDArray[Any]
    x1: NDArray[Any]
    device: str

    def prepare(self, tasks: tuple[Any, ...], scratch: dict[str, Any]) -> Callable[[Any, Any], Index]:
        """The solver of a block."""
        serial()
        return Hierarchical(device=self.device).block_solver()

    def run(self, shared: Callable[[Any, Any], Index], task: tuple[Index, Index]) -> Index:
        """The partners of one block's rows."""
        rows, cols = task
        return cols[shared(self.x0[rows], self.x1[cols])]


def _on_processor(x0: NDArray[Any], x1: NDArray[Any]) -> Index:
    """The optimal permutation for float32 costs; the order given where ties make it a long search."""
    n = len(x0)
    if n == 1:
        return np.zeros(1, np.int64)
    products = Products.of(SquaredDistances.of(x0, x1, apart=True))
    try:
        state = assign(product_provider(products, np.inf), budget=1000 * n)
    except TiesError:
        return Exact(device="cpu").solve(Problem.of(x0, x1)).cols
    return state.partner.astype(np.int64)


def _bisect_both(x0: Any, x1: Any, block: int, rng: np.random.Generator) -> Iterator[tuple[Index, Index]]:
    """Cut both clouds in halves of equal size until the blocks are small."""
    todo = [(np.arange(len(x0)), np.arange(len(x1)))]
    while todo:
        rows, cols = todo.pop()
        if len(rows) <= block:
            yield rows, cols
            continue
        direction = _leading_direction(_some(x0, rows, rng), _some(x1, cols, rng))
        half = len(rows) // 2
        rows = rows[np.argpartition(x0[rows] @ direction, half)]
        cols = cols[np.argpartition(x1[cols] @ direction, half)]
        todo += [(rows[:half], cols[:half]), (rows[half:], cols[half:])]


def _bisect_pairs(problem: Problem, partner: Index, block: int, rng: np.random.Generator) -> Iterator[Index]:
    """Group pairs by their midpoints, cutting along random mixtures of the leading directions."""
    todo = [np.arange(len(partner))]
    while todo:
        rows = todo.pop()
        if len(rows) <= block:
            yield rows
            continue
        some = rows[rng.integers(0, len(rows), min(_SAMPLE, len(rows)))]
        middle = problem.x0[some] + problem.x1[partner[some]]
        direction = _random_direction(middle, rng)
        values = problem.x0[rows] @ direction + problem.x1[partner[rows]] @ direction
        half = len(rows) // 2
        rows = rows[np.argpartition(values, half)]
        todo += [rows[:half], rows[half:]]


def _bisect_mass(problem: Problem, block: int) -> list[Part]:
    """Cut both clouds in halves of equal mass; a sample on the cut has weight on both sides."""
    rng = np.random.default_rng(0)
    rows, cols = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
    todo: list[Part] = [(rows, problem.weights0[rows], cols, problem.weights1[cols])]
    done: list[Part] = []
    while todo:
        i, a, j, b = todo.pop()
        if max(len(i), len(j)) <= block or min(len(i), len(j)) < 2:
            done.append((i, a, j, b))
            continue
        direction = _leading_direction(_some(problem.x0, i, rng), _some(problem.x1, j, rng))
        low0, high0 = _cut(i, a, problem.x0[i] @ direction)
        low1, high1 = _cut(j, b, problem.x1[j] @ direction)
        todo += [(*low0, *low1), (*high0, *high1)]
    return done


def _cut(index: Index, weights: Float, values: Float) -> tuple[tuple[Index, Float], tuple[Index, Float]]:
    order = np.argsort(values, kind="stable")
    index, weights = index[order], weights[order]
    ends = np.cumsum(weights)
    half = 0.5 * ends[-1]
    at = int(np.searchsorted(ends, half))
    low, high = weights[: at + 1].copy(), weights[at:].copy()
    high[0] = ends[at] - half
    low[-1] -= high[0]
    start = int(high[0] <= 0)
    return (index[: at + 1], low), (index[at + start :], high[start:])


def _some(x: Any, rows: Index, rng: np.random.Generator) -> Float:
    return np.asarray(x[rows[rng.integers(0, len(rows), min(_SAMPLE, len(rows)))]], dtype=np.float64)


def _leading_direction(a: Float, b: Float) -> NDArray[Any]:
    """The direction in which the two clouds together vary most, each about its own mean."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    direction = np.ones(a.shape[1])
    for _ in range(8):
        direction = a.T @ (a @ direction) + b.T @ (b @ direction)
        length = np.linalg.norm(direction)
        if length == 0:
            return np.ones(a.shape[1])
        direction /= length
    return direction


def _random_direction(x: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """A random combination of the samples about their mean: directions of large variance are likelier."""
    centred = x - x.mean(axis=0)
    direction = rng.standard_normal(len(x)) @ centred
    length = np.linalg.norm(direction)
    return np.asarray(direction / length if length > 0 else np.ones(x.shape[1]), dtype=x.dtype)

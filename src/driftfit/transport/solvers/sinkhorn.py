"""Entropy-regularised transport: `Sinkhorn`, and the sweeps below it.

The sweeps work on potentials ``f, g`` at falling strengths of the entropy; a plan is ``exp((f + g - cost) / epsilon)``.
One code for costs that are held and for costs that are formed anew in every sweep, on the processor and on a GPU. A
sweep forms the kernel with each of its rows scaled to 1, which no potential can drive out of range, and scales its
columns. Where all costs are held the kernel is too, and further sweeps are products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import beside, concatenated, is_tensor, log_sum, softmax, to_numpy, vector
from driftfit.transport.costs.passes import least_pairs
from driftfit.transport.costs.table import CostTable, HeldTable, table_parts
from driftfit.transport.plan import Entries, balanced, large_entries, round_to_marginals
from driftfit.transport.problem import Problem, Solution, fits_on_device
from driftfit.transport.reductions import among_carriers

Float = NDArray[np.float64]
Progress = Callable[[str, float], None]
Index = NDArray[np.int64]

# Epsilon falls by this factor from level to level.
_FALL = 3.0
# Sweeps at a level but the last, where costs are held and where they are not; fewer where the marginals are
# off by less than this mass.
_SWEEPS, _COSTLY_SWEEPS, _LEVEL_TOLERANCE = 25, 2, 1e-3
# Scalings are absorbed into the potentials after so many sweeps, or when they leave this range.
_SWEEPS_PER_KERNEL = 50
_LARGEST_SCALING = 1e12
# Sweeps between two looks at the scalings and the marginals: on a GPU each look waits for it.
_LOOK = 5
# Mass of a column in float32 below which it is taken as lost.
_FAINTEST = 1e-20
# More pairs than this are never held at once, and get fewer sweeps: each one forms all costs anew.
_DENSE_PAIRS = 50_000_000
_BLOCK_SWEEPS = 60
# Entries of the plan kept for each row and each column, and scaled up to carry all of its mass.
_KEPT = 32


def annealing(epsilon: float) -> Float:
    """Strengths of the entropy term from 1 down to ``epsilon``, both in units of the mean cost.

    >>> annealing(0.2).round(3).tolist()
    [1.0, 0.333, 0.2]
    """
    levels = [max(1.0, epsilon)]
    while levels[-1] > epsilon:
        levels.append(max(levels[-1] / _FALL, epsilon))
    return np.array(levels)


def annealed_potentials(
    table: CostTable,
    weights: tuple[Float, Float],
    levels: Float,
    *,
    last_sweeps: int,
    tolerance: float = 0.0,
    progress: Progress | None = None,
) -> tuple[Any, Any]:
    """Both potentials of the entropic plan at the last of ``levels``, where the blocks of the table live.

    The plan ``exp((f + g - cost) / epsilon)`` has the first marginal exactly and the second up to ``tolerance``,
    or as near as ``last_sweeps`` come. All samples must carry weight.

    Examples
    --------
    >>> from driftfit.transport.problem import Problem
    >>> table, half = Problem.of([[0.0], [1.0]], [[0.0], [1.0]]).table(), np.full(2, 0.5)
    >>> f, g = annealed_potentials(table, (half, half), np.array([0.1]), last_sweeps=9)
    >>> np.exp((f[:, None] + g - table.block(slice(0, 2))) / 0.1).round(3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    w0, w1 = (beside(table.home, np.asarray(w, dtype=np.float64)) for w in weights)
    level_sweeps = _SWEEPS if table.kept else _COSTLY_SWEEPS
    g, room = vector(table.home, table.shape[1], 0.0), _room(table)
    for number, epsilon in enumerate(levels.tolist(), start=1):
        last = number == len(levels)
        most, off = (last_sweeps, tolerance) if last else (level_sweeps, max(tolerance, _LEVEL_TOLERANCE))
        g = _swept(table, room, g, w0, w1, epsilon, most, off)
        if progress is not None:
            progress("sinkhorn", number / len(levels))
    return _first_potential(table, g, w0, float(levels[-1])), g


def column_potential(
    table: CostTable, weights: tuple[Any, Any], epsilon: float, start: Any = None, *, sweeps: int, tolerance: float
) -> Any:
    """The second potential at one strength of the entropy, after some sweeps from another potential.

    `row_shares` makes the plan of it. Weights live where the table lives. Sweeps are made in float32: a
    ``tolerance`` below 1e-5 is out of reach.
    """
    g = vector(table.home, table.shape[1], 0.0) if start is None else start
    return _swept(table, _room(table, np.float32), g, *weights, epsilon, sweeps, tolerance)


def row_shares(table: CostTable, part: slice, g: Any, epsilon: float) -> Any:
    """Where the mass of some rows goes under the second potential: each row sums to 1."""
    return softmax(table.reduced(part, v=g) / -epsilon)


def _swept(table: CostTable, room: Any, g: Any, w0: Any, w1: Any, epsilon: float, most: int, tolerance: float) -> Any:
    """Second potential after up to ``most`` sweeps at one epsilon, from the potential ``g``."""
    done = 0
    while done < most:
        arrived = _arrived(table, room, g, w0, epsilon)
        if float(arrived.min()) < _FAINTEST:
            # A column so far from all rows that its mass is lost gets its weight by a sweep in logarithms.
            g = _second_potential(table, _first_potential(table, g, w0, epsilon), w1, epsilon)
            arrived = _arrived(table, room, g, w0, epsilon)
            done += 1
        if float(abs(arrived - w1).sum()) < tolerance:
            break
        b = w1 / arrived
        done += 1
        if room is not None:
            b, sweeps = _scaled(room, b, w0, w1, min(_SWEEPS_PER_KERNEL, most - done), tolerance)
            done += sweeps
        g = g + epsilon * (np.log(b) if isinstance(b, np.ndarray) else b.double().log())
    return g


def _scaled(kernel: Any, b: Any, w0: Any, w1: Any, most: int, tolerance: float) -> tuple[Any, int]:
    """Sweeps on a kept kernel, from the scaling ``b`` of its columns; and how many."""
    b, w0, w1 = _as_kernel(kernel, b), _as_kernel(kernel, w0), _as_kernel(kernel, w1)
    look = 1 if isinstance(b, np.ndarray) else _LOOK
    good = b
    for sweep in range(most):
        if sweep % look == 0:
            if not _in_range(b):
                # Where nobody looked, some sweeps may have left the range of the arithmetic.
                return (b if look == 1 else good), sweep
            good = b
        arrived = kernel.T @ (w0 / (kernel @ b))
        if sweep % look == 0 and float(abs(b * arrived - w1).sum()) < tolerance:
            return b, sweep
        b = w1 / arrived
    return (b if look == 1 or _in_range(b) else good), most


def _in_range(scaling: Any) -> bool:
    return float(scaling.min()) > 1.0 / _LARGEST_SCALING and float(scaling.max()) < _LARGEST_SCALING


def _room(table: CostTable, kind: Any = np.float64) -> Any:
    """Room for the kernel of held costs; on a GPU always in float32."""
    if not table.kept:
        return None
    if not is_tensor(table.home):
        return np.empty(table.shape, kind)
    return softmax(table.home[:1]).new_empty(table.shape)


def _arrived(table: CostTable, room: Any, g: Any, w0: Any, epsilon: float) -> Any:
    """The mass that arrives at each column; the kernel with its rows scaled to 1 is left in the room."""
    arrived: Any = 0.0
    for part in table_parts(table):
        if is_tensor(room):
            kernel = _shares_in(room[part], table.block(part), g, epsilon)
        else:
            kernel = row_shares(table, part, g, epsilon)
            if room is not None:
                room[part] = kernel
        weights = w0[part] if isinstance(kernel, np.ndarray) else w0[part].to(kernel.dtype)
        arrived = arrived + kernel.T @ weights
    return arrived


def _shares_in(room: Any, costs: Any, g: Any, epsilon: float) -> Any:
    """`row_shares` of held costs, put where there is room for them: no copy in float64 is made on the way."""
    import torch  # only where there are tensors already

    exponents = torch.empty_like(room)
    torch.add(g / epsilon, costs, alpha=-1.0 / epsilon, out=exponents)
    return torch.softmax(exponents, 1, out=room)


def _as_kernel(kernel: Any, values: Any) -> Any:
    """A vector in the type of a kernel, so that the kernel itself is not converted for a product."""
    return values.astype(kernel.dtype) if isinstance(values, np.ndarray) else values.to(kernel.dtype)


def _first_potential(table: CostTable, g: Any, w0: Any, epsilon: float) -> Any:
    sums = [log_sum(table.reduced(part, v=g) / -epsilon, 1) for part in table_parts(table)]
    return epsilon * (_log(w0) - concatenated(sums))


def _second_potential(table: CostTable, f: Any, w1: Any, epsilon: float) -> Any:
    sums = [log_sum(table.reduced(part, f[part]) / -epsilon, 0)[None] for part in table_parts(table)]
    return epsilon * (_log(w1) - log_sum(concatenated(sums), 0))


def _log(values: Any) -> Any:
    return np.log(values) if isinstance(values, np.ndarray) else values.log()


@dataclass(frozen=True)
class Sinkhorn:
    """Entropic transport by alternating scaling, annealed and stabilised.

    Parameters
    ----------
    epsilon : float
        Strength of the entropy term, in units of the mean cost, so that it means
        the same for any scale of the features.
    tolerance : float
        Stop when the marginals are off by less than this mass.
    max_iterations : int
        Sweeps over rows and columns at the final ``epsilon``.

    The result is rounded to exact marginals, so its cost is a true upper bound. Beyond
    some 7,000 x 7,000 samples the costs are formed in blocks and never held as a whole; on a GPU
    they are held where they fit, in 12 bytes for each pair. Both keep the 32 largest entries of each
    row and column, scaled to the marginals: for a large ``epsilon`` a sharper plan than the entropic one.

    >>> from driftfit.transport.solve import transport
    >>> plan = transport([[0.0], [1.0]], [[0.0], [1.0]], solver=Sinkhorn(epsilon=0.1))
    >>> plan.todense().round(3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    epsilon: float = 0.05
    tolerance: float = 1e-6
    max_iterations: int = 2_000

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def solve(self, problem: Problem) -> Solution:
        return among_carriers(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        n, m = problem.shape
        table = problem.table(apart=True)
        held = fits_on_device(problem) if problem.on_device else n * m <= _DENSE_PAIRS
        if held:
            table = HeldTable.of(table)
        weights = problem.weights0, problem.weights1
        levels = annealing(self.epsilon) * (table.mean() or 1.0)
        sweeps = self.max_iterations if held else min(self.max_iterations, _BLOCK_SWEEPS)
        f, g = annealed_potentials(table, weights, levels, last_sweeps=sweeps, tolerance=self.tolerance)
        whole = held and not problem.on_device
        entries = _all_entries if whole else _largest_entries
        return Solution(*entries(table, f, g, float(levels[-1]), weights), table.potential0(to_numpy(f)))


def _all_entries(table: CostTable, f: Float, g: Float, epsilon: float, weights: tuple[Float, Float]) -> Entries:
    """The plan itself, rounded to its marginals; only negligible mass is left out."""
    plan = np.exp((f[:, None] + g[None, :] - table.block(slice(0, len(f)))) / epsilon)
    return round_to_marginals(*large_entries(plan), *weights)


def _largest_entries(table: CostTable, f: Any, g: Any, epsilon: float, weights: tuple[Float, Float]) -> Entries:
    """The largest entries of each row and column, scaled to the marginals."""
    rows, cols = np.divmod(least_pairs(table, f, g, _KEPT)[0], table.shape[1])
    reduced = table.pairs(rows, cols) - to_numpy(f)[rows] - to_numpy(g)[cols]
    mass = balanced(rows, cols, np.exp(np.minimum(-reduced / epsilon, 0.0)), *weights)
    return round_to_marginals(rows, cols, mass, *weights)


def _check_epsilon(epsilon: float) -> None:
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"epsilon must be a positive number, got {epsilon!r}; 0.01 to 0.1 are usual")

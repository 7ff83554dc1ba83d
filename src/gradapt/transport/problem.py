"""`Problem`: two weighted clouds and a cost. `Solution`: what a solver hands back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gradapt.checks import check_points, check_same_features, check_weights
from gradapt.errors import InputError
from gradapt.transport.costs import Cost, Precomputed, SquaredEuclidean, as_cost

__all__ = ["Problem", "Solution", "Solver"]

# Rows are taken in blocks of about this many costs (64 MiB of float64).
_BLOCK_ENTRIES = 2**23
# Single pairs are gathered so that their features stay in the processor's cache.
_PAIR_VALUES = 2**18


@dataclass(frozen=True, eq=False)
class Problem:
    """A transport problem with its input already checked.

    Attributes
    ----------
    x0, x1 : arrays (or CSR) of shape (n, d) and (m, d)
    weights0, weights1 : float arrays that sum to 1
    cost : Cost
    uniform : bool
        Whether both clouds have the same size and equal weights: an assignment problem.
    kept : float array, optional
        All costs, where a solver wants to see them more than once and has the room.
    """

    x0: Any
    x1: Any
    weights0: NDArray[np.float64]
    weights1: NDArray[np.float64]
    cost: Cost
    uniform: bool
    kept: NDArray[np.float64] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        x0: Any,
        x1: Any,
        weights0: Any = None,
        weights1: Any = None,
        cost: Any = None,
    ) -> Problem:
        """Check the input and build the problem."""
        cost = as_cost(cost)
        if _on_device(x0) or _on_device(x1):
            x0, x1 = _checked_tensors(x0, x1, cost)
        else:
            x0, x1 = check_points(x0, "x0"), check_points(x1, "x1")
        if not isinstance(cost, Precomputed):
            check_same_features(x0, x1)
        w0 = check_weights(weights0, x0.shape[0], "weights0")
        w1 = check_weights(weights1, x1.shape[0], "weights1")
        uniform = len(w0) == len(w1) and bool(np.ptp(w0) == 0.0) and bool(np.ptp(w1) == 0.0)
        return cls(x0, x1, w0, w1, cost, uniform)

    @classmethod
    def from_costs(cls, costs: Any, weights0: Any = None, weights1: Any = None) -> Problem:
        """A problem given by its cost matrix alone.

        >>> Problem.from_costs([[0.0, 1.0], [1.0, 0.0]]).shape
        (2, 2)
        """
        cost = Precomputed(costs)
        n, m = cost.matrix.shape
        return cls.of(np.arange(n)[:, None], np.arange(m)[:, None], weights0, weights1, cost)

    @property
    def shape(self) -> tuple[int, int]:
        return self.x0.shape[0], self.x1.shape[0]

    @property
    def on_device(self) -> bool:
        """Whether the samples are torch tensors."""
        return not isinstance(self.x0, np.ndarray) and hasattr(self.x0, "device") and hasattr(self.x0, "is_cuda")

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
        return replace(self, x0=self.x0.cpu().numpy(), x1=self.x1.cpu().numpy())

    def cost_matrix(self) -> NDArray[np.float64]:
        """All costs at once; raises where one overflows."""
        return _checked(self.cost.block(self.x0, self.x1))

    def keeping(self, memory: float) -> Problem:
        """The same problem with its costs kept, if they take no more than ``memory`` bytes."""
        if 8.0 * self.shape[0] * self.shape[1] > memory:
            return self
        return replace(self, kept=self.cost_matrix())

    def cost_blocks(self, rows: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Costs in blocks of rows, never more than a few dozen MiB at a time."""
        step = max(1, _BLOCK_ENTRIES // self.shape[1])
        if self.kept is not None and rows is None:
            for start in range(0, self.shape[0], step):
                part = slice(start, min(start + step, self.shape[0]))
                yield part, self.kept[part]
            return
        x0 = self.x0 if rows is None else self.x0[rows]
        for start in range(0, x0.shape[0], step):
            part = slice(start, min(start + step, x0.shape[0]))
            yield part, _checked(self.cost.block(x0[part], self.x1))

    def pair_costs(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.float64]:
        """Costs of single pairs, gathered a few at a time."""
        if self.on_device:
            return self._device_pair_costs(rows, cols)
        step = max(1, _PAIR_VALUES // self.x0.shape[1])
        if len(rows) <= step:
            return _checked(self.cost.pairs(self.x0[rows], self.x1[cols]))
        costs = np.empty(len(rows))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            costs[part] = self.cost.pairs(self.x0[rows[part]], self.x1[cols[part]])
        return _checked(costs)

    def _device_pair_costs(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.float64]:
        import torch  # slow to import

        r, c = torch.from_numpy(rows).to(self.x0.device), torch.from_numpy(cols).to(self.x0.device)
        step = max(1, 64 * _PAIR_VALUES // self.x0.shape[1])
        parts = [
            (self.x0[r[start : start + step]].double() - self.x1[c[start : start + step]].double()).square().sum(dim=1)
            for start in range(0, len(rows), step)
        ]
        return _checked(torch.cat(parts).cpu().numpy())


@dataclass(frozen=True, eq=False)
class Solution:
    """Entries of a plan, and the potential of the first domain where the solver has one.

    The second potential is not asked for: the certificate derives the best feasible
    one from the first, over all pairs, so that a wrong one cannot pass.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    mass: NDArray[np.float64]
    potential0: NDArray[np.float64] | None = None


@runtime_checkable
class Solver(Protocol):
    """A frozen value with one verb."""

    def solve(self, problem: Problem) -> Solution: ...


def _checked(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(costs.sum()) and not np.isfinite(costs).all():
        raise InputError(
            "a transport cost overflowed; rescale the features, for instance with StandardScaler, or choose a smaller p"
        )
    return costs


def _on_device(x: Any) -> bool:
    return bool(getattr(x, "is_cuda", False))


def _checked_tensors(x0: Any, x1: Any, cost: Cost) -> tuple[Any, Any]:
    """Two tensors on one GPU, finite and of one width; squared Euclidean cost."""
    if not (_on_device(x0) and _on_device(x1)):
        raise InputError("x0 and x1 must live on one device: move both to the GPU or neither")
    if not isinstance(cost, SquaredEuclidean):
        raise InputError(f"samples on a GPU go with the squared Euclidean cost, got {cost!r}; use x.cpu()")
    for name, x in (("x0", x0), ("x1", x1)):
        if x.ndim != 2 or 0 in x.shape:
            raise InputError(f"{name} must be a table of shape (samples, features), got shape {tuple(x.shape)}")
        if not bool(x.sum(dtype=x.new_zeros(1).double().dtype).isfinite()):
            raise InputError(f"{name} holds NaN, infinity or values whose sum overflows; clean or rescale it first")
    check_same_features(x0, x1)
    return x0, x1

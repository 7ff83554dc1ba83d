"""Network simplex on a growing set of candidate pairs; needs numba.

The tree of basic pairs is kept while pairs are added, so that pricing never starts
again from nothing. It begins with a plan of shortest augmenting paths from given potentials: most of the mass
finds its place so. What that leaves over, where paths become long, goes over
one artificial arc per sample to a root. Trees stay strongly feasible
(Cunningham 1976), so that ties cannot make it run in circles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import SolverError
from driftfit.transport.arrays import is_tensor, to_numpy
from driftfit.transport.costs.table import CostTable, table_parts

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Epsilons in units of the mean cost, each smaller than the one before by the factor. Candidates may force potentials
# far from where they begin: steps of a large epsilon get there, and the phases in between take next to nothing.
_FIRST_EPSILON, _LAST_EPSILON, _FACTOR = 1.0, 1e-5, 5.0
# Mass, as a share of all, that is left to shortest paths: the way of the last of it is long.
_LEAVE = 1e-4
# Looks at each arc in one phase, at most: some hundred are common.
_SCALING_LOOKS = 1000
# Costs of artificial arcs in units of a common cost; raised by the factor while one carries mass.
_ARTIFICIAL, _RAISE, _MOST_RAISES = 4.0, 16.0, 24
# Artificial arcs begin with the cost that this share of pairs does not exceed.
_COMMON = 0.98
# Reduced costs below this share of the largest cost are rounding.
_TOLERANCE = 1e-14
# Pivots between two chances to interrupt; those after which something is wrong.
_PIVOTS_AT_ONCE, _PIVOTS_PER_NODE = 10_000, 10_000
# Mass on artificial arcs, as a share of all, that is rounding.
_DUST = 1e-13
# Times that costs may be cut off above those that the plan uses.
_MOST_SHARPENINGS = 4
# Looks at each candidate in the search for shortest paths from single rows, and from all of them together, at most: the
# last paths are long, and pivots take over.
_LOOKS_EACH = 25
# Samples of both clouds from which cost scaling comes before the search for shortest paths, which are long there.
_SCALED_FROM = 30_000
# It comes again where so many pairs join at once, for each sample, or after so many pivots.
_MANY, _PATIENCE = 0.6, 0.5
# A pass over all pairs takes those that violate by this share of the worst of the pass before.
_WORST_SHARE = 0.01


def scaled_flow(
    start: Index,
    head: NDArray[np.int32],
    cost: Float,
    flow: Float,
    potentials: tuple[Float, Float],
    left: tuple[Float, Float],
    dust: float,
) -> None:
    """Bring a flow and its potentials close to the optimum; what could not be sent remains in ``left``.

    The arcs of row ``r`` are ``start[r]`` to ``start[r + 1]``, and lead to the columns ``head``. ``left`` is the supply
    and the demand beside the flow. Flow, potentials and what is left are changed in place.

    >>> flow, u, v, left = np.zeros(4), np.zeros(2), np.zeros(2), (np.ones(2), np.ones(2))
    >>> arcs = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.array([1.0, 2.0, 1.0, 5.0])
    >>> scaled_flow(*arcs, flow, (u, v), left, 1e-15)
    >>> flow.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    from driftfit.transport.kernels.flow import push_all  # numba is slow to import

    unit = float(np.abs(cost).mean())
    if unit == 0.0:
        return
    leave = _LEAVE * float(left[0].sum() + flow.sum())
    whole = left[1] + np.bincount(head, flow, len(left[1]))
    eps, budget = _FIRST_EPSILON, _SCALING_LOOKS * len(head)
    while True:
        looks = push_all(start, head, cost, flow, *potentials, *left, eps * unit, leave, dust, budget)
        if eps <= _LAST_EPSILON or looks >= budget:
            break
        eps = max(eps / _FACTOR, _LAST_EPSILON)
    # Many pushes sum up roundings: what columns lack is counted anew.
    left[1][:] = whole - np.bincount(head, flow, len(whole))
    tail = np.repeat(np.arange(len(left[0])), np.diff(start))
    for column in np.flatnonzero(left[1] < -dust):
        arcs = np.flatnonzero(head == column)
        arc = arcs[flow[arcs].argmax()]
        back = min(flow[arc], -left[1][column])
        flow[arc] -= back
        left[0][tail[arc]] += back
    np.maximum(left[1], 0.0, out=left[1])


class TransportTree:
    """A basic solution of the transport problem between two weighted clouds, improved by pivots.

    Nodes are the rows, the columns and a root; arcs are one artificial arc for each node but
    the root, then the candidate pairs in the order in which they were added.

    Parameters
    ----------
    weights0, weights1 : float arrays
    max_pivots : int, optional
        Pivots after which it gives up with an error.

    Examples
    --------
    >>> tree = TransportTree(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    >>> tree.add(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0.0, 1.0, 2.0, 0.5]))
    >>> tree.begin(np.zeros(2), np.zeros(2))
    >>> _ = tree.improve()
    >>> [part.tolist() for part in tree.entries()]
    [[0, 0, 1], [0, 1, 1], [0.25, 0.25, 0.5]]
    """

    def __init__(self, weights0: Float, weights1: Float, max_pivots: int | None = None) -> None:
        n, m = len(weights0), len(weights1)
        self.n, self.m = n, m
        self.most = _PIVOTS_PER_NODE * (n + m) + _PIVOTS_AT_ONCE if max_pivots is None else max_pivots
        self.weights = np.concatenate([weights0, weights1 * (weights0.sum() / weights1.sum())])
        self.dust = _DUST * float(weights0.sum())
        node = np.arange(n + m, dtype=np.int32)
        self.tail = np.where(node < n, node, np.int32(n + m))
        self.head = np.where(node < n, np.int32(n + m), node)
        self.cost = np.zeros(n + m)
        self.flow = np.zeros(n + m)
        self.base0, self.base1, self.cap, self.sharpenings = np.zeros(n), np.zeros(m), np.inf, 0
        # Pairs that were added since the tree was planted; whether places of pairs were used again since then.
        self.fresh, self.swept = 0, False
        # Potentials of the shortest paths, where they sent everything and nothing has changed since.
        self.routed: tuple[Float, Float] | None = None
        size = n + m + 1
        self.links = np.full((5, size), -1, np.int32)
        self.count = np.ones(size, np.int32)
        self.upward = np.zeros(size, np.bool_)
        self.potential = np.zeros(size)

    def add(self, rows: Index, cols: Index, costs: Float) -> None:
        """More candidate pairs."""
        self.routed = None
        self.tail = np.concatenate([self.tail, rows.astype(np.int32)])
        self.head = np.concatenate([self.head, (cols + self.n).astype(np.int32)])
        self.cost = np.concatenate([self.cost, self._seen(rows, cols, costs)])
        self.flow = np.concatenate([self.flow, np.zeros(len(rows))])
        self.fresh += len(rows)

    def begin(self, u: Any, v: Any) -> None:
        """The plan of shortest augmenting paths from these potentials, and its tree."""
        first = self.n + self.m
        # A few far samples do not spoil the digits of all others: they wait until artificial arcs cost more.
        common = float(np.quantile(np.abs(self.cost[first:]), _COMMON)) if len(self.cost) > first else 0.0
        self._set_artificial(_ARTIFICIAL * (common or self.scale))
        self.flow[:first] = self.weights
        self._plant(to_numpy(u).copy(), to_numpy(v).copy())

    def _plant(self, u: Float, v: Float) -> None:
        """Improve the flow there is, from these potentials, and make a tree of what carries it."""
        from driftfit.transport.kernels.flow import join, route  # numba is slow to import
        from driftfit.transport.kernels.simplex import forest

        first, n = self.n + self.m, self.n
        order = np.argsort(self.tail[first:], kind="stable")
        start = np.searchsorted(self.tail[first:][order], np.arange(n + 1))
        left, flow = self.flow[:first].copy(), self.flow[first:][order]
        arcs = start, self.head[first:][order] - n, self.cost[first:][order]
        if first >= _SCALED_FROM:
            scaled_flow(*arcs, flow, (u, v), (left[:n], left[n:]), self.dust / first)
        route(*arcs, flow, u, v, left[:n], left[n:], self.dust / first, _LOOKS_EACH * len(order))
        self.flow[:first] = left
        self.flow[first + order] = flow
        chosen = forest(self.tail, self.head, self.cost, self.flow, first + 1)
        by_column = np.argsort(self.head[first:], kind="stable") + first
        column_start = np.searchsorted(self.head[by_column] - n, np.arange(self.m + 1))
        self.links[:], self.count[:], self.fresh = -1, 1, 0
        join(
            n, chosen, by_column, column_start, self.tail, self.head, self.cost, u, v, self.links, self.count,
            self.upward, self.potential,
        )  # fmt: skip
        reduced = self.cost[first:] - u[self.tail[first:]] - v[self.head[first:] - n]
        off = np.where(self.flow[first:] > 0.0, np.abs(reduced), -reduced).max(initial=0.0)
        self.routed = (u, v) if left.sum() <= self.dust and off <= self._tolerance else None

    def improve(self) -> int:
        """Pivot until the plan is optimal on its candidates; returns the number of pivots."""
        pivots, size = 0, self.n + self.m
        # Pivots go round long ways in a large tree, one pair at a time: where many are to come, it is planted anew.
        anew = size >= _SCALED_FROM and self.sharpenings == 0 and not self.swept
        if anew and self.fresh > _MANY * size:
            self._plant(*self.potentials)
        for _ in range(_MOST_RAISES):
            made = self._pivot(_PATIENCE * size if anew else np.inf)
            if anew and made >= _PATIENCE * size:
                anew = False
                self._plant(*self.potentials)
                made += self._pivot()
            pivots += made
            if self.flow[:size].sum() <= self.dust:
                return pivots
            self._set_artificial(_RAISE * self.cost[0])
            self._renew()
        raise SolverError("the candidate pairs admit no plan; give every sample more of them")

    def _pivot(self, enough: float = np.inf) -> int:
        """Pivots until none pays, or ``enough`` were made; how many."""
        from driftfit.transport.kernels.simplex import pivots as exchange  # numba is slow to import

        tolerance, cursor = self._tolerance, np.array([self.n + self.m])
        pivots = 0
        while pivots < self.most:
            # A number at a time: an interrupt is heard between two calls.
            made = exchange(
                self.n + self.m, self.tail, self.head, self.cost, self.flow, tolerance, self.links, self.count,
                self.upward, self.potential, cursor, _PIVOTS_AT_ONCE,
            )  # fmt: skip
            pivots += int(made)
            self.routed = None if made else self.routed
            if made < _PIVOTS_AT_ONCE or pivots >= enough:
                return pivots
        raise SolverError(f"the network simplex did not end in {self.most:,} pivots; raise max_iterations")

    def sweep(self, table: CostTable) -> bool:
        """Pivot over all pairs of a table, row after row, until none pays; whether that was possible.

        For potentials too poor to choose candidates. A pass takes the rows that violate most, as seen in the
        pass before. Costs are those of the table's blocks; in the end the pairs in use get those of single pairs.
        """
        from driftfit.transport.kernels.simplex import sweep  # numba is slow to import

        if self.sharpenings or not (table.quick or table.kept) or is_tensor(table.home):
            return False
        first, room, n, self.swept = len(self.tail), self.n + self.m + 1, self.n, True
        self.add(np.zeros(room, np.int64), np.full(room, -n), np.zeros(room))
        free, state = np.arange(first, first + room)[::-1].copy(), np.array([room, first, n])
        tolerance, worst, pivots = self._tolerance, np.full(1, -np.inf), 0
        while worst[0] < -tolerance and pivots < self.most:
            bar = max(tolerance, -_WORST_SHARE * worst[0]) if np.isfinite(worst[0]) else tolerance
            worst[0] = 0.0
            self._renew()
            for part in table_parts(table):
                pivots += sweep(
                    table.block(part), part.start, self.tail, self.head, self.cost, self.flow, bar, self.links,
                    self.count, self.upward, self.potential, free, state, worst,
                )  # fmt: skip
        used = first + np.flatnonzero(self.head[first:] > 0)
        rows, cols = self.tail[used].astype(np.int64), self.head[used].astype(np.int64) - n
        self.cost[used] = table.pairs(rows, cols)
        self._renew()
        return True

    def sharpen(self, u: Float, v: Float) -> bool:
        """Go on with reduced costs, cut off above those that the plan uses; whether that may help.

        A few huge costs hide the small ones from the arithmetic of the potentials. The tree
        stays: it is a plan whatever the costs are.
        """
        if self.sharpenings == _MOST_SHARPENINGS:
            return False
        self.sharpenings += 1
        self.routed = None
        first = self.n + self.m
        rows, cols = self.tail[first:], self.head[first:] - self.n
        given = np.where(self.cost[first:] < self.cap, self.cost[first:], np.inf) + self.base0[rows] + self.base1[cols]
        reduced = given - u[rows] - v[cols]
        used = reduced[self.flow[first:] > 0]
        self.base0, self.base1 = u, v
        # A cost that no sensible plan pays, far below the largest one.
        finite = reduced[np.isfinite(reduced)]
        self.cap = float(max(16.0 * used[np.isfinite(used)].max(initial=0.0), np.median(finite))) or 1.0
        self.cost[first:] = np.minimum(reduced, self.cap)
        self._set_artificial(_ARTIFICIAL * self.scale)
        self._renew()
        return True

    def _seen(self, rows: Index, cols: Index, costs: Float) -> Float:
        """Costs as the tree sees them, after sharpening."""
        if self.sharpenings == 0:
            return costs
        return np.asarray(np.minimum(costs - self.base0[rows] - self.base1[cols], self.cap))

    @property
    def scale(self) -> float:
        """The largest cost of a pair."""
        costs = self.cost[self.n + self.m :]
        return float(np.abs(costs).max()) or 1.0 if len(costs) else 1.0

    @property
    def _tolerance(self) -> float:
        # Potentials hold the cost of an artificial arc, whose last digit is no reason to pivot.
        return max(_TOLERANCE * self.scale, 4 * float(np.finfo(np.float64).eps) * float(self.cost[0]))

    @property
    def potentials(self) -> tuple[Float, Float]:
        """Potentials of rows and columns: their sum is the cost of every pair in use.

        Those of the tree, or those of the paths while they prove as much: they began as potentials of all pairs, not of
        the candidates alone, and few other pairs are below them.
        """
        if self.routed is not None:
            return self.routed
        first = self.n + self.m
        artificial, hanging = self.cost[0], np.flatnonzero(self.links[0] == first)
        if len(hanging) == 1:
            # One artificial arc moves all potentials alike: its large cost would only spoil their digits.
            self.cost[:first] = 0.0
        self._renew()
        self.cost[:first] = artificial
        u, v = -self.potential[: self.n], self.potential[self.n : -1]
        middle = np.median(u)
        return self.base0 + (u - middle), self.base1 + (v + middle)

    def entries(self) -> tuple[Index, Index, Float]:
        """Rows, columns and mass of the plan, whose marginals are the weights to their last digits."""
        from driftfit.transport.kernels.simplex import settle  # numba is slow to import

        first = self.n + self.m
        supply = np.append(self.weights, 0.0)
        supply[self.n :] *= -1.0
        # Two totals differ by rounding: every column bears its share, and the largest weight what is left of it.
        supply[self.n :] -= supply[self.n :] * (math.fsum(supply) / math.fsum(supply[self.n :]))
        rest, largest = np.zeros_like(supply), np.abs(supply).argmax()
        supply[largest] -= math.fsum(supply)
        rest[largest] = -math.fsum(supply)
        flow = np.zeros_like(self.flow)
        settle(np.argsort(self.count, kind="stable"), supply, rest, self.links, self.upward, flow)
        least = np.minimum(self.weights[self.tail[first:]], self.weights[self.head[first:]])
        used = np.flatnonzero(flow[first:] > 4 * np.finfo(np.float64).eps * least) + first
        return self.tail[used].astype(np.int64), self.head[used].astype(np.int64) - self.n, flow[used]

    def _renew(self) -> None:
        from driftfit.transport.kernels.simplex import renew_potentials  # numba is slow to import

        renew_potentials(self.cost, self.links, self.upward, self.potential)

    def _set_artificial(self, cost: float) -> None:
        self.cost[: self.n + self.m] = cost

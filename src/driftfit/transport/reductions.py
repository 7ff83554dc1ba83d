"""Smaller problems with the same answer: no samples without weight, equal samples merged, samples on one line.

Ties between copies of one sample cost every exact solver time and mean nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.transport.costs.cost import Precomputed
from driftfit.transport.costs.squared import square_norms
from driftfit.transport.costs.table import BLOCK_ENTRIES, row_parts
from driftfit.transport.plan import monotone_entries
from driftfit.transport.problem import Problem, Solution, equal_weights

Index = NDArray[np.int64]
Float = NDArray[np.float64]

# Fewer copies than this share of the samples are not worth the trouble.
_WORTHWHILE = 0.1
# Weights are whole multiples of two to minus this: of the digits of all but vanishing ones none is lost.
_BITS = 160
# Columns that are compared first.
_FEW_COLUMNS = 64
# Samples this far off, in units of the spread along the line, are not on it.
_OFF_LINE = 1e-7
# Samples of each cloud that a first look takes in.
_LOOKED_AT = 16


def among_carriers(problem: Problem, solve: Callable[[Problem], Solution]) -> Solution:
    """Solve between the samples that carry weight.

    >>> problem = Problem.of([[0.0], [1.0], [2.0]], [[1.0]], [1, 0, 1])
    >>> among_carriers(problem, lambda small: Solution(np.arange(2), np.zeros(2, int), small.weights0)).rows.tolist()
    [0, 2]
    """
    if problem.carried:
        return solve(problem)
    rows, cols = np.flatnonzero(problem.weights0 > 0), np.flatnonzero(problem.weights1 > 0)
    found = solve(problem.between(rows, cols))
    potential = None
    if found.potential0 is not None:
        potential = np.zeros(problem.shape[0])
        potential[rows] = found.potential0
    return replace(found, rows=rows[found.rows], cols=cols[found.cols], potential0=potential)


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A smaller problem and the group that each sample of the original went to."""

    original: Problem
    problem: Problem
    group0: Index
    group1: Index

    def spread(self, solution: Solution) -> Solution:
        """The same plan between the original samples, whose marginals it keeps to their last digit."""
        w0, w1 = self._whole_weights()
        total = sum(w0)
        rows, cols = solution.rows.tolist(), solution.cols.tolist()
        masses = _whole_masses(rows, cols, _summed(w0, self.group0), _summed(w1, self.group1))
        if masses is None:
            masses = [round(share * total) for share in map(Fraction, solution.mass.tolist())]
        row_of, entry, masses = _shared(rows, masses, self.group0, w0)
        col_of, piece, masses = _shared([cols[k] for k in entry], masses, self.group1, w1)
        potential = None if solution.potential0 is None else solution.potential0[self.group0]
        return replace(
            solution,
            rows=np.array(row_of)[piece],
            cols=np.array(col_of),
            mass=np.array([amount / total for amount in masses]),
            potential0=potential,
        )

    def _whole_weights(self) -> tuple[list[int], list[int]]:
        """Both sides' weights as whole numbers of one total, which are divided without any rounding."""
        (n, m), weights0, weights1 = self.original.shape, self.original.weights0, self.original.weights1
        if equal_weights(weights0) and equal_weights(weights1):
            common = int(np.gcd(n, m))
            return [m // common] * n, [n // common] * m
        w0, w1 = ([int(w * 2.0**_BITS) for w in weights.tolist()] for weights in (weights0, weights1))
        # Two totals differ by rounding: every weight bears its share, and the largest what is left of it.
        total0, total1 = sum(w0), sum(w1)
        w1 = [w + (total0 - total1) * w // total1 for w in w1]
        w1[max(range(m), key=w1.__getitem__)] += total0 - sum(w1)
        return w0, w1


def collapse(problem: Problem) -> Collapsed | None:
    """Merge equal samples of either cloud; ``None`` where there are hardly any. Looked for once in a problem.

    >>> small = collapse(Problem.of([[0.0], [0.0], [1.0]], [[2.0], [3.0], [2.0]]))
    >>> small.problem.shape, small.problem.weights0.round(3).tolist()
    ((2, 2), [0.667, 0.333])
    """
    if not problem.merged:
        problem.merged.append(_merged(problem))
    found: Collapsed | None = problem.merged[0]
    return found


def _merged(problem: Problem) -> Collapsed | None:
    if isinstance(problem.cost, Precomputed):
        rows, cols = problem.x0[:, 0].astype(np.int64), problem.x1[:, 0].astype(np.int64)
        matrix = problem.cost.matrix
        if matrix.shape != problem.shape or (np.diff(rows) != 1).any() or (np.diff(cols) != 1).any():
            return None
        group0, group1 = groups(matrix), groups(matrix.T)
    else:
        group0, group1 = groups(problem.x0), groups(problem.x1)
    n, m = problem.shape
    first0, first1 = np.unique(group0, return_index=True)[1], np.unique(group1, return_index=True)[1]
    if len(first0) > (1 - _WORTHWHILE) * n and len(first1) > (1 - _WORTHWHILE) * m:
        return None
    weights0, weights1 = np.bincount(group0, problem.weights0), np.bincount(group1, problem.weights1)
    return Collapsed(problem, problem.between(first0, first1, weights0, weights1), group0, group1)


def groups(x: Any) -> Index:
    """A number for each row, equal for equal rows; rows 0, 1, ... of the groups in order of appearance.

    >>> groups(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    """
    n = x.shape[0]
    if sp.issparse(x):
        return np.arange(n)  # rarely equal; not worth a special way
    x = np.asarray(x)
    weights = np.random.default_rng(7).standard_normal(x.shape[1]).astype(x.dtype)
    key = x @ weights
    order = np.argsort(key, kind="stable")
    # Equal rows have equal keys up to the rounding of the product; the rows themselves decide.
    close = np.flatnonzero(np.diff(key[order]) <= 1e-4 * np.abs(key[order][1:]))
    # A few columns tell most rows apart.
    some = np.unique(np.linspace(0, x.shape[1] - 1, _FEW_COLUMNS).astype(np.int64))
    few = x[:, some][order]
    close = close[(few[close] == few[close + 1]).all(axis=1)]
    same = np.zeros(n, bool)
    for part in row_parts((len(close), x.shape[1]), BLOCK_ENTRIES):
        same[close[part] + 1] = (x[order[close[part]]] == x[order[close[part] + 1]]).all(axis=1)
    label = np.empty(n, np.int64)
    label[order] = np.cumsum(~same) - 1
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


def _summed(weights: list[int], group: Index) -> list[int]:
    totals = [0] * (int(group.max()) + 1)
    for weight, of in zip(weights, group.tolist(), strict=True):
        totals[of] += weight
    return totals


def _whole_masses(rows: list[int], cols: list[int], left0: list[int], left1: list[int]) -> list[int] | None:
    """Masses of a plan without cycles from its marginals, leaf after leaf, exact; ``None`` where it has none.

    >>> _whole_masses([0, 0, 1], [0, 1, 1], [3, 2], [1, 4])
    [1, 2, 2]
    """
    n = len(left0)
    left, at = left0 + left1, [set[int]() for _ in range(n + len(left1))]
    for entry, (r, c) in enumerate(zip(rows, cols, strict=True)):
        at[r].add(entry)
        at[n + c].add(entry)
    masses = [-1] * len(rows)
    leaves = [node for node, entries in enumerate(at) if len(entries) == 1]
    while leaves:
        node = leaves.pop()
        if not at[node]:
            continue
        entry = at[node].pop()
        other = n + cols[entry] if node < n else rows[entry]
        at[other].discard(entry)
        masses[entry] = left[node]
        left[other] -= left[node]
        left[node] = 0
        if len(at[other]) == 1:
            leaves.append(other)
    return masses if min(masses) >= 0 and not any(left) else None


def _shared(
    group: list[int], mass: list[int], member: Index, weights: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Divide entries, each of one group, among the group's members: member, entry and mass of each piece.

    Members are filled one after the other. The last and largest entry of a group takes what its members still
    lack: nothing, where the masses are exact.
    """
    entries = sorted(range(len(group)), key=lambda entry: (group[entry], mass[entry]))
    members = np.argsort(member, kind="stable")
    firsts = np.searchsorted(member[members], np.arange(member.max() + 2)).tolist()
    lacks = [weights[k] for k in members.tolist()]
    pieces: list[tuple[int, int, int]] = []
    at, current = 0, -1
    for place, entry in enumerate(entries):
        of, amount = group[entry], mass[entry]
        is_last = place + 1 == len(entries) or group[entries[place + 1]] != of
        if of != current:
            at, current = firsts[of], of
        end = firsts[of + 1]
        while at < end and (is_last or amount > 0):
            piece = lacks[at] if is_last else min(amount, lacks[at])
            if piece > 0:
                pieces.append((int(members[at]), entry, piece))
            lacks[at] -= piece
            amount -= piece
            if lacks[at] > 0:
                break
            at += 1
    return [piece[0] for piece in pieces], [piece[1] for piece in pieces], [piece[2] for piece in pieces]


def positions_on_a_line(x0: NDArray[Any], x1: NDArray[Any]) -> tuple[Float, Float] | None:
    """Where the samples of both clouds lie on their common line; ``None`` if there is none.

    >>> x = np.array([[0.0, 0.0], [2.0, 2.0]])
    >>> [side.round(3).tolist() for side in positions_on_a_line(x, x[:1])]
    [[2.828, 0.0], [2.828]]
    >>> positions_on_a_line(np.eye(2), -np.eye(2)) is None
    True
    """
    if len(x0) > _LOOKED_AT and _positions(x0[:_LOOKED_AT], x1[:_LOOKED_AT]) is None:
        return None
    return _positions(x0, x1)


def _positions(x0: NDArray[Any], x1: NDArray[Any]) -> tuple[Float, Float] | None:
    clouds = [x.astype(np.float64) - x0[-1] for x in (x0, x1)]
    lengths = [square_norms(x) for x in clouds]
    longest = max(lengths, key=np.max)
    far = clouds[0 if longest is lengths[0] else 1][int(longest.argmax())]
    length = float(np.sqrt(longest.max()))
    direction = far / length if length > 0 else np.eye(x0.shape[1])[0]
    along = [x @ direction for x in clouds]
    off = max(float((total - line**2).max()) for total, line in zip(lengths, along, strict=True))
    return (along[0], along[1]) if off <= (_OFF_LINE * length) ** 2 else None


def second_potential_on_a_line(problem: Problem, positions: tuple[Float, Float]) -> Float:
    """The second potential of the plan that couples both clouds in their order, for squared distances.

    Entries of that plan form a staircase, on which potentials and costs agree; a step in both
    directions at once goes by way of the corner. For convex costs such potentials are feasible.
    """
    (order0, order1), (s, t) = (np.argsort(x, kind="stable") for x in positions), positions
    rows, cols, _ = monotone_entries(problem.weights0[order0], problem.weights1[order1])
    s, t = s[order0], t[order1]
    # From column j to j + 1 the staircase passes one row; the difference of costs there is that of potentials.
    first = np.searchsorted(cols, np.arange(len(t)))
    at = s[rows[np.minimum(first[1:], len(rows) - 1)]]
    steps = (at - t[1:]) ** 2 - (at - t[:-1]) ** 2
    v = np.empty(len(t))
    v[order1] = np.concatenate([[0.0], np.cumsum(steps)])
    return v

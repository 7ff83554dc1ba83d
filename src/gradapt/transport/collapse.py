"""Equal samples merged into one, and plans spread back over the copies.

Ties between copies of one sample cost every exact solver time and mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gradapt.transport.costs import Precomputed
from gradapt.transport.problem import Problem, Solution
from gradapt.transport.rounding import monotone_entries

__all__ = ["Collapsed", "collapse"]

Index = NDArray[np.int64]

# Fewer copies than this share of the samples are not worth the trouble.
_WORTHWHILE = 0.1


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A smaller problem and the group that each sample of the original went to."""

    original: Problem
    problem: Problem
    group0: Index
    group1: Index

    def spread(self, solution: Solution) -> Solution:
        """The same plan between the original samples."""
        rows, cols, mass = solution.rows, solution.cols, solution.mass
        if self.original.uniform:
            # Whole multiples of one sample's weight: counted, not measured.
            mass = np.rint(mass * self.original.shape[0])
        row_of, entry, mass = _share(rows, mass, self.group0, _units(self.original, 0))
        cols = cols[entry]
        col_of, entry, mass = _share(cols, mass, self.group1, _units(self.original, 1))
        potential = None if solution.potential0 is None else solution.potential0[self.group0]
        return Solution(row_of[entry], col_of, mass / mass.sum(), potential)


def collapse(problem: Problem) -> Collapsed | None:
    """Merge equal samples of either cloud; ``None`` where there are hardly any.

    >>> small = collapse(Problem.of([[0.0], [0.0], [1.0]], [[2.0], [3.0], [2.0]]))
    >>> small.problem.shape, small.problem.weights0.round(3).tolist()
    ((2, 2), [0.667, 0.333])
    """
    if isinstance(problem.cost, Precomputed):
        rows, cols = problem.x0[:, 0].astype(np.int64), problem.x1[:, 0].astype(np.int64)
        matrix = problem.cost.matrix
        if matrix.shape != problem.shape or (np.diff(rows) != 1).any() or (np.diff(cols) != 1).any():
            return None
        group0, group1 = groups(matrix), groups(matrix.T)
    else:
        group0, group1 = groups(problem.x0), groups(problem.x1)
    n, m = problem.shape
    count0, count1 = int(group0.max()) + 1, int(group1.max()) + 1
    if count0 > (1 - _WORTHWHILE) * n and count1 > (1 - _WORTHWHILE) * m:
        return None
    first0, first1 = np.unique(group0, return_index=True)[1], np.unique(group1, return_index=True)[1]
    weights0 = np.bincount(group0, problem.weights0, count0)
    weights1 = np.bincount(group1, problem.weights1, count1)
    small = replace(
        problem, x0=problem.x0[first0], x1=problem.x1[first1], weights0=weights0 / weights0.sum(),
        weights1=weights1 / weights1.sum(), uniform=False,
    )  # fmt: skip
    return Collapsed(problem, small, group0, group1)


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
    same = np.zeros(n, bool)
    for position in close:
        same[position + 1] = bool((x[order[position]] == x[order[position + 1]]).all())
    label = np.empty(n, np.int64)
    label[order] = np.cumsum(~same) - 1
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


def _units(problem: Problem, side: int) -> NDArray[np.float64]:
    if problem.uniform:
        return np.ones(problem.shape[side])
    return problem.weights1 if side else problem.weights0


def _share(
    group: Index, mass: NDArray[np.float64], member: Index, weights: NDArray[np.float64]
) -> tuple[Index, Index, NDArray[np.float64]]:
    """Divide entries, each of one group, among the group's members: member, entry and mass of each piece."""
    entries, members = np.argsort(group, kind="stable"), np.argsort(member, kind="stable")
    # Both lists run through the groups in one order with equal totals: couple them in that order.
    a, b, pieces = monotone_entries(mass[entries], weights[members])
    # Rounding may let a seam slip into the next group.
    fits = group[entries[a]] == member[members[b]]
    return members[b[fits]], entries[a[fits]], pieces[fits]

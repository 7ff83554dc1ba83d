"""Smaller problems with the same answer: samples without weight left out, equal samples merged into one.

Ties between copies of one sample cost every exact solver time and mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gradapt.transport.problem.cost_table import BLOCK_ENTRIES, row_parts
from gradapt.transport.problem.costs import Precomputed
from gradapt.transport.problem.problem import Problem, Solution, equal_weights

__all__ = ["Collapsed", "among_carriers", "collapse", "groups"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Fewer copies than this share of the samples are not worth the trouble.
_WORTHWHILE = 0.1
# Columns that are compared first.
_FEW_COLUMNS = 64


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
        n, m = self.original.shape
        w0, w1, mass = self.original.weights0, self.original.weights1, solution.mass
        if equal_weights(w0) and equal_weights(w1):
            # Whole multiples of a common share: counted, not measured.
            common = np.gcd(n, m)
            w0, w1 = np.full(n, float(m // common)), np.full(m, float(n // common))
            mass = np.rint(mass * w0.sum())
        row_of, entry, mass = _shared(solution.rows, mass, self.group0, w0)
        col_of, piece, mass = _shared(solution.cols[entry], mass, self.group1, w1)
        potential = None if solution.potential0 is None else solution.potential0[self.group0]
        return replace(solution, rows=row_of[piece], cols=col_of, mass=mass / w0.sum(), potential0=potential)


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


def _shared(group: Index, mass: Float, member: Index, weights: Float) -> tuple[Index, Index, Float]:
    """Divide entries, each of one group, among the group's members: member, entry and mass of each piece.

    Members are filled one after the other. The last and largest entry of a group takes what its members still
    lack, so that rounding stays inside the group and where it is smallest.
    """
    entries, members = np.lexsort((mass, group)), np.argsort(member, kind="stable")
    firsts = np.searchsorted(member[members], np.arange(member.max() + 2))
    lacks = weights[members].tolist()
    last = np.append(np.diff(group[entries]) != 0, True).tolist()
    pieces: list[tuple[int, int, float]] = []
    at, current = 0, -1
    for entry, of, amount, is_last in zip(entries.tolist(), group[entries].tolist(), mass[entries].tolist(), last,
                                          strict=True):  # fmt: skip
        if of != current:
            at, current = int(firsts[of]), of
        end = int(firsts[of + 1])
        while at < end and (is_last or amount > 0):
            piece = lacks[at] if is_last else min(amount, lacks[at])
            if piece > 0:
                pieces.append((int(members[at]), entry, piece))
            lacks[at] -= piece
            amount -= piece
            if lacks[at] > 0:
                break
            at += 1
    at_member, at_entry, pieces_mass = zip(*pieces, strict=True)
    return np.array(at_member), np.array(at_entry), np.array(pieces_mass)

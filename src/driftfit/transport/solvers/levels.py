"""From coarse to fine: potentials between samples of few features, by way of the means of small boxes.

Boxes of both clouds make a smaller problem with much the same potentials, that of their means and weights. It is solved
exactly, from boxes of boxes in its turn; its potential, carried over, chooses the candidate pairs of the finer one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.costs.near import NearTable
from driftfit.transport.costs.squared import SquaredDistances
from driftfit.transport.plan import monotone_entries
from driftfit.transport.solvers.pricing import SMALL_PAIRS, Pairs, price_out
from driftfit.transport.solvers.simplex import TransportTree

Float = NDArray[np.float64]

# A start serves where no more than this share of the columns is missing from the least few pairs of all rows.
_MISSING, _LEAST = 0.2, 6


def by_levels(table: NearTable, weights: tuple[Float, Float], start: Float | None = None) -> tuple[Float, Pairs]:
    """An approximate potential of the second cloud, and the pairs of a plan that is not far from the best.

    A given start is taken at the finest level at which it serves: what is noise between neighbours may be right for
    boxes. Where it is poor all the same, `price_out` raises.

    >>> table = NearTable(SquaredDistances(np.zeros((3, 1)), np.ones((2, 1)), 0.0, 0.0, True))
    >>> v, (rows, cols) = by_levels(table, (np.full(3, 2.0), np.full(2, 3.0)))
    >>> v.tolist(), rows.tolist(), cols.tolist()
    ([0.0, 0.0], [0, 1, 1, 2], [0, 0, 1, 1])
    """
    n, m = table.shape
    if n * m <= SMALL_PAIRS:
        return np.zeros(m), monotone_entries(*weights)[:2]
    if start is not None:
        reached = np.unique(table.columns.nearest(table.first, -start, _LEAST)[0])
        if len(reached) >= (1.0 - _MISSING) * m:
            return start, monotone_entries(*weights)[:2]
    (first, mass0), (second, mass1) = (
        tree.means(tree.samples, side) for tree, side in zip((table.rows, table.columns), weights, strict=True)
    )
    coarse = NearTable(SquaredDistances(first, second, 0.0, 0.0, True))
    if start is not None:
        start = table.columns.means(start[:, None], weights[1])[0][:, 0]
    v, pairs = by_levels(coarse, (mass0, mass1), start)
    tree = TransportTree(mass0, mass1)
    *plan, u = price_out(coarse, (mass0, mass1), v, tree, pairs=pairs, given=start is not None)
    return coarse.rows.nearest(table.second, -u, 1)[1][:, 0], _spread(table, weights, plan)


def _spread(table: NearTable, weights: tuple[Float, Float], plan: list[Any]) -> Pairs:
    """Pairs of a plan between samples that moves what another one moves between their groups."""
    rows, cols, mass = plan
    order0, order1 = table.rows.order, table.columns.order
    entry = np.argsort(rows, kind="stable")
    member, place, part = monotone_entries(weights[0][order0], mass[entry])
    entry = entry[place]
    order = np.argsort(cols[entry], kind="stable")
    piece, other, _ = monotone_entries(part[order], weights[1][order1])
    return order0[member[order[piece]]], order1[other]

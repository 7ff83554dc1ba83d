"""Samples that lie on one line: coupled in their order, with potentials from the same sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.problem.problem import Problem
from driftfit.transport.problem.squared_distances import square_norms
from driftfit.transport.solvers.entries import monotone_entries

__all__ = ["positions_on_a_line", "second_potential_on_a_line"]

Float = NDArray[np.float64]

# Samples this far off, in units of the spread along the line, are not on it.
_OFF_LINE = 1e-7
# Samples of each cloud that a first look takes in.
_LOOKED_AT = 16


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

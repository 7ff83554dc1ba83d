"""`transport_batch`: many small problems at once, side by side on all cores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import in_threads, to_numpy
from driftfit.transport.plan import Certificate, Plan
from driftfit.transport.problem import Problem, start_between
from driftfit.transport.solve import solve
from driftfit.transport.solvers.dense import Assignments, assign_samples, suits
from driftfit.transport.solvers.exact import Exact


@dataclass(frozen=True, eq=False)
class Plans(Sequence[Plan]):
    """Plans of a batch of problems, each with its certificate; a `Plan` is made when it is asked for.

    ``costs``: cost of each plan. ``bounds``: a proven lower bound on the cost of any plan, for each problem.
    """

    costs: NDArray[np.float64]
    bounds: NDArray[np.float64]
    _found: Assignments
    _places: NDArray[np.int64]
    _others: dict[int, Plan]
    _seconds: float

    def __len__(self) -> int:
        return len(self.costs)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[one] for one in range(len(self))[k]]
        k = range(len(self))[k]
        if k in self._others:
            return self._others[k]
        return self._found.plan(int(self._places[k]), self._seconds / len(self), Exact())

    def __iter__(self) -> Iterator[Plan]:
        return (self[k] for k in range(len(self)))

    def certificate(self, k: int) -> Certificate:
        """What is proven about one plan; its seconds are those of the whole batch, shared out."""
        if k in self._others:
            return self._others[k].certificate or Certificate(0.0, 0.0, 0.0, 0.0, 0.0)
        return self._found.certificate(int(self._places[k]), self._seconds / len(self))

    def potentials(self, k: int) -> Any:
        """Both potentials of a problem, feasible for all its pairs."""
        return self[k].potentials

    @property
    def partners(self) -> Any:
        """For each sample of the first set its partner: an array of shape (B, n), or a list where sizes differ."""
        each = [self[k].cols[np.argsort(self[k].rows, kind="stable")] if k in self._others else
                self._found.partner[self._found.part(int(self._places[k]))] for k in range(len(self))]  # fmt: skip
        return np.stack(each) if len({len(one) for one in each}) == 1 else each


def transport_batch(
    x0: Any, x1: Any, weights0: Any = None, weights1: Any = None, *, cost: Any = None, start: Any = None
) -> Plans:
    """Couple each two sets of a batch at least cost, exactly and with a proof for each.

    Sets of equally many samples, up to 1,024 of 256 features or fewer of more, go side by side through compiled loops
    at squared distances. Other problems of the batch are solved one by one, as `transport` does.

    Parameters
    ----------
    x0, x1 : arrays of shape (B, n, d) and (B, m, d), or lists of arrays of shape (n, d)
        The two sets of each problem; sizes may differ from problem to problem.
    weights0, weights1 : sequences of arrays, optional
        Weights of the samples of each problem; uniform by default.
    cost : Cost or callable, optional
        As for `transport`.
    start : sequence, optional
        A start for each problem, as for `transport`: the plans of a batch that was much like this one, or an array of
        shape (B, m).

    Returns
    -------
    Plans
        A sequence of `Plan`, with ``costs``, ``bounds``, ``partners``, ``certificate(k)`` and ``potentials(k)``.

    Examples
    --------
    >>> plans = transport_batch([[[0.0], [1.0]], [[0.0], [3.0]]], [[[5.0], [4.0]], [[1.0], [2.0]]])
    >>> plans.costs.tolist(), plans.partners.tolist(), plans[1].certificate.proves_optimal()
    ([16.0, 1.0], [[1, 0], [0, 1]], True)
    """
    started = time.perf_counter()
    first, second = ([_plain(x) for x in side] for side in (x0, x1))
    *sides, begin = ([None] * len(first) if each is None else each for each in (weights0, weights1, start))
    if not len(first) == len(second) == len(sides[0]) == len(sides[1]) > 0:
        raise InputError(f"a batch needs as many first sets as second ones, got {len(first)} and {len(second)}")
    if len(begin) != len(first):
        raise InputError(f"start must hold one start for each of the {len(first)} problems, got {len(begin)}")
    plain = weights0 is None and weights1 is None and cost is None
    small = [k for k in range(len(first)) if plain and suits(first[k], second[k])]
    small = [k for k in small if first[k].shape[1] == first[small[0]].shape[1]]
    places, costs, bounds = np.full(len(first), -1), np.empty(len(first)), np.empty(len(first))
    found = Assignments.empty([])
    if small:
        found = _side_by_side([(first[k], second[k], begin[k]) for k in small], start is not None)
        places[small] = np.arange(len(small))
        places[np.array(small)[~found.proven]] = -1
    others: dict[int, Plan] = {}
    alone = np.flatnonzero(places < 0)

    def work(part: slice) -> None:
        for k in alone[part]:
            problem = Problem.of(first[k], second[k], sides[0][k], sides[1][k], cost, begin[k])
            others[int(k)] = solve(problem, Exact())

    in_threads(work, len(alone))
    for k in range(len(first)):
        proof = others[k].certificate if k in others else found.certificate(int(places[k]), 0.0)
        costs[k], bounds[k] = (proof.primal, proof.dual) if proof else (np.nan, -np.inf)
    return Plans(costs, bounds, found, places, others, time.perf_counter() - started)


def _plain(x: Any) -> Any:
    x = to_numpy(x) if not isinstance(x, list | tuple) else np.asarray(x)
    return np.ascontiguousarray(x, np.float64) if x.dtype.kind in "iuf" else x


def _side_by_side(problems: list[Any], started: bool) -> Assignments:
    """Small problems, each with its start, solved by compiled loops."""
    x, y = (_joined([problem[side] for problem in problems]) for side in (0, 1))
    v = _joined([start_between(*problem) for problem in problems]) if started else None
    return assign_samples(x, y, [len(problem[0]) for problem in problems], v)


def _joined(parts: list[Any]) -> NDArray[np.float64]:
    return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts))

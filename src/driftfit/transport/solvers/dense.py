"""Small assignments with all costs at hand: one compiled way from samples, or costs, to permutation and proof.

For a thousand samples the way through candidate lists takes longer than looking at all pairs. Compiled loops let go of
the interpreter's lock, so that several problems are solved side by side.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.arrays import has_numba, in_threads
from driftfit.transport.costs.table import gamma
from driftfit.transport.plan import Certificate, Plan, relative_gap

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Samples up to which all pairs are looked at.
DENSE = 1024
# Features from which a matrix product is quicker than differences, unless a set has so few values: the way through all
# other files then takes longer.
DENSE_FEATURES, _DENSE_VALUES = 256, 2**18
# Entries of the room that is kept from call to call: fresh memory takes longer to touch than a small problem to solve.
_KEPT_ENTRIES = 2**21
# Gaps above this share are those of costs too different in size for whole numbers.
_CLOSED = 1e-11
# Costs below this may have lost digits.
_FAINT = 1e-250
_kept = threading.local()


@dataclass(frozen=True, eq=False)
class Assignments:
    """Solutions of several problems, one after the other; those of problem ``k`` begin at ``starts[k]``.

    ``proofs`` has a row for each: the cost, a lower bound on that of any plan, and what sums of this size can tell.
    """

    starts: Index
    partner: Index
    u: Float
    v: Float
    paid: Float
    proofs: Float

    @classmethod
    def empty(cls, sizes: Any) -> Assignments:
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        n = int(starts[-1])
        return cls(starts, np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n), np.empty((len(sizes), 3)))

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Which problems are solved: the others have costs that are too different in size, too small, or no numbers."""
        primal, dual, _ = self.proofs.T
        with np.errstate(invalid="ignore"):
            closed = primal - dual <= _CLOSED * np.abs(primal)
            return np.asarray(closed & ((np.abs(primal) > _FAINT) | (primal == 0.0)))

    def certificate(self, k: int, seconds: float) -> Certificate:
        """The proof of a problem whose costs are not negative."""
        primal, dual, resolution = self.proofs[k].tolist()
        dual = max(dual, 0.0)
        return Certificate(primal, dual, relative_gap(primal, dual), 0.0, seconds, "potentials", resolution)

    def plan(self, k: int, seconds: float, solver: Any) -> Plan:
        """The plan of a problem, which took the solver so many seconds."""
        part = self.part(k)
        n, certificate = part.stop - part.start, self.certificate(k, seconds)
        rows, mass = np.arange(n), np.full(n, 1.0 / n)
        return Plan(
            rows, self.partner[part], mass, (n, n), self.paid[part], certificate, solver, potentials=self.potentials(k)
        )

    def part(self, k: int) -> slice:
        """Where the samples of a problem are."""
        return slice(int(self.starts[k]), int(self.starts[k + 1]))

    def potentials(self, k: int) -> tuple[Float, Float]:
        """Both potentials of a problem, feasible for all its pairs."""
        return self.u[self.part(k)], self.v[self.part(k)]


def assign_samples(x: Float, y: Float, sizes: Any, start: Float | None = None) -> Assignments:
    """Optimal permutations between samples at squared distances, one problem after the other.

    ``start`` has second potentials to begin from, also one after the other.

    >>> found = assign_samples(np.array([[0.0], [1.0]]), np.array([[5.0], [4.0]]), [2])
    >>> found.partner.tolist(), float(found.proofs[0, 0])
    ([1, 0], 16.0)
    """
    from driftfit.transport.kernels.dense import assign_samples as compiled  # numba is slow to import

    found, d = Assignments.empty(sizes), x.shape[1]
    starts, relative, most = found.starts, gamma(d + 16), int(max(sizes))
    given = np.empty(0) if start is None else start

    def work(part: slice) -> None:
        room, whole = _room(most * (most + 2 * (d + 7)), most * most)
        some = starts[part.start : part.stop + 1]
        a, b = int(some[0]), int(some[-1])
        each = (side[a:b] for side in (found.partner, found.u, found.v, found.paid))
        solve: Any = compiled
        solve(x[a:b], y[a:b], some - a, relative, given[a:b], *each, found.proofs[part], room, whole)

    in_threads(work, len(sizes), small=len(sizes) == 1)
    return found


def assign_costs(costs: Float, start: Float | None = None) -> Assignments:
    """The optimal permutation for a square matrix of costs; ``start`` is a second potential to begin from.

    >>> assign_costs(np.array([[0.0, 2.0], [1.0, 5.0]])).partner.tolist()
    [1, 0]
    """
    from driftfit.transport.kernels.dense import assign  # numba is slow to import

    n = len(costs)
    found = Assignments.empty([n])
    whole = _room(0, n * n)[1][: n * n].reshape(n, n)
    given = np.empty(0) if start is None else start
    assign(costs, 0.0, given, found.partner, found.u, found.v, found.paid, found.proofs[0], whole)
    return found


def suits(x0: Any, x1: Any) -> bool:
    """Whether two sets of samples can go this way as they are: equally many, few, plain and finite."""
    return (
        has_numba()
        and all(
            type(x) is np.ndarray and x.ndim == 2 and x.dtype in (np.float64, np.float32) and x.flags.c_contiguous
            for x in (x0, x1)
        )
        and x0.shape == x1.shape
        and 0 < x0.shape[0] <= DENSE
        and x0.shape[1] > 0
        and (x0.shape[1] <= DENSE_FEATURES or x0.size <= _DENSE_VALUES)
        and bool(np.isfinite(x0.sum() + x1.sum()))
    )


def _room(entries: int, whole: int) -> tuple[Float, Index]:
    """Room for a solve, the same one for each small solve of a thread."""
    if max(entries, whole) > _KEPT_ENTRIES:
        return np.empty(entries), np.empty(whole, np.int64)
    have: tuple[Float, Index] = getattr(_kept, "room", (np.empty(0), np.empty(0, np.int64)))
    if len(have[0]) < entries or len(have[1]) < whole:
        have = np.empty(max(entries, len(have[0]))), np.empty(max(whole, len(have[1])), np.int64)
        _kept.room = have
    return have

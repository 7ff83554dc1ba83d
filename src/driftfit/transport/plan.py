"""`Plan`: a sparse coupling of two weighted point clouds, what is proven about it, and samples along it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import check_points, check_position, check_same_features
from driftfit.domains.samples import Interpolated, is_tensor
from driftfit.errors import InputError

Entries = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

# Entries that together carry less than this mass are not stored.
_NEGLIGIBLE_MASS = 1e-9


@dataclass(frozen=True)
class Distortion:
    """Mean squared difference between the distances of two pairs that a plan joins.

    For a plan ``T`` it is the sum of ``(D0[i, j] - D1[k, l])^2 T[i, k] T[j, l]``: the loss of
    Gromov and Wasserstein. ``D0`` and ``D1`` are squared Euclidean distances, or those that the solver was given.

    ``value``: the loss of the plan. ``lower``: no plan between the two clouds has a smaller loss: this is proven.
    ``bound``: where ``lower`` comes from: ``"moments"`` (second moments and distances from the centre, Delon, Desolneux
    and Salmona), ``"distances"`` (how all distances are distributed, Memoli's second bound) or ``"none"``. ``history``:
    what was minimised after each exact step, for the start that was best. It never rises. ``start``: the start that was
    best.
    """

    value: float
    lower: float
    bound: str
    history: tuple[float, ...]
    start: str


@dataclass(frozen=True)
class Certificate:
    """What is proven about a plan, whichever solver made it.

    Attributes
    ----------
    primal : float
        Cost of the plan, summed over its own entries.
    dual : float
        A lower bound on the cost of *every* plan between the two domains, from
        potentials checked against all pairs (or from moments, see ``bound``).
    gap : float
        ``(primal - dual) / primal``: the plan costs at most this share more than the optimum.
    marginal_error : float
        Total mass by which the plan's marginals miss the weights of both domains.
    seconds : float
        Wall-clock time of the solver, without the time of the certificate itself.
    bound : str
        Where ``dual`` comes from: ``"potentials"`` of the solver, ``"neighbours"``
        (nearest-neighbour potentials) or ``"moments"`` (means and covariances).
    resolution : float
        Differences of cost below this are below the rounding of float64 sums over the plan:
        a plan and a bound so close are one number.
    """

    primal: float
    dual: float
    gap: float
    marginal_error: float
    seconds: float
    bound: str = "potentials"
    resolution: float = 0.0

    def proves_optimal(self, tolerance: float = 1e-9) -> bool:
        """Whether the plan couples the two domains and is optimal up to ``tolerance``.

        >>> Certificate(1.0, 1.0, 0.0, 0.0, 0.1).proves_optimal()
        True
        >>> Certificate(1.0, 0.5, 0.5, 0.0, 0.1).proves_optimal()
        False
        """
        closed = abs(self.gap) <= tolerance or abs(self.primal - self.dual) <= self.resolution
        return closed and self.marginal_error <= tolerance


@dataclass(frozen=True, eq=False)
class Plan:
    """A sparse coupling: entry ``k`` moves ``mass[k]`` from sample ``rows[k]`` to sample ``cols[k]``.

    The total mass is 1. What a cutoff removed before the rest was scaled back to
    mass 1 is kept in ``lost_mass``.

    Attributes
    ----------
    rows, cols : int arrays of one length
        Indices into the first and the second domain.
    mass : float array
        Positive, sums to 1.
    shape : (int, int)
        Sizes of the two domains.
    costs : float array or None
        Transport cost of each entry.
    certificate : Certificate or None
        What is proven about the plan.
    solver : object
        The solver value that made it.
    lost_mass : float
        Share of the original mass that cutoffs dropped.
    distortion : Distortion or None
        How far the plan bends distances inside the domains, where the solver looked at them.
    potentials : two float arrays or None
        Those of the certificate: a number for each sample of either domain, and no sum of two of them is above the cost
        of that pair. A later problem may start from them.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    mass: NDArray[np.float64]
    shape: tuple[int, int]
    costs: NDArray[np.float64] | None = field(default=None, repr=False)
    certificate: Certificate | None = None
    solver: Any = None
    lost_mass: float = 0.0
    distortion: Distortion | None = None
    potentials: tuple[NDArray[np.float64], NDArray[np.float64]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.cols) == len(self.mass):
            raise InputError(
                f"rows, cols and mass must have one length, got {len(self.rows)}, {len(self.cols)} and {len(self.mass)}"
            )
        if len(self.mass) == 0:
            raise InputError("a plan needs at least one entry")

    def __len__(self) -> int:
        return len(self.mass)

    def __repr__(self) -> str:
        text = f"Plan({self.shape[0]} x {self.shape[1]}, {len(self)} entries"
        if self.certificate is not None:
            text += f", cost {self.certificate.primal:.6g}, gap {self.certificate.gap:.1e}"
        if self.distortion is not None:
            text += f", distortion {self.distortion.value:.6g}"
        if self.lost_mass:
            text += f", lost mass {self.lost_mass:.3g}"
        return text + ")"

    @property
    def cost(self) -> float:
        """Total cost of the plan.

        >>> Plan(np.array([0]), np.array([0]), np.ones(1), (1, 1), costs=np.array([4.0])).cost
        4.0
        """
        if self.costs is None:
            raise InputError("this plan was made without costs; build it with transport()")
        return float(self.mass @ self.costs)

    def row_mass(self) -> NDArray[np.float64]:
        """Mass that leaves each sample of the first domain."""
        return np.asarray(np.bincount(self.rows, weights=self.mass, minlength=self.shape[0]), dtype=np.float64)

    def column_mass(self) -> NDArray[np.float64]:
        """Mass that arrives at each sample of the second domain."""
        return np.asarray(np.bincount(self.cols, weights=self.mass, minlength=self.shape[1]), dtype=np.float64)

    def tosparse(self) -> sp.csr_array:
        """The plan as a SciPy sparse array."""
        return sp.csr_array((self.mass, (self.rows, self.cols)), shape=self.shape)

    def todense(self) -> NDArray[np.float64]:
        """The plan as a full matrix; for small plans and pictures."""
        return np.asarray(self.tosparse().toarray())

    def carry(self, shares: NDArray[Any]) -> NDArray[np.float64]:
        """Carry class shares of the first domain to the second: at each sample, the mean over the mass that arrives.

        Shares travel, not mass: how much arrives does not matter, only from where. A sample
        at which nothing arrives, since a cutoff took its mass, gets zeros. With one-hot labels
        these are the transported labels of the paper's appendix.

        Parameters
        ----------
        shares : array of shape (n, K)
            One row for each sample of the first domain; a row of zeros carries nothing.

        Examples
        --------
        >>> plan = Plan(np.array([0, 1, 1]), np.array([1, 1, 0]), np.array([0.125, 0.375, 0.5]), (2, 2))
        >>> plan.carry(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
        [[0.0, 1.0], [0.25, 0.75]]
        """
        values = np.asarray(shares, dtype=np.float64)
        if values.ndim != 2 or values.shape[0] != self.shape[0]:
            raise InputError(
                f"shares must have {self.shape[0]} rows, one for each sample of the first domain, "
                f"got shape {values.shape}"
            )
        arrived = np.asarray(self.tosparse().T @ values)
        total = arrived.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(arrived, total, out=np.zeros_like(arrived), where=total > 0))

    def keep(self, entries: NDArray[np.bool_]) -> Plan:
        """The plan reduced to some of its entries, scaled back to mass 1, the rest counted as lost.

        >>> plan = Plan(np.array([0, 1]), np.array([0, 1]), np.array([0.25, 0.75]), (2, 2))
        >>> plan.keep(np.array([False, True])).lost_mass
        0.25
        """
        kept = float(self.mass[entries].sum())
        if kept <= 0:
            raise InputError("the cutoff leaves no mass at all; lower its threshold")
        costs = None if self.costs is None else self.costs[entries]
        mass = self.mass[entries] / kept
        thinned = replace(
            self,
            rows=self.rows[entries],
            cols=self.cols[entries],
            mass=mass,
            costs=costs,
            lost_mass=1.0 - (1.0 - self.lost_mass) * kept,
            distortion=None,
        )
        if self.certificate is None or costs is None:
            return replace(thinned, certificate=None)
        return replace(thinned, certificate=self._thinned_certificate(thinned, self.certificate))

    def _thinned_certificate(self, thinned: Plan, whole: Certificate) -> Certificate:
        # The lower bound still holds for full plans; the marginals no longer do, and this is said.
        moved = np.abs(thinned.row_mass() - self.row_mass()).sum()
        moved += np.abs(thinned.column_mass() - self.column_mass()).sum()
        primal = thinned.cost
        return replace(
            whole,
            primal=primal,
            gap=relative_gap(primal, whole.dual),
            marginal_error=whole.marginal_error + float(moved),
        )


def relative_gap(primal: float, dual: float) -> float:
    """``(primal - dual) / primal``, and 0 where both vanish.

    >>> relative_gap(2.0, 1.0), relative_gap(0.0, 0.0)
    (0.5, 0.0)
    """
    if primal == dual:
        return 0.0
    scale = abs(primal) if primal != 0 else abs(dual)
    return (primal - dual) / scale


def monotone_entries(weights0: NDArray[np.float64], weights1: NDArray[np.float64]) -> Entries:
    """Couple two sequences of equal total weight in their given order (north-west corner rule).

    At most ``n + m - 1`` entries. For points sorted on a line this is the optimal
    plan of every convex cost.

    >>> [part.tolist() for part in monotone_entries(np.array([0.5, 0.5]), np.array([0.25, 0.75]))]
    [[0, 0, 1], [0, 1, 1], [0.25, 0.25, 0.5]]
    """
    ends0, ends1 = np.cumsum(weights0), np.cumsum(weights1)
    # The shorter of two nearly equal totals is stretched, so that no mass is left over.
    ends1 *= ends0[-1] / ends1[-1]
    ends = np.sort(np.concatenate([ends0, ends1]))
    mass = np.diff(ends, prepend=0.0)
    # Lengths below the rounding error of the sums are seams between two cells, not cells.
    cells = mass > 4e-16 * ends0[-1]
    middle = ends[cells] - mass[cells] / 2
    rows = np.minimum(np.searchsorted(ends0, middle), len(weights0) - 1)
    cols = np.minimum(np.searchsorted(ends1, middle), len(weights1) - 1)
    return rows.astype(np.int64), cols.astype(np.int64), mass[cells]


def large_entries(plan: NDArray[np.float64]) -> Entries:
    """All but a negligible mass of a dense plan.

    >>> [part.tolist() for part in large_entries(np.array([[0.5, 1e-12], [0.0, 0.5]]))]
    [[0, 1], [0, 1], [0.5, 0.5]]
    """
    rows, cols = np.nonzero(plan > _NEGLIGIBLE_MASS / plan.size)
    return rows, cols, plan[rows, cols]


def balanced(
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    mass: NDArray[np.float64],
    weights0: NDArray[np.float64],
    weights1: NDArray[np.float64],
    sweeps: int = 50,
) -> NDArray[np.float64]:
    """Mass of the same entries, scaled by rows and columns in turn until it has nearly the marginals.

    For the largest entries of a plan, which alone carry too little. Where they admit no plan, some
    rows are left short.

    >>> rows, cols, mass, half = np.array([0, 1, 1]), np.array([0, 0, 1]), np.full(3, 0.1), np.full(2, 0.5)
    >>> balanced(rows, cols, mass, half, half).round(1).tolist()
    [0.5, 0.0, 0.5]
    """
    for _ in range(sweeps):
        for index, weights in ((rows, weights0), (cols, weights1)):
            total = np.bincount(index, mass, len(weights))
            mass = mass * np.divide(weights, total, out=np.zeros_like(total), where=total > 0)[index]
    return mass


def round_to_marginals(
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    mass: NDArray[np.float64],
    weights0: NDArray[np.float64],
    weights1: NDArray[np.float64],
) -> Entries:
    """The nearest honest plan: scale down what exceeds its marginal, then place the remainder.

    Scaling rows and columns down leaves a small remainder on both sides, which a
    monotone coupling of at most ``n + m`` further entries places (Altschuler, Weed
    and Rigollet 2017 use a dense rank-one term there; this one keeps the plan sparse).
    """
    n, m = len(weights0), len(weights1)
    for index, weights, size in ((rows, weights0, n), (cols, weights1, m)):
        total = np.bincount(index, mass, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(total > weights, weights / total, 1.0)
        mass = mass * factor[index]
    left0 = np.maximum(weights0 - np.bincount(rows, mass, n), 0.0)
    left1 = np.maximum(weights1 - np.bincount(cols, mass, m), 0.0)
    if left0.sum() > 1e-15 and left1.sum() > 1e-15:
        more_rows, more_cols, more_mass = monotone_entries(left0, left1)
        rows, cols = np.concatenate([rows, more_rows]), np.concatenate([cols, more_cols])
        mass = np.concatenate([mass, more_mass])
        rows, cols, mass = _merged(rows, cols, mass, m)
    positive = mass > 0
    rows, cols, mass = rows[positive], cols[positive], mass[positive]
    return rows, cols, mass / mass.sum()


def _merged(rows: NDArray[np.int64], cols: NDArray[np.int64], mass: NDArray[np.float64], m: int) -> Entries:
    keys, place = np.unique(rows * m + cols, return_inverse=True)
    return keys // m, keys % m, np.asarray(np.bincount(place, mass, len(keys)), dtype=np.float64)


def interpolate(x0: Any, x1: Any, plan: Plan, position: float) -> tuple[Any, NDArray[np.float64]]:
    """The domain at ``position`` between two others: one sample for each entry of the plan.

    Entry ``(i, j)`` of the plan puts a sample at ``(1 - position) * x0[i] + position * x1[j]``
    with the entry's mass as its weight (the paper's push-forward of the plan).

    Parameters
    ----------
    x0, x1 : array-like, sparse or tensors of one device
        The two clouds the plan was made for.
    plan : Plan
    position : float in [0, 1]

    Returns
    -------
    samples, mass
        The samples and their weights, which sum to 1.

    Examples
    --------
    >>> from driftfit.transport.solve import transport
    >>> x0, x1 = [[0.0], [10.0]], [[12.0], [2.0]]
    >>> samples, mass = interpolate(x0, x1, transport(x0, x1), position=0.5)
    >>> samples.ravel().tolist(), mass.tolist()
    ([1.0, 11.0], [0.5, 0.5])
    """
    if not (is_tensor(x0) and is_tensor(x1)):
        x0, x1 = check_points(x0, "x0"), check_points(x1, "x1")
    check_same_features(x0, x1)
    if (x0.shape[0], x1.shape[0]) != plan.shape:
        raise InputError(
            f"the plan couples {plan.shape[0]} with {plan.shape[1]} samples, got {x0.shape[0]} and {x1.shape[0]}"
        )
    t = check_position(position)
    return Interpolated.of(x0, x1, plan.rows, plan.cols, t).whole(), plan.mass.copy()

"""`Plan`: a sparse coupling of two weighted point clouds, and the `Certificate` that goes with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.problem.distortion import Distortion

__all__ = ["Certificate", "Plan"]


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
        Differences of cost below this are below the rounding of float64 sums of this
        size: a plan and a bound so close are one number.
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

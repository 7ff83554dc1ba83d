"""Labelled partners of unlabelled samples, drawn along a plan."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from driftfit.transport import Plan


class Partners:
    """For each unlabelled sample a labelled one, drawn by the mass that the plan moves between them.

    Drawn anew for each pass over the unlabelled side; what lost its mass to a cutoff gets any labelled sample.

    Parameters
    ----------
    plan : Plan
        From the labelled to the unlabelled samples.
    seed : int
    device : torch.device
        Where the samples are indexed; one table goes there for each pass.

    Examples
    --------
    >>> plan = Plan(np.array([0, 1]), np.array([1, 0]), np.array([0.5, 0.5]), (2, 2))
    >>> Partners(plan, 0, torch.device("cpu")).of(torch.tensor([0, 1]), 1).tolist()
    [1, 0]
    """

    def __init__(self, plan: Plan, seed: int, device: torch.device) -> None:
        order = np.argsort(plan.cols, kind="stable")
        self._rows = plan.rows[order]
        self._mass = plan.column_mass()
        self._reached = np.cumsum(plan.mass[order])
        self._start = np.cumsum(self._mass) - self._mass
        # Entries of a column begin behind those of the columns before it.
        self._first = np.searchsorted(plan.cols[order], np.arange(plan.shape[1]))
        self._last = np.searchsorted(plan.cols[order], np.arange(plan.shape[1]), side="right") - 1
        self._any = plan.shape[0]
        self._rng, self._device = np.random.default_rng(seed), device
        self._pass, self._table = 0, torch.empty(0, dtype=torch.int64)

    def of(self, rows: Tensor, number: int) -> Tensor:
        """Partners of some unlabelled samples, in the pass of this number."""
        if number != self._pass:
            self._pass = number
            self._table = torch.from_numpy(self._drawn()).to(self._device)
        return self._table.index_select(0, rows)

    def _drawn(self) -> NDArray[np.int64]:
        at = self._start + self._rng.random(len(self._mass)) * self._mass
        # Rounding of the sums must not lead into the next column.
        entry = np.clip(np.searchsorted(self._reached, at, side="right"), self._first, self._last)
        drawn = self._rows[np.maximum(entry, 0)]
        strangers = self._rng.integers(self._any, size=len(drawn))
        return np.asarray(np.where(self._last >= self._first, drawn, strangers), dtype=np.int64)

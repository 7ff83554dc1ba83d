"""Exact plans between features that already live on a device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Coupling", "couple"]


@dataclass(frozen=True, eq=False)
class Coupling:
    """A plan as index tensors on the device of the features.

    Attributes
    ----------
    rows, cols : int tensors
    mass : float tensor
        Sums to 1.
    shape : (int, int)
    gap : float
        Proven relative distance to the optimum.
    """

    rows: Tensor
    cols: Tensor
    mass: Tensor
    shape: tuple[int, int]
    gap: float

    @property
    def uniform(self) -> bool:
        """Whether every entry carries the same mass."""
        return bool((self.mass == self.mass[0]).all())

    def push(self, values: Tensor) -> Tensor:
        """Carry values of the first domain to the second."""
        out = values.new_zeros((self.shape[1], values.shape[1]))
        return out.index_add_(0, self.cols, values[self.rows] * self.mass[:, None].to(values.dtype))


def couple(x0: Tensor, x1: Tensor) -> Coupling:
    """The optimal plan for squared Euclidean costs and equal weights within each cloud.

    On the CPU by `gradapt.transport`; on a GPU without moving the features off it.

    >>> x0, x1 = torch.tensor([[0.0], [1.0]]), torch.tensor([[1.5], [0.5]])
    >>> couple(x0, x1).cols.tolist()
    [1, 0]
    """
    if x0.is_cuda and len(x0) != len(x1):
        from gradapt.experiments.gpu_coupling import couple_unequal

        rows, cols, mass, gap = couple_unequal(x0, x1)
    else:
        from gradapt.transport import Exact, transport

        first, second = (x0, x1) if x0.is_cuda else (x0.numpy(), x1.numpy())
        plan = transport(first, second, solver=Exact())
        assert plan.certificate is not None
        rows, cols, mass, gap = plan.rows, plan.cols, plan.mass, plan.certificate.gap
    device = x0.device
    return Coupling(
        torch.as_tensor(rows, dtype=torch.int64, device=device),
        torch.as_tensor(cols, dtype=torch.int64, device=device),
        torch.as_tensor(mass, dtype=torch.float64, device=device),
        (len(x0), len(x1)),
        float(gap),
    )

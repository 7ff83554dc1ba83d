"""`FusedAdam`: Adam in one kernel, without what torch's optimisers import for its compiler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

__all__ = ["FusedAdam"]

_BETAS, _EPSILON = (0.9, 0.999), 1e-8


class FusedAdam:
    """What ``torch.optim.Adam(..., fused=True, capturable=True)`` computes, to the last bit, by torch's own function.

    The first optimiser of a process makes torch import its compiler, which takes seconds; this one does not.

    Parameters
    ----------
    parameters : iterable of nn.Parameter
    lr, weight_decay : float

    Examples
    --------
    >>> weight = nn.Parameter(torch.ones(1))
    >>> weight.grad = torch.ones(1)
    >>> FusedAdam([weight], lr=0.5).step()
    >>> round(weight.item(), 3)
    0.5
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float = 1e-3, weight_decay: float = 0.0) -> None:
        self.defaults = {"lr": lr, "weight_decay": weight_decay, "capturable": True}
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), **self.defaults}]
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            trained = [parameter for parameter in group["params"] if parameter.grad is not None]
            states = [self._state(parameter) for parameter in trained]
            adam(
                trained,
                [parameter.grad for parameter in trained],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                [state["step"] for state in states],
                capturable=True,
                fused=True,
                amsgrad=False,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=_EPSILON,
                maximize=False,
            )

    def _state(self, parameter: Tensor) -> dict[str, Tensor]:
        if not self.state[parameter]:
            self.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self.state[parameter]

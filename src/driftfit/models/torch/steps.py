"""Steps of an optimiser on a loss, plain or sharpness-aware."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from driftfit.errors import InputError
from driftfit.models.torch.cuda_graphs import CapturedCalls

OptimiserFactory = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]

# Gradients shorter than this have no direction.
_LEAST_NORM = 1e-12


class Steps:
    """Takes the steps of one training, by a new optimiser.

    Parameters
    ----------
    module : nn.Module
        All that the loss trains or changes, trained in place.
    loss : callable
        From the inputs of a step to a loss.
    optimiser : callable
        From parameters to an optimiser.
    rho : float
        Radius of sharpness-aware minimisation (SAM, Foret et al. 2021): the update follows the gradient at the
        weights moved by ``rho`` along the normalised gradient, so each step takes two passes. 0: a plain step.
        Running statistics of normalisation layers see the first pass alone; dropout draws anew for the second.
    capture : bool or None
        Whether to capture the step as a CUDA graph; None: on CUDA, where the optimiser can be captured.

    Examples
    --------
    >>> module = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(module.weight)
    >>> steps = Steps(module, lambda x: module(x).sum(), lambda own: torch.optim.SGD(own, lr=0.5))
    >>> steps.take(torch.ones(1, 1))
    >>> module.weight.item()
    -0.5
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Callable[..., Tensor],
        optimiser: OptimiserFactory,
        *,
        rho: float = 0.0,
        capture: bool | None = None,
    ) -> None:
        self.module, self.loss, self.rho = module, loss, rho
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        if not self.parameters:
            raise InputError("the module has no parameters to train; cut the encoder at an earlier layer")
        self.optimiser = optimiser(self.parameters)
        if capture is None:
            capturable = all(group.get("capturable", False) for group in self.optimiser.param_groups)
            capture = self.parameters[0].is_cuda and capturable
        self._captured = CapturedCalls() if capture else None

    def take(self, *inputs: Tensor | None) -> None:
        """One step on these inputs."""
        if self._captured is None:
            self._take(*inputs)
        else:
            self._captured.call(self._take, inputs)

    def _take(self, *inputs: Tensor | None) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.loss(*inputs).backward()  # type: ignore[no-untyped-call]
        if self.rho > 0:
            self._sharpen(inputs)
        self.optimiser.step()

    def _sharpen(self, inputs: tuple[Tensor | None, ...]) -> None:
        """Replace the gradients by those at the worst weights nearby, to first order; the weights stay."""
        with torch.no_grad():
            trained = [p for p in self.parameters if p.grad is not None]
            gradients = [p.grad for p in trained if p.grad is not None]
            norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
            before = [p.clone() for p in trained]
            # At a gradient of zero every direction is as good as the other: stay.
            scale = self.rho / norm.clamp_min(_LEAST_NORM)
            for parameter, gradient in zip(trained, gradients, strict=True):
                parameter.add_(gradient * scale)
        self.optimiser.zero_grad(set_to_none=True)
        with _without_running_statistics(self.module):
            self.loss(*inputs).backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            # Copied back, not subtracted: the same weights to the last bit.
            for parameter, value in zip(trained, before, strict=True):
                parameter.copy_(value)


@contextmanager
def _without_running_statistics(module: nn.Module) -> Iterator[None]:
    """Normalisation by the batch's own statistics as ever, but nothing of it is remembered."""
    layers = [layer for layer in module.modules() if hasattr(layer, "running_mean") and hasattr(layer, "momentum")]
    before = [layer.momentum for layer in layers]
    try:
        for layer in layers:
            layer.momentum = 0.0  # type: ignore[assignment]
        yield
    finally:
        for layer, momentum in zip(layers, before, strict=True):
            layer.momentum = momentum

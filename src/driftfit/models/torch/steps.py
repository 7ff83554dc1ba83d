"""Steps of an optimiser on a loss, captured once as a CUDA graph and replayed."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from driftfit.errors import InputError, one_line
from driftfit.models.torch.adam import FusedAdam

__all__ = ["Optimiser", "OptimiserFactory", "Steps", "is_adam", "random_state", "set_random_state"]


class Optimiser(Protocol):
    """What steps need of an optimiser: any of torch's, or one like them."""

    param_groups: list[dict[str, Any]]

    @property
    def state(self) -> Any:
        """Tensors of each parameter."""

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def step(self) -> Any: ...


OptimiserFactory = Callable[[Iterable[nn.Parameter]], Optimiser]
# Weights, state of the optimiser for each parameter, other tensors, state of the random numbers.
_Saved = tuple[dict[str, Tensor], list[dict[str, Tensor]], list[Tensor], Tensor]

_LOG = logging.getLogger("driftfit")
# Captured steps kept at a time; each batch size has its own.
_MOST_GRAPHS = 12
_WARM_UP_STEPS = 3
# Gradients shorter than this have no direction.
_LEAST_NORM = 1e-12


class Steps:
    """Takes training steps again and again, each training with a new optimiser.

    On CUDA the step (forward, backward, update) is captured as a graph for each shape of
    the inputs and replayed, so that launches do not dominate; the capture is kept between
    trainings, whose weights are loaded in place.

    Parameters
    ----------
    module : nn.Module
        All that the loss trains or changes, trained in place.
    loss : callable
        From the inputs of a step to a loss; where it is captured, without a look at values on the host.
    optimiser : callable
        From parameters to an optimiser.
    rho : float
        Radius of sharpness-aware minimisation (SAM, Foret et al. 2021): the update follows the gradient at the
        weights moved by ``rho`` along the normalised gradient, so each step takes two passes. 0: a plain step.
        Running statistics of normalisation layers see the first pass alone; dropout draws anew for the second.
    capture : bool or None
        Whether to capture the step; None: on CUDA, where the optimiser can be captured.
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
        self.rho = rho
        self.module, self.loss, self.make_optimiser = module, loss, optimiser
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        if not self.parameters:
            raise InputError("the module has no parameters to train; cut the encoder at an earlier layer")
        self.device = self.parameters[0].device
        self.optimiser = optimiser(self.parameters)
        self._fresh = True
        can_capture = all(group.get("capturable", False) for group in self.optimiser.param_groups)
        self.capture = self.device.type == "cuda" and can_capture if capture is None else capture
        self._graphs: dict[tuple[Any, ...], _CapturedStep] = {}
        # Other tensors that a step changes: they are put back when it was taken only to be captured.
        self.beside: tuple[Tensor, ...] = ()

    def begin(self) -> None:
        """A new optimiser, before a training."""
        if self._fresh:
            self._fresh = False
        elif is_adam(self.optimiser):
            # Adam begins with zeros everywhere; captured steps keep pointing to these tensors.
            for state in self.optimiser.state.values():
                for value in state.values():
                    value.zero_()
        else:
            self.optimiser = self.make_optimiser(self.parameters)
            self._graphs.clear()

    def take(self, *inputs: Tensor | None) -> None:
        """One step on these inputs."""
        if not self.capture:
            self.take_eagerly(*inputs)
            return
        key = tuple(None if value is None else (value.shape, value.dtype) for value in inputs)
        step = self._graphs.get(key)
        if step is None and len(self._graphs) < _MOST_GRAPHS:
            step = self._captured(key, inputs)
        if step is None:
            self.take_eagerly(*inputs)
        else:
            step.replay(inputs)

    def forget(self) -> None:
        """Let go of the captured steps, before something that they read is replaced."""
        if self._graphs:
            # Some of them may still be at work.
            torch.cuda.synchronize(self.device)
            self._graphs.clear()

    def _captured(self, key: tuple[Any, ...], inputs: tuple[Tensor | None, ...]) -> _CapturedStep | None:
        """The step of a key, kept; None where it cannot be captured, such as a module that looks at its values."""
        try:
            self._graphs[key] = _CapturedStep(self, self.inputs_of_capture(inputs))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            _LOG.warning("driftfit: a training step could not be captured and is slower now: %s", one_line(error))
            self.capture = False
            return None
        return self._graphs[key]

    def inputs_of_capture(self, inputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Tensors that a captured step reads; the inputs of each step are copied there."""
        return tuple(None if value is None else value.clone() for value in inputs)

    def take_eagerly(self, *inputs: Tensor | None) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.update(*inputs)

    def update(self, *inputs: Tensor | None) -> None:
        """Gradients, where there are none yet, and the optimiser's step; this is what is captured."""
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


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage is collected: a graph of an earlier trainer, destroyed in the middle, would spoil the capture."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _CapturedStep:
    """One training step as a CUDA graph over fixed input buffers."""

    def __init__(self, steps: Steps, inputs: tuple[Tensor | None, ...]) -> None:
        self.buffers = inputs
        saved = _snapshot(steps)
        try:
            self._capture(steps)
        finally:
            _put_back(steps, saved)

    def _capture(self, steps: Steps) -> None:
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            # Libraries choose their kernels in the first calls, which must not be captured.
            for _ in range(_WARM_UP_STEPS):
                steps.take_eagerly(*self.buffers)
        torch.cuda.current_stream().wait_stream(side)
        steps.optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        # A capture that fails does not put the stream back by itself.
        with torch.cuda.stream(torch.cuda.current_stream()), _no_collection(), torch.cuda.graph(self.graph):
            steps.update(*self.buffers)

    def replay(self, inputs: tuple[Tensor | None, ...]) -> None:
        for buffer, value in zip(self.buffers, inputs, strict=True):
            if buffer is not None and value is not None and buffer is not value:
                buffer.copy_(value)
        self.graph.replay()


def is_adam(optimiser: Optimiser) -> bool:
    """Whether an optimiser begins with zeros everywhere and keeps a state for each parameter, as Adam does."""
    return isinstance(optimiser, torch.optim.Adam | FusedAdam)


def random_state(device: torch.device) -> Tensor:
    """State of the random numbers that a device draws."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def set_random_state(device: torch.device, state: Tensor) -> None:
    """Draw on from a state."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)


def _snapshot(steps: Steps) -> _Saved:
    weights = {name: value.detach().clone() for name, value in steps.module.state_dict().items()}
    states = [
        {key: value.clone() for key, value in steps.optimiser.state[p].items()} if p in steps.optimiser.state else {}
        for p in steps.parameters
    ]
    return weights, states, [value.clone() for value in steps.beside], random_state(steps.device)


@torch.no_grad()
def _put_back(steps: Steps, saved: _Saved) -> None:
    """Undo the warm-up in place: captured steps point to these very tensors.

    Dropout goes on as if nothing had been drawn, so that a training does not depend on what was captured before it.
    """
    weights, states, others, drawn = saved
    set_random_state(steps.device, drawn)
    for value, before in zip(steps.beside, others, strict=True):
        value.copy_(before)
    for name, value in steps.module.state_dict().items():
        value.copy_(weights[name])
    for parameter, state in zip(steps.parameters, states, strict=True):
        for key, value in steps.optimiser.state[parameter].items():
            if key in state:
                value.copy_(state[key])
            else:
                value.zero_()

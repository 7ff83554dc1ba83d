"""Steps of an optimiser on a loss, plain or sharpness-aware, captured on a GPU as CUDA graphs."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from driftfit.errors import InputError, one_line

OptimiserFactory = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]

# Gradients shorter than this have no direction.
_LEAST_NORM = 1e-12


class Steps:
    """Takes the steps of one training, by a new optimiser.

    ``module``: all that the loss trains or changes, trained in place. ``loss``: from the inputs of a step to a loss.
    ``optimiser``: from parameters to an optimiser. ``rho``: radius of sharpness-aware minimisation (SAM, Foret et al.
    2021): the update follows the gradient at the weights moved by ``rho`` along the normalised gradient, so each step
    takes two passes. 0: a plain step. Running statistics of normalisation layers see the first pass alone; dropout
    draws anew for the second. ``capture``: whether to capture the step as a CUDA graph; None: on CUDA, where the
    optimiser can be captured.
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


_LOG = logging.getLogger("driftfit")
# Calls before the capture: libraries choose their kernels in the first ones, and optimisers make their state.
_CALLS_BEFORE = 3
# Each shape of the inputs has a graph of its own: a full batch, and a last one that comes often enough.
_MOST_GRAPHS = 4

Inputs = tuple[Tensor | None, ...]


class CapturedCalls:
    """Calls a function of tensors that works in place; from the fourth call with the same shapes on by a CUDA graph.

    The first calls count like any other, so that nothing has to be undone. A function that cannot be captured, such
    as one that looks at values on the host, is called as it is.
    """

    def __init__(self) -> None:
        self.possible = True
        self._calls: Counter[Hashable] = Counter()
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, Inputs]] = {}

    def call(self, function: Callable[..., None], inputs: Inputs) -> None:
        """Call the function, which is the same each time."""
        key = tuple(None if value is None else (value.shape, value.dtype) for value in inputs)
        if self.possible and key not in self._graphs and self._calls[key] >= _CALLS_BEFORE:
            self._capture(key, function, inputs)
        if key in self._graphs:
            self._replay(key, inputs)
            return
        self._calls[key] += 1
        if not self.possible:
            function(*inputs)
            return
        # What is captured later must not have been at work on the stream that everything else is on.
        current, side = torch.cuda.current_stream(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(current)
        with torch.cuda.stream(side):
            function(*inputs)
        current.wait_stream(side)

    def _capture(self, key: Hashable, function: Callable[..., None], inputs: Inputs) -> None:
        if len(self._graphs) == _MOST_GRAPHS:
            return
        buffers = tuple(None if value is None else value.clone() for value in inputs)
        graph = torch.cuda.CUDAGraph()
        try:
            # A capture that fails does not put the stream back by itself.
            with torch.cuda.stream(torch.cuda.current_stream()), _no_collection(), torch.cuda.graph(graph):
                function(*buffers)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            _LOG.info("driftfit: a training step could not be captured and is taken as it is: %s", one_line(error))
            self.possible = False
            return
        self._graphs[key] = graph, buffers

    def _replay(self, key: Hashable, inputs: Inputs) -> None:
        graph, buffers = self._graphs[key]
        for buffer, value in zip(buffers, inputs, strict=True):
            if buffer is not None and value is not None:
                buffer.copy_(value)
        graph.replay()


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage is collected: a graph of an earlier training, destroyed in the middle, would spoil the capture."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

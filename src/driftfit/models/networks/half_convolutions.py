"""`with_half_convolutions`: a network whose first convolutions are computed in bfloat16, on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from driftfit.extras import has
from driftfit.models.networks.biased import BiasedConv2d
from driftfit.models.networks.chains import chained, has_hooks

__all__ = ["MOST_OF_IMAGES", "with_half_convolutions"]

# Channels that the kernels take; those of images, which they read as they are, at most.
_CHANNELS, MOST_OF_IMAGES = (16, 32, 64), 7
# Values of a map that an int32 counts.
_MOST_VALUES = 2**31


def with_half_convolutions(module: nn.Module) -> nn.Module:
    """The same network, to train it on a GPU: its first convolutions are computed in bfloat16 by kernels of our own.

    These are layers ``BiasedConv2d(..., half=True)`` of 3 x 3 with padding 1 and 16, 32 or 64 channels, each followed
    by ReLU, at the beginning of a `torch.nn.Sequential`, perhaps behind `torch.nn.Unflatten`. Sums are float32, and so
    are the features behind the last of them. Parameters are those of ``module``, which stays as it is. It is returned
    itself where it has no such layers or Triton is not installed; on the CPU and for inputs that need a gradient it
    is what computes.

    >>> net = nn.Sequential(nn.Linear(2, 2))
    >>> with_half_convolutions(net) is net
    True
    """
    layers = [layer for _, layer in chained(module)]
    before = [layer for layer in layers[:1] if type(layer) is nn.Unflatten and not has_hooks(layer)]
    convolutions = _first_convolutions(layers[len(before) :])
    return _HalfConvolutions(module, before, convolutions, layers) if convolutions and has("triton") else module


class _HalfConvolutions(nn.Module):
    def __init__(
        self, module: nn.Module, before: Sequence[nn.Module], convolutions: list[BiasedConv2d], layers: list[nn.Module]
    ) -> None:
        super().__init__()
        self.module = module
        # In tuples, so that no layer is registered twice.
        self.before, self.convolutions = tuple(before), tuple(convolutions)
        self.others = tuple(layers[len(before) + 2 * len(convolutions) :])

    def forward(self, input: Tensor) -> Tensor:
        x = input
        for layer in self.before:
            x = layer(x)
        if not self._fits(x):
            whole: Tensor = self.module(input)
            return whole
        from driftfit.models.networks.convolution_kernels import rectified_convolutions  # only where there is Triton

        weights, biases = ([getattr(own, name) for own in self.convolutions] for name in ("weight", "bias"))
        x = rectified_convolutions(x.contiguous(), weights, biases)
        for layer in self.others:
            x = layer(x)
        return x

    def _fits(self, x: Tensor) -> bool:
        """Whether the kernels can take it; what torch refuses is left to torch."""
        first = self.convolutions[0]
        if not x.is_cuda or x.requires_grad or x.ndim != 4 or not x.dtype == first.weight.dtype == torch.float32:
            return False
        widest = max(first.in_channels, *(layer.out_channels for layer in self.convolutions))
        return x.shape[1] == first.in_channels and 0 < len(x) * x.shape[2] * x.shape[3] * widest < _MOST_VALUES


def _first_convolutions(layers: list[nn.Module]) -> list[BiasedConv2d]:
    """The convolutions that a network begins with, each followed by ReLU."""
    found: list[BiasedConv2d] = []
    for layer, after in zip(layers[::2], layers[1::2], strict=False):
        if type(after) is not nn.ReLU or has_hooks(layer) or has_hooks(after):
            break
        # Types are exact: a subclass may compute anything.
        if type(layer) is not BiasedConv2d or not _is_known(layer, first=not found):
            break
        found.append(layer)
    return found


def _is_known(layer: BiasedConv2d, *, first: bool) -> bool:
    if not layer.half_in_training or layer.bias is None or layer.out_channels not in _CHANNELS:
        return False
    fitting = layer.in_channels in _CHANNELS or (first and layer.in_channels <= MOST_OF_IMAGES)
    square = layer.kernel_size == (3, 3) and layer.padding in ((1, 1), "same") and layer.padding_mode == "zeros"
    return fitting and square and layer.stride == (1, 1) and layer.dilation == (1, 1) and layer.groups == 1

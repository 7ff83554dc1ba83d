"""`BiasedConv2d`: a convolution that learns quickly on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from gradapt.extras import has

__all__ = ["BiasedConv2d"]

# Channels of maps that small programs hold whole.
_FEW_CHANNELS = (16, 32, 64)
# Values of maps whose places an int32 counts.
_MOST_VALUES = 2**31 - 1


class BiasedConv2d(nn.Conv2d):
    """``nn.Conv2d`` with kernels of our own for few channels, on a GPU where Triton is installed.

    They are for 3 x 3 and the float32 of TF32, where torch lets convolutions use it. Elsewhere, in training on a GPU, the
    gradient of the bias is summed in two steps: over images, height and width at once there are as few sums as channels,
    and most of the GPU idles. On the CPU it is ``nn.Conv2d`` to the last bit.

    >>> BiasedConv2d(1, 4, 3, padding=1)(torch.zeros(2, 1, 5, 5)).shape
    torch.Size([2, 4, 5, 5])
    """

    def forward(self, input: Tensor) -> Tensor:
        if not input.is_cuda or input.ndim != 4 or self.bias is None:
            return super().forward(input)
        # What differentiates an evaluation may ask more of it than one gradient.
        if (self.training or not torch.is_grad_enabled()) and self.is_small(input):
            from gradapt.networks.small_convolutions import convolved  # only where there is Triton

            return convolved(input, self.weight, self.bias)
        if not self.training:
            return super().forward(input)
        return with_bias(self._conv_forward(input, self.weight, None), self.bias)

    def is_small(self, input: Tensor) -> bool:
        """Whether the kernels of `gradapt.networks.small_convolutions` are made for this layer and input.

        >>> BiasedConv2d(1, 16, 5, padding=2).is_small(torch.zeros(2, 1, 5, 5))
        False
        """
        kept = self.kernel_size == (3, 3) and self.padding == self.stride == self.dilation == (1, 1)
        plain = kept and self.groups == 1 and self.padding_mode == "zeros" and self.out_channels in _FEW_CHANNELS
        few = self.in_channels in (1, *_FEW_CHANNELS)
        values = len(input) * max(self.in_channels, self.out_channels) * input.shape[2] * input.shape[3]
        single = input.dtype == self.weight.dtype == torch.float32
        return plain and few and single and values <= _MOST_VALUES and _may_use_tf32() and has("triton")


def _may_use_tf32() -> bool:
    return bool(torch.backends.cudnn.allow_tf32)


def with_bias(maps: Tensor, bias: Tensor) -> Tensor:
    """Maps of shape (n, channels, height, width), changed in place: the bias of each channel is added.

    >>> with_bias(torch.zeros(1, 2, 1, 1), torch.tensor([1.0, 2.0])).flatten().tolist()
    [1.0, 2.0]
    """
    out: Tensor = _Bias.apply(maps, bias)  # type: ignore[no-untyped-call]
    return out


class _Bias(Function):
    @staticmethod
    def forward(ctx: Any, maps: Tensor, bias: Tensor) -> Tensor:
        ctx.mark_dirty(maps)
        return maps.add_(bias.view(-1, 1, 1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, gradient.flatten(2).sum(2).sum(0)

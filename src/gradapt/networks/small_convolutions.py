"""Convolutions of 3 x 3 with few channels as kernels of our own; they need Triton, and so a GPU.

cuDNN turns such maps from channels first to channels last and back, or takes Fourier transforms, and so spends more
time on moving them than on products. Here maps stay as they are, and the bias comes along.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

__all__ = ["convolved"]

# Places that one program computes, and its warps.
_PLACES, _WARPS = 128, 4
# In a gradient of weights: places at a time, programs that share them all, and their warps.
_GRADIENT_PLACES, _PROGRAMS, _GRADIENT_WARPS = 64, 132, 4


def convolved(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Convolution of 3 x 3 that keeps height and width, zeros around; products in TF32.

    Parameters
    ----------
    x : tensor of shape (n, channels, height, width)
    weight : tensor of shape (out channels, channels, 3, 3)
        Channels are 1 or a power of 2 from 16 on; out channels such a power.
    bias : tensor of shape (out channels,), optional
    """
    out: Tensor = _Convolution.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return out


class _Convolution(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        x, weight = x.contiguous(), weight.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        return _maps(x, weight, bias, turned=False)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_x = _maps(gradient, weight, None, turned=True) if ctx.needs_input_grad[0] else None
        of_weight, of_bias = _gradients(x, gradient, weight)
        return of_x, of_weight, of_bias if ctx.biased else None


def _maps(x: Tensor, weight: Tensor, bias: Tensor | None, *, turned: bool) -> Tensor:
    """The convolution; ``turned``: its transpose, from maps of the out channels to maps of the channels."""
    n, channels, height, width = x.shape
    inner = weight.shape[1] * 9
    steps, n_out = ((9, inner), weight.shape[1]) if turned else ((inner, 9), len(weight))
    out = x.new_empty((n, n_out, height, width))
    n_places = n * height * width
    grid = (triton.cdiv(n_places, _PLACES),)
    _convolve[grid](
        x,
        weight,
        weight if bias is None else bias,
        out,
        n_places,
        *steps,
        height,
        width,
        channels,
        n_out,
        bias is not None,
        turned,
        _PLACES,
        num_warps=_WARPS,
    )
    return out


def _gradients(x: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Of weights and bias, summed over programs in a fixed order."""
    n, channels, height, width = x.shape
    parts = x.new_empty((_PROGRAMS, *weight.shape))
    sums = x.new_empty((_PROGRAMS, len(weight)))
    _differentiate[(_PROGRAMS, 3)](
        x,
        gradient,
        parts,
        sums,
        n * height * width,
        height,
        width,
        channels,
        len(weight),
        _GRADIENT_PLACES,
        _PROGRAMS,
        num_warps=_GRADIENT_WARPS,
    )
    return parts.sum(0), sums.sum(0)


@triton.jit
def _convolve(
    x: Any,
    weight: Any,
    bias: Any,
    out: Any,
    n_places: Any,
    out_step: Any,
    in_step: Any,
    height: tl.constexpr,
    width: tl.constexpr,
    n_in: tl.constexpr,
    n_out: tl.constexpr,
    biased: tl.constexpr,
    turned: tl.constexpr,
    block: tl.constexpr,
) -> None:
    size: tl.constexpr = height * width
    place = tl.program_id(0) * block + tl.arange(0, block)
    there = place < n_places
    image, inside = place // size, place % size
    row, column = inside // width, inside % width
    channel, to = tl.arange(0, n_in), tl.arange(0, n_out)
    start = x + image * (n_in * size) + inside
    total = tl.zeros((n_out, block), tl.float32)
    if biased:
        total += tl.load(bias + to)[:, None]
    for tap in tl.static_range(9):
        down, right = tap // 3 - 1, tap % 3 - 1
        seen = there & (row + down >= 0) & (row + down < height) & (column + right >= 0) & (column + right < width)
        own = weight + (8 - tap if turned else tap)
        shift = down * width + right
        if n_in == 1:
            total += tl.load(own + to * out_step)[:, None] * tl.load(start + shift, mask=seen, other=0.0)[None, :]
        else:
            factors = tl.load(own + to[:, None] * out_step + channel[None, :] * in_step)
            values = tl.load(start[None, :] + shift + channel[:, None] * size, mask=seen[None, :], other=0.0)
            total = tl.dot(factors, values, total, input_precision="tf32")
    goal = out + image * (n_out * size) + inside
    tl.store(goal[None, :] + to[:, None] * size, total, mask=there[None, :])


@triton.jit
def _differentiate(
    x: Any,
    gradient: Any,
    parts: Any,
    sums: Any,
    n_places: Any,
    height: tl.constexpr,
    width: tl.constexpr,
    n_in: tl.constexpr,
    n_out: tl.constexpr,
    block: tl.constexpr,
    programs: tl.constexpr,
) -> None:
    size: tl.constexpr = height * width
    down = tl.program_id(1) - 1
    channel, to = tl.arange(0, n_in), tl.arange(0, n_out)
    left = tl.zeros((n_out, n_in), tl.float32)
    middle = tl.zeros((n_out, n_in), tl.float32)
    right = tl.zeros((n_out, n_in), tl.float32)
    total = tl.zeros((n_out, block), tl.float32)
    for first in range(tl.program_id(0) * block, n_places, programs * block):
        place = first + tl.arange(0, block)
        there = place < n_places
        image, inside = place // size, place % size
        row, column = inside // width, inside % width
        seen = there & (row + down >= 0) & (row + down < height)
        slope = tl.load(
            gradient + (image * (n_out * size) + inside)[None, :] + to[:, None] * size, mask=there[None, :], other=0.0
        )
        total += slope
        start = x + (image * (n_in * size) + inside + down * width)[None, :] + channel[:, None] * size
        before = tl.load(start - 1, mask=(seen & (column > 0))[None, :], other=0.0)
        here = tl.load(start, mask=seen[None, :], other=0.0)
        after = tl.load(start + 1, mask=(seen & (column < width - 1))[None, :], other=0.0)
        if n_in == 1:
            left += tl.sum(slope * before, 1)[:, None]
            middle += tl.sum(slope * here, 1)[:, None]
            right += tl.sum(slope * after, 1)[:, None]
        else:
            left = tl.dot(slope, tl.trans(before), left, input_precision="tf32")
            middle = tl.dot(slope, tl.trans(here), middle, input_precision="tf32")
            right = tl.dot(slope, tl.trans(after), right, input_precision="tf32")
    goal = parts + tl.program_id(0) * (n_out * n_in * 9) + tl.program_id(1) * 3
    goal += to[:, None] * (n_in * 9) + channel[None, :] * 9
    tl.store(goal, left)
    tl.store(goal + 1, middle)
    tl.store(goal + 2, right)
    if down == 0:
        tl.store(sums + tl.program_id(0) * n_out + to, tl.sum(total, 1))

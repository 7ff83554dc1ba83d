"""Batch normalisation of many networks side by side in one kernel each way; it needs Triton, and so a GPU."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

__all__ = ["stacked_norm"]

# Neurons that one program normalises, and its warps.
_NEURONS, _WARPS = 16, 4


def stacked_norm(
    x: Tensor, there: Tensor, scale: Tensor, shift: Tensor, running: tuple[Tensor, Tensor], momentum: float, eps: float
) -> Tensor:
    """Each slot's samples, normalised by the mean and the variance of those that are there.

    Parameters
    ----------
    x : tensor of shape (slots, length, neurons)
    there : tensor of shape (slots, length)
        1 for a sample, 0 where there is none.
    scale, shift : tensors of shape (slots, neurons)
    running : two tensors of shape (slots or more, neurons)
        Running mean and variance, moved in place; without gaps.
    momentum, eps : float
    """
    out: Tensor = _Norm.apply(x, there, scale, shift, running, momentum, eps)  # type: ignore[no-untyped-call]
    return out


class _Norm(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        there: Tensor,
        scale: Tensor,
        shift: Tensor,
        running: tuple[Tensor, Tensor],
        momentum: float,
        eps: float,
    ) -> Tensor:
        x, there, scale = x.contiguous(), there.contiguous(), scale.contiguous()
        out, mean, factor = x.new_empty(x.shape), scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        grid, sizes = _layout(x)
        _normalise[grid](
            x, there, scale, shift.contiguous(), *running, out, mean, factor, momentum, eps, *sizes, num_warps=_WARPS
        )
        ctx.save_for_backward(x, there, scale, mean, factor)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, there, scale, mean, factor = ctx.saved_tensors
        of_x, of_scale, of_shift = x.new_empty(x.shape), scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        grid, sizes = _layout(x)
        _differentiate[grid](
            x, gradient.contiguous(), there, scale, mean, factor, of_x, of_scale, of_shift, *sizes, num_warps=_WARPS
        )
        return of_x, None, of_scale, of_shift, None, None, None


def _layout(x: Tensor) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    slots, length, neurons = x.shape
    return (triton.cdiv(neurons, _NEURONS), slots), (length, neurons, triton.next_power_of_2(length), _NEURONS)


@triton.jit
def _places(length, neurons, rows: tl.constexpr, columns: tl.constexpr):
    """What a program works on: a slot's rows, some of its neurons, and where these values lie."""
    slot = tl.program_id(1)
    row = tl.arange(0, rows)
    column = tl.program_id(0) * columns + tl.arange(0, columns)
    known = column < neurons
    inside = (row < length)[:, None] & known[None, :]
    place = (slot * length + row)[:, None] * neurons + column[None, :]
    return slot, row, column, known, inside, place


@triton.jit
def _normalise(
    x,
    there,
    scale,
    shift,
    running_mean,
    running_variance,
    out,
    mean_out,
    factor_out,
    momentum,
    eps,
    length,
    neurons,
    rows: tl.constexpr,
    columns: tl.constexpr,
):
    slot, row, column, known, inside, place = _places(length, neurons, rows, columns)
    value = tl.load(x + place, mask=inside, other=0.0)
    seen = tl.load(there + slot * length + row, mask=row < length, other=0.0)
    count = tl.sum(seen, 0)
    mean = tl.sum(value * seen[:, None], 0) / count
    centred = value - mean[None, :]
    variance = tl.sum(centred * centred * seen[:, None], 0) / count
    factor = 1.0 / tl.sqrt(variance + eps)
    own = slot * neurons + column
    gain = tl.load(scale + own, mask=known, other=0.0)
    bias = tl.load(shift + own, mask=known, other=0.0)
    tl.store(out + place, centred * factor[None, :] * gain[None, :] + bias[None, :], mask=inside)
    tl.store(mean_out + own, mean, mask=known)
    tl.store(factor_out + own, factor, mask=known)
    before = tl.load(running_mean + own, mask=known, other=0.0)
    tl.store(running_mean + own, before + momentum * (mean - before), mask=known)
    before = tl.load(running_variance + own, mask=known, other=0.0)
    tl.store(running_variance + own, before + momentum * (variance * (count / (count - 1.0)) - before), mask=known)


@triton.jit
def _differentiate(
    x,
    gradient,
    there,
    scale,
    mean,
    factor,
    of_x,
    of_scale,
    of_shift,
    length,
    neurons,
    rows: tl.constexpr,
    columns: tl.constexpr,
):
    slot, row, column, known, inside, place = _places(length, neurons, rows, columns)
    own = slot * neurons + column
    slope = tl.load(gradient + place, mask=inside, other=0.0)
    value = tl.load(x + place, mask=inside, other=0.0)
    seen = tl.load(there + slot * length + row, mask=row < length, other=0.0)
    middle = tl.load(mean + own, mask=known, other=0.0)
    narrow = tl.load(factor + own, mask=known, other=0.0)
    gain = tl.load(scale + own, mask=known, other=0.0)
    normal = (value - middle[None, :]) * narrow[None, :]
    # Mean and variance move with the samples that are there; what all rows want of them is shared among those.
    total = tl.sum(slope, 0)
    along = tl.sum(slope * normal, 0)
    shared = (total[None, :] + normal * along[None, :]) * (seen / tl.sum(seen, 0))[:, None]
    tl.store(of_x + place, (slope - shared) * (narrow * gain)[None, :], mask=inside)
    tl.store(of_scale + own, along, mask=known)
    tl.store(of_shift + own, total, mask=known)

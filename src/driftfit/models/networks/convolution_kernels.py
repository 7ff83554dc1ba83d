"""Kernels for 3 x 3 convolutions with bias and ReLU in bfloat16; they need Triton, and so a GPU.

Maps between the layers are bfloat16 in the order (images, height, width, channels), summed in float32. Bias and ReLU
belong to the kernel of the layer, as does the ReLU of the layer before to the one that computes its gradient. Images
of few channels are read as they are; but for them, what comes in and goes out is reordered, and nothing between.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from driftfit.models.networks.half_convolutions import MOST_OF_IMAGES

__all__ = ["rectified_convolutions"]

_TAPS = 9
# Pixels of one program, its warps and its stages, as measured on an H200: of a layer and of the first one, and where
# gradients of their weights are summed, with the number of programs that the pixels are divided among.
_LAYER, _FIRST = (256, 4, 3), (64, 2, 1)
_WEIGHTS, _FIRST_WEIGHTS = (64, 4, 3, 132), (256, 4, 2, 264)
# With several channels an image has more columns, and fewer pixels find room.
_COLOUR_WEIGHTS = (64, 4, 2, 264)


def rectified_convolutions(images: Tensor, weights: list[Tensor], biases: list[Tensor]) -> Tensor:
    """What a chain of 3 x 3 convolutions with padding 1, each followed by ReLU, makes of images.

    Parameters
    ----------
    images : float32 tensor of shape (n, channels, height, width)
        Without gaps, and without a gradient; of at most 7 channels, or as many as a layer may have.
    weights, biases : float32 tensors
        Of each layer, of 16, 32 or 64 channels.

    Returns
    -------
    float32 tensor of shape (n, channels, height, width)
    """
    out: Tensor = _Chain.apply(images, *weights, *biases)  # type: ignore[no-untyped-call]
    return out


class _Chain(torch.autograd.Function):
    """All layers at once, so that nothing between them has to be what autograd would want."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, *parameters: Tensor) -> Tensor:
        weights, biases = parameters[: len(parameters) // 2], parameters[len(parameters) // 2 :]
        maps = [images if images.shape[1] <= MOST_OF_IMAGES else _reordered(images)]
        for number, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
            maps.append(_layer(maps[-1], weight, bias, last=number == len(weights)))
        ctx.save_for_backward(*weights, *maps)
        return maps[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        weights, maps = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        found: list[tuple[Tensor, Tensor]] = []
        own = _reordered(gradient.contiguous(), maps[-1])
        for number in reversed(range(len(weights))):
            found.insert(0, _weight_gradients(maps[number], own, weights[number]))
            if number:
                own = _input_gradient(own, weights[number], maps[number])
        of_weights, of_biases = zip(*found, strict=True)
        return None, *of_weights, *of_biases


def _layer(x: Tensor, weight: Tensor, bias: Tensor, *, last: bool) -> Tensor:
    """One layer forward; the last one gives float32 in torch's order."""
    of_images = x.dtype == torch.float32
    n, height, width = (len(x), *x.shape[2:]) if of_images else x.shape[:3]
    channels_out, channels_in = weight.shape[:2]
    shape = (n, channels_out, height, width) if last else (n, height, width, channels_out)
    out = torch.empty(shape, dtype=torch.float32 if last else torch.bfloat16, device=x.device)
    taps = _bfloat16(weight.permute(2, 3, 1, 0))
    n_pixels = n * height * width
    if of_images:
        block, warps, stages = _FIRST
        _convolve_images[(triton.cdiv(n_pixels, block),)](
            x, taps, bias, out, n_pixels, height, width,
            channels_in, _columns(channels_in), channels_out, last, block,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip
        return out
    block, warps, stages = _LAYER
    _convolve[(triton.cdiv(n_pixels, block),)](
        x, taps, bias, bias, out, n_pixels, height, width,
        channels_in, channels_out, last, False, block,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def _input_gradient(gradient: Tensor, weight: Tensor, before: Tensor) -> Tensor:
    """Gradient in front of the ReLU that gave ``before``, the input of a layer."""
    n, height, width = gradient.shape[:3]
    channels_out, channels_in = weight.shape[:2]
    out = torch.empty_like(before)
    n_pixels = n * height * width
    block, warps, stages = _LAYER
    _convolve[(triton.cdiv(n_pixels, block),)](
        gradient, _bfloat16(weight.permute(2, 3, 0, 1)), gradient, before, out, n_pixels, height, width,
        channels_out, channels_in, False, True, block,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def _weight_gradients(x: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of weight and bias, from the layer's input and the gradient behind it."""
    of_images = x.dtype == torch.float32
    n, height, width = gradient.shape[:3]
    channels_out, channels_in = weight.shape[:2]
    n_pixels = n * height * width
    of_image = _FIRST_WEIGHTS if channels_in == 1 else _COLOUR_WEIGHTS
    block, warps, stages, most = of_image if of_images else _WEIGHTS
    each = block * triton.cdiv(triton.cdiv(n_pixels, block), most)
    shares = triton.cdiv(n_pixels, each)
    columns = _columns(channels_in) if of_images else _TAPS * channels_in + 1
    # Each program sums by itself, and the sums are added in one order: the same result each time.
    sums = torch.empty((shares, columns, channels_out), dtype=torch.float32, device=x.device)
    if of_images:
        _sum_products_of_images[(shares,)](
            x, gradient, sums, n_pixels, each, height, width, channels_in, columns, channels_out, block,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip
    else:
        _sum_products[(shares, 3)](
            x, gradient, sums, n_pixels, each, height, width, channels_in, channels_out, block,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip
    total = sums.sum(0)
    n_products = _TAPS * channels_in
    of_weight = total[:n_products].view(3, 3, channels_in, channels_out).permute(3, 2, 0, 1).contiguous()
    return of_weight, total[n_products]


def _reordered(values: Tensor, out: Tensor | None = None) -> Tensor:
    """Values in the order of the maps between; where they are the gradient of an output, in front of its ReLU."""
    n, channels, height, width = values.shape
    own = torch.empty((n, height, width, channels), dtype=torch.bfloat16, device=values.device)
    n_pixels, block = n * height * width, 64
    _reorder[(triton.cdiv(n_pixels, block),)](
        values, values if out is None else out, own, n_pixels, height * width, channels, out is not None, block
    )
    return own


def _columns(channels_in: int) -> int:
    """Products of one pixel of an image, and one for the bias, up to a power of two that a GPU can multiply."""
    return max(16, int(triton.next_power_of_2(_TAPS * channels_in + 1)))


def _bfloat16(values: Tensor) -> Tensor:
    return torch.empty(values.shape, dtype=torch.bfloat16, device=values.device).copy_(values)


@triton.jit
def _convolve(
    x,
    weights,
    bias,
    before,
    out,
    n_pixels,
    height,
    width,
    channels_in: tl.constexpr,
    channels_out: tl.constexpr,
    last: tl.constexpr,
    backward: tl.constexpr,
    block: tl.constexpr,
):
    pixel = tl.program_id(0) * block + tl.arange(0, block)
    there = pixel < n_pixels
    place = pixel % (height * width)
    row = place // width
    col = place % width
    channel = tl.arange(0, channels_in)
    own = tl.arange(0, channels_out)
    total = tl.zeros((block, channels_out), dtype=tl.float32)
    for tap in range(9):
        down = tap // 3 - 1
        right = tap % 3 - 1
        near = there & (row + down >= 0) & (row + down < height) & (col + right >= 0) & (col + right < width)
        source = (pixel + down * width + right)[:, None] * channels_in + channel[None, :]
        values = tl.load(x + source, mask=near[:, None], other=0.0)
        # Backwards the neighbour on the one side was reached through the weight of the other.
        place_of_tap = (8 - tap) if backward else tap
        product = place_of_tap * channels_in * channels_out + channel[:, None] * channels_out + own[None, :]
        total = tl.dot(values, tl.load(weights + product), total)
    if backward:
        target = pixel[:, None] * channels_out + own[None, :]
        total = tl.where(tl.load(before + target, mask=there[:, None], other=0.0) > 0, total, 0.0)
        tl.store(out + target, total.to(tl.bfloat16), mask=there[:, None])
    else:
        total = _rectified(total + tl.load(bias + own)[None, :])
        _put(out, total, pixel, there, height * width, channels_out, last)


@triton.jit
def _rectified(values):
    # As torch does it: what is not a number stays so.
    return tl.maximum(values, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _convolve_images(
    x,
    weights,
    bias,
    out,
    n_pixels,
    height,
    width,
    channels_in: tl.constexpr,
    columns: tl.constexpr,
    channels_out: tl.constexpr,
    last: tl.constexpr,
    block: tl.constexpr,
):
    pixel = tl.program_id(0) * block + tl.arange(0, block)
    there = pixel < n_pixels
    own = tl.arange(0, channels_out)
    column = tl.arange(0, columns)
    values = _around(x, pixel, there, height, width, channels_in, columns)
    known = column < 9 * channels_in
    taps = tl.load(weights + column[:, None] * channels_out + own[None, :], mask=known[:, None], other=0.0)
    total = tl.dot(values.to(tl.bfloat16), taps)
    total = _rectified(total + tl.load(bias + own)[None, :])
    _put(out, total, pixel, there, height * width, channels_out, last)


@triton.jit
def _around(x, pixel, there, height, width, channels_in: tl.constexpr, columns: tl.constexpr):
    """What the weights of each pixel see of an image: a row for each pixel; 1 behind it, for the bias."""
    area = height * width
    place = pixel % area
    column = tl.arange(0, columns)
    tap = column // channels_in
    channel = column % channels_in
    row = (place // width)[:, None] + (tap // 3 - 1)[None, :]
    col = (place % width)[:, None] + (tap % 3 - 1)[None, :]
    near = there[:, None] & (tap < 9)[None, :] & (row >= 0) & (row < height) & (col >= 0) & (col < width)
    image = (pixel // area)[:, None] * (channels_in * area) + channel[None, :] * area
    values = tl.load(x + image + row * width + col, mask=near, other=0.0)
    return tl.where((column == 9 * channels_in)[None, :], 1.0, values)


@triton.jit
def _put(out, values, pixel, there, area, channels: tl.constexpr, last: tl.constexpr):
    """Store the values of pixels, in torch's order behind the last layer."""
    own = tl.arange(0, channels)
    if last:
        image = (pixel // area) * (channels * area) + pixel % area
        tl.store(out + image[:, None] + own[None, :] * area, values, mask=there[:, None])
    else:
        tl.store(out + pixel[:, None] * channels + own[None, :], values.to(tl.bfloat16), mask=there[:, None])


@triton.jit
def _sum_products(
    x,
    gradients,
    sums,
    n_pixels,
    each,
    height,
    width,
    channels_in: tl.constexpr,
    channels_out: tl.constexpr,
    block: tl.constexpr,
):
    share = tl.program_id(0)
    down = tl.program_id(1) - 1
    # A pixel's neighbours to the left and to the right lie beside it in the memory; a fourth one makes a power of two.
    column = tl.arange(0, 4 * channels_in)
    right = column // channels_in - 1
    own = tl.arange(0, channels_out)
    total = tl.zeros((4 * channels_in, channels_out), dtype=tl.float32)
    of_bias = tl.zeros((64, channels_out), dtype=tl.float32)
    ones = tl.full((64, block), 1.0, dtype=tl.bfloat16)
    for start in range(share * each, tl.minimum((share + 1) * each, n_pixels), block):
        pixel = start + tl.arange(0, block)
        there = pixel < n_pixels
        place = pixel % (height * width)
        row = place // width + down
        col = (place % width)[:, None] + right[None, :]
        near = (there & (row >= 0) & (row < height))[:, None] & (col >= 0) & (col < width) & (right < 2)[None, :]
        source = ((pixel + down * width - 1) * channels_in)[:, None] + column[None, :]
        values = tl.load(x + source, mask=near, other=0.0)
        gradient = tl.load(gradients + pixel[:, None] * channels_out + own[None, :], mask=there[:, None], other=0.0)
        total = tl.dot(tl.trans(values), gradient, total)
        of_bias = tl.dot(ones, gradient, of_bias)
    n_sums: tl.constexpr = (9 * channels_in + 1) * channels_out
    first = sums + share * n_sums + (down + 1) * 3 * channels_in * channels_out
    tl.store(first + column[:, None] * channels_out + own[None, :], total, mask=(right < 2)[:, None])
    if down == 0:
        # All rows of it are the same.
        last = sums + share * n_sums + 9 * channels_in * channels_out
        tl.store(last + own[None, :] + tl.arange(0, 64)[:, None], of_bias, mask=(tl.arange(0, 64) == 0)[:, None])


@triton.jit
def _sum_products_of_images(
    x,
    gradients,
    sums,
    n_pixels,
    each,
    height,
    width,
    channels_in: tl.constexpr,
    columns: tl.constexpr,
    channels_out: tl.constexpr,
    block: tl.constexpr,
):
    share = tl.program_id(0)
    own = tl.arange(0, channels_out)
    total = tl.zeros((columns, channels_out), dtype=tl.float32)
    for start in range(share * each, tl.minimum((share + 1) * each, n_pixels), block):
        pixel = start + tl.arange(0, block)
        there = pixel < n_pixels
        gradient = tl.load(gradients + pixel[:, None] * channels_out + own[None, :], mask=there[:, None], other=0.0)
        values = _around(x, pixel, there, height, width, channels_in, columns)
        total = tl.dot(tl.trans(values.to(tl.bfloat16)), gradient, total)
    column = tl.arange(0, columns)
    tl.store(sums + (share * columns + column[:, None]) * channels_out + own[None, :], total)


@triton.jit
def _reorder(values, out, own, n_pixels, area, channels: tl.constexpr, backward: tl.constexpr, block: tl.constexpr):
    pixel = tl.program_id(0) * block + tl.arange(0, block)
    there = (pixel < n_pixels)[:, None]
    channel = tl.arange(0, channels)
    image = (pixel // area) * (channels * area) + pixel % area
    source = image[:, None] + channel[None, :] * area
    value = tl.load(values + source, mask=there, other=0.0)
    if backward:
        value = tl.where(tl.load(out + source, mask=there, other=0.0) > 0, value, 0.0)
    tl.store(own + pixel[:, None] * channels + channel[None, :], value.to(tl.bfloat16), mask=there)

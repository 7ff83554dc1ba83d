"""One kernel that forms the rows of many trainings, each from samples of its own; it needs Triton, and so a GPU."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["form_rows"]

# Features that one program of the kernel forms.
_BLOCK = 2048


def form_rows(ends: Tensor, pairs: Tensor, batch: Tensor, positions: Tensor, out: Tensor) -> None:
    """The rows of each slot's next batch, ``(1 - position) * x0[row] + position * x1[col]``.

    Every slot reads tensors of its own, which are given by their addresses. So one launch serves all of them, and a
    captured launch serves whatever samples are put down later.

    Parameters
    ----------
    ends : int tensor of shape (2, slots)
        Addresses of ``x0`` and ``x1``, tables without gaps of the type of ``out``; 0: nothing is formed for the slot.
    pairs : int tensor of shape (2, slots, batches, length)
        Rows of ``x0`` and of ``x1``.
    batch : int tensor of shape (slots,)
        Which of the batches is next.
    positions : float tensor of shape (slots,)
        0: the rows are those of ``x0``.
    out : tensor of shape (slots to be formed, pieces, length, features of a piece)
        Without gaps.
    """
    slots, pieces, length, n_features = out.shape
    grid = (triton.cdiv(n_features, _BLOCK) * pieces, length, slots)
    _form_rows[grid](
        ends,
        ends[1],
        pairs,
        pairs[1],
        batch,
        positions,
        out,
        pairs.shape[2],
        n_features,
        pieces,
        length,
        _BLOCK,
        num_warps=8,
    )


@triton.jit
def _form_rows(
    first,
    second,
    rows,
    cols,
    batch,
    positions,
    out,
    n_batches,
    n_features,
    pieces,
    length: tl.constexpr,
    block: tl.constexpr,
):
    slot = tl.program_id(2)
    sample = tl.program_id(1)
    blocks = tl.cdiv(n_features, block)
    piece = tl.program_id(0) // blocks
    feature = (tl.program_id(0) % blocks) * block + tl.arange(0, block)
    inside = feature < n_features
    kind = tl.pointer_type(out.dtype.element_ty)
    start = tl.load(first + slot)
    if start != 0:
        # Tables may have more values than an int32 counts.
        place = (slot.to(tl.int64) * n_batches + tl.load(batch + slot)) * length + sample
        width = n_features * pieces
        column = piece * n_features + feature
        position = tl.load(positions + slot)
        value = tl.load(start.to(kind) + tl.load(rows + place) * width + column, mask=inside)
        if position != 0.0:
            end = tl.load(tl.load(second + slot).to(kind) + tl.load(cols + place) * width + column, mask=inside)
            # As torch.lerp does it: exact at both ends.
            gap = end - value
            value = tl.where(position < 0.5, value + position * gap, end - gap * (1.0 - position))
        row = (slot.to(tl.int64) * pieces + piece) * length + sample
        tl.store(out + row * n_features + feature, value, mask=inside)

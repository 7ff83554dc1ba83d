"""`WideLinear`: a linear layer for many more inputs than outputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

__all__ = ["WideLinear"]

# Inputs in one piece of the inner product, and batches for which cutting it pays.
_PIECE = 512
_LARGEST_BATCH = 1024


class WideLinear(nn.Linear):
    """``nn.Linear`` with the inner product cut into pieces on a GPU.

    With some 25,000 inputs, 128 outputs and a batch of 128 the plain product has so few
    outputs that most of the GPU idles; the pieces are summed in parallel. On the CPU it is
    ``nn.Linear`` to the last bit.

    >>> WideLinear(4, 2)(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    #: What it computes in evaluation mode.
    evaluates_as = nn.Linear

    def forward(self, input: Tensor) -> Tensor:
        pieces = pieces_of(self.in_features)
        if not input.is_cuda or pieces == 1 or input.ndim != 2 or len(input) > _LARGEST_BATCH:
            return linear(input, self.weight, self.bias)
        out: Tensor = _Pieces.apply(input, self.weight, pieces)  # type: ignore[no-untyped-call]
        return out if self.bias is None else out + self.bias


def pieces_of(n_inputs: int) -> int:
    """Number of equal pieces of at least 512 inputs.

    >>> pieces_of(25_088), pieces_of(32_768), pieces_of(100)
    (49, 64, 1)
    """
    return next((pieces for pieces in range(n_inputs // _PIECE, 1, -1) if n_inputs % pieces == 0), 1)


def in_pieces(input: Tensor, weight: Tensor, pieces: int) -> Tensor:
    """The product with the transposed weights as a sum of ``pieces`` smaller ones.

    >>> x, w = torch.arange(4.0).reshape(1, 4), torch.ones(2, 4)
    >>> in_pieces(x, w, 2).tolist()
    [[6.0, 6.0]]
    """
    x = input.view(len(input), pieces, -1).transpose(0, 1)
    w = weight.view(len(weight), pieces, -1).permute(1, 2, 0)
    return torch.bmm(x, w).sum(0)


class _Pieces(torch.autograd.Function):
    """`in_pieces` with plain products behind: gradients have outputs enough to fill the GPU, and need no copies."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, pieces: int) -> Tensor:
        ctx.save_for_backward(input, weight)
        return in_pieces(input, weight, pieces)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        input, weight = ctx.saved_tensors
        of_input = gradient @ weight if ctx.needs_input_grad[0] else None
        of_weight = gradient.T @ input if ctx.needs_input_grad[1] else None
        return of_input, of_weight, None

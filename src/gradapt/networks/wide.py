"""`WideLinear`: a linear layer for many more inputs than outputs."""

from __future__ import annotations

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

    def forward(self, input: Tensor) -> Tensor:
        pieces = pieces_of(self.in_features)
        if not input.is_cuda or pieces == 1 or input.ndim != 2 or len(input) > _LARGEST_BATCH:
            return linear(input, self.weight, self.bias)
        return in_pieces(input, self.weight, self.bias, pieces)


def pieces_of(n_inputs: int) -> int:
    """Number of equal pieces of at least 512 inputs.

    >>> pieces_of(25_088), pieces_of(32_768), pieces_of(100)
    (49, 64, 1)
    """
    return next((pieces for pieces in range(n_inputs // _PIECE, 1, -1) if n_inputs % pieces == 0), 1)


def in_pieces(input: Tensor, weight: Tensor, bias: Tensor | None, pieces: int) -> Tensor:
    """The product as a sum of ``pieces`` smaller ones."""
    x = input.view(len(input), pieces, -1).transpose(0, 1)
    w = weight.view(len(weight), pieces, -1).permute(1, 2, 0)
    out = torch.bmm(x, w).sum(0)
    return out if bias is None else out + bias

"""Mixup (Zhang et al. 2018): each sample of a batch mixed with another one, and so its label."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

__all__ = ["mixed"]


def mixed(
    batch: Tensor, labels: Tensor, weights: Tensor | None, shares: Tensor, n_classes: int | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The batch mixed with itself, moved on by one place: it is in random order, so that is a random partner.

    Parameters
    ----------
    batch : tensor of n samples
    labels : int tensor of length n, or class shares of shape (n, K)
    weights : tensor of length n, optional
        A mixture weighs as much as its parts, and each label counts by its part of that.
    shares : tensor of length n
        What each sample keeps of itself.
    n_classes : int or None
        Columns for labels that are class numbers.

    Examples
    --------
    >>> x, y = torch.tensor([[0.0], [4.0]]), torch.tensor([0, 1])
    >>> x, y, _ = mixed(x, y, None, torch.tensor([0.75, 0.5]), 2)
    >>> x.flatten().tolist(), y.tolist()
    ([1.0, 2.0], [[0.75, 0.25], [0.5, 0.5]])
    """
    wide = shares.reshape(-1, *[1] * (batch.ndim - 1))
    targets = labels if labels.ndim == 2 else one_hot(labels, -1 if n_classes is None else n_classes)
    targets = targets.to(shares.dtype)
    samples = torch.lerp(batch.roll(1, 0), batch, wide)
    own, other = shares, 1.0 - shares
    if weights is not None:
        own, other = own * weights, other * weights.roll(1, 0)
    total = own + other
    both = (own[:, None] * targets + other[:, None] * targets.roll(1, 0)) / total.clamp_min(1e-12)[:, None]
    return samples, both, None if weights is None else total

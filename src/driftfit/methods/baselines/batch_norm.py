"""Batch normalisation of two domains: each batch by itself, running statistics from one side alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

_LAYERS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@contextmanager
def own_statistics(*modules: nn.Module, track: bool) -> Iterator[None]:
    """Normalise by the batch's own statistics for a while; ``track`` them for evaluation, or not.

    >>> import torch
    >>> norm = nn.BatchNorm1d(1).eval()
    >>> with own_statistics(norm, track=False):
    ...     norm(torch.tensor([[1.0], [3.0]])).flatten().round().tolist()
    [-1.0, 1.0]
    >>> norm.running_mean.item(), norm.training
    (0.0, False)
    """
    layers = [layer for module in modules for layer in module.modules() if isinstance(layer, _LAYERS)]
    before = [(layer.training, layer.track_running_stats) for layer in layers]
    try:
        for layer in layers:
            layer.training = True
            # A layer that never tracks has no running statistics to write.
            layer.track_running_stats = track and layer.running_mean is not None
        yield
    finally:
        for layer, (training, tracked) in zip(layers, before, strict=True):
            layer.training, layer.track_running_stats = training, tracked

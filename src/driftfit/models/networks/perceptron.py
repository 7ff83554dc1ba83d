"""The paper's network for tables."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from driftfit.errors import InputError

__all__ = ["mlp"]


def mlp(
    n_features: int,
    n_classes: int,
    *,
    hidden: tuple[int, ...] = (256, 256, 256),
    dropout: float = 0.5,
    batch_norm: bool = True,
) -> nn.Sequential:
    """A multi-layer perceptron with named layers ``fc1 ..``, ``dropout``, ``norm``, ``output``.

    Examples
    --------
    >>> [name for name, _ in mlp(4, 2, hidden=(8,)).named_children()]
    ['fc1', 'dropout', 'norm', 'output']
    """
    if n_features < 1 or n_classes < 1:
        raise InputError(f"n_features and n_classes must be at least 1, got {n_features!r} and {n_classes!r}")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    width = n_features
    for i, neurons in enumerate(hidden, start=1):
        layers[f"fc{i}"] = nn.Sequential(nn.Linear(width, neurons), nn.ReLU())
        width = neurons
    if dropout:
        layers["dropout"] = nn.Dropout(dropout)
    if batch_norm:
        layers["norm"] = nn.BatchNorm1d(width)
    layers["output"] = nn.Linear(width, n_classes)
    return nn.Sequential(layers)

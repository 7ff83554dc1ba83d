"""Which layer ends the encoder when nobody says so."""

from __future__ import annotations

from torch import nn

from gradapt.errors import InputError
from gradapt.networks import INPUT, layer_names, split

__all__ = ["last_hidden_layer"]


def last_hidden_layer(module: nn.Module) -> str:
    """The latest layer that leaves something to train on both sides of the cut; ``"input"`` if there is none.

    >>> from gradapt.networks import mlp
    >>> last_hidden_layer(mlp(4, 2, hidden=(8, 8))), last_hidden_layer(nn.Linear(4, 2))
    ('norm', 'input')
    """
    for layer in reversed(layer_names(module)):
        if layer == INPUT:
            break
        try:
            encoder, head = split(module, layer)
        except InputError:
            continue  # a network cannot be cut inside a branch
        if _can_train(encoder) and _can_train(head):
            return layer
    return INPUT


def _can_train(module: nn.Module) -> bool:
    return any(p.requires_grad for p in module.parameters())

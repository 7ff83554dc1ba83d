"""Which layer ends the encoder when nobody says so."""

from __future__ import annotations

from torch import nn

from driftfit.errors import InputError
from driftfit.models.networks import INPUT, layer_names, split

# The cut behind everything: the whole network is the encoder, and its features are the scores.
SCORES = "scores"


def parts_at(module: nn.Module, layer: str) -> tuple[nn.Module, nn.Module]:
    """Encoder and head at a layer, ``"input"`` or ``"scores"``.

    >>> parts_at(nn.Linear(2, 3), SCORES)
    (Linear(in_features=2, out_features=3, bias=True), Identity())
    """
    return (module, nn.Identity()) if layer == SCORES else split(module, layer)


def last_hidden_layer(module: nn.Module) -> str:
    """The latest layer that leaves something to train on both sides of the cut; ``"input"`` if there is none.

    >>> from driftfit.models.networks import mlp
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

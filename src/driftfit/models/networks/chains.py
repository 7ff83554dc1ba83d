"""The layers of nested sequences, in the order in which they compute."""

from __future__ import annotations

from torch import nn

__all__ = ["chained", "children", "has_hooks"]


def children(sequence: nn.Module) -> list[tuple[str, nn.Module]]:
    """Names and layers; one that occurs twice is there twice, unlike in ``named_children``.

    >>> relu = nn.ReLU()
    >>> [name for name, _ in children(nn.Sequential(relu, nn.Linear(2, 2), relu))]
    ['0', '1', '2']
    """
    everything = sequence.named_modules(remove_duplicate=False)
    return [(name, child) for name, child in everything if name and "." not in name]


def chained(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Dotted names and layers of nested sequences; anything else is a layer of its own.

    >>> [name for name, _ in chained(nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(2, 3), nn.ReLU())))]
    ['0', '1.0', '1.1']
    """
    if type(module) is not nn.Sequential or has_hooks(module):
        return [("", module)]
    return [
        (f"{name}.{own}" if own else name, layer) for name, child in children(module) for own, layer in chained(child)
    ]


def has_hooks(module: nn.Module) -> bool:
    """Whether calling a module does more than the ``forward`` of its class.

    >>> layer = nn.ReLU()
    >>> handle = layer.register_forward_hook(lambda *_: None)
    >>> has_hooks(layer), has_hooks(nn.ReLU())
    (True, False)
    """
    own = vars(module)
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return "forward" in own or any(own.get(kind) for kind in kinds)

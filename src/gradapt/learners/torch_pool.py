"""`TrainerPool`: trainers that are kept, so that a captured step serves every training of its kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import deepcopy
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

__all__ = ["TrainerPool", "load_weights"]


class _HasModule(Protocol):
    module: nn.Module


AnyTrainer = TypeVar("AnyTrainer", bound=_HasModule)


class TrainerPool:
    """Trainers of one family of networks, built by one function, by what and how they train.

    A trainer keeps the module it was made for and trains it in place; weights are loaded into it
    before every training. On a GPU its captured steps then serve all trainings of one shape.

    Examples
    --------
    >>> from gradapt.learners.torch_training import Recipe, Trainer
    >>> pool, one, two = TrainerPool(), nn.Linear(1, 2), nn.Linear(1, 2)
    >>> first = pool.get("linear", one, lambda own: Trainer(own, Recipe()))
    >>> pool.get("linear", two, lambda own: Trainer(own, Recipe())) is first
    True
    >>> torch.equal(first.module.weight, two.weight), first.module is one
    (True, False)
    """

    def __init__(self) -> None:
        self._trainers: dict[Hashable, Any] = {}

    def get(self, key: Hashable, module: nn.Module, make: Callable[[nn.Module], AnyTrainer]) -> AnyTrainer:
        """The trainer of a key, loaded with the weights of ``module``, which stays as it is."""
        place = (key, _architecture(module))
        if place not in self._trainers:
            self._trainers[place] = make(deepcopy(module))
        trainer: AnyTrainer = self._trainers[place]
        load_weights(trainer.module, module.state_dict())
        return trainer

    def __getstate__(self) -> dict[str, Any]:
        # Captured steps and the state of optimisers are no part of a saved or copied model.
        return {"_trainers": {}}


def _architecture(module: nn.Module) -> Hashable:
    """What makes two modules alike but for their weights: layers, shapes, types and devices."""
    tensors = tuple(
        (name, tuple(value.shape), value.dtype, value.device) for name, value in module.state_dict().items()
    )
    return repr(module), tensors


@torch.no_grad()
def load_weights(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy weights in place: captured training steps point to the module's own tensors."""
    for name, value in module.state_dict().items():
        value.copy_(weights[name])

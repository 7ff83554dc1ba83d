"""`Workshop`: trainers by name; a captured training step serves every seed and cell of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from torch import nn

from gradapt.learners.torch_training import Trainer
from gradapt.methods.baselines import PairedTrainer
from gradapt.paper.steps import load_weights

__all__ = ["Workshop"]

AnyTrainer = TypeVar("AnyTrainer", Trainer, PairedTrainer)


@dataclass(eq=False)
class Workshop:
    """Trainers of one benchmark, preset and study."""

    trainers: dict[str, Any] = field(default_factory=dict)

    def trainer(self, name: str, module: nn.Module, make: Callable[[nn.Module], AnyTrainer]) -> AnyTrainer:
        """The trainer of a name, its module loaded with the weights of ``module``.

        ``make`` is called on the first module of a name, which is then trained in place.
        """
        if name not in self.trainers:
            self.trainers[name] = make(module)
        trainer: AnyTrainer = self.trainers[name]
        if trainer.module is not module:
            load_weights(trainer.module, module.state_dict())
        return trainer

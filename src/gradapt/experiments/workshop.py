"""`Workshop`: trainers by name; a captured training step serves every seed and cell of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import nn

from gradapt.adapt.rivals import PairedTrainer
from gradapt.experiments.steps import load_weights
from gradapt.learners.torch_training import Recipe, Trainer

__all__ = ["Workshop"]


@dataclass(eq=False)
class Workshop:
    """Trainers of one benchmark, preset and study."""

    trainers: dict[str, Trainer] = field(default_factory=dict)
    paired_trainers: dict[str, PairedTrainer] = field(default_factory=dict)

    def trainer(self, name: str, module: nn.Module, recipe: Recipe) -> Trainer:
        """The trainer of a name, its module loaded with the weights of ``module``."""
        if name not in self.trainers:
            self.trainers[name] = Trainer(module, recipe)
        trainer = self.trainers[name]
        if trainer.module is not module:
            load_weights(trainer.module, module.state_dict())
        return trainer

    def paired_trainer(self, name: str, module: nn.Module, make: Callable[[nn.Module], PairedTrainer]) -> PairedTrainer:
        """The same for a rival; ``make`` is called on the first module of a name."""
        if name not in self.paired_trainers:
            self.paired_trainers[name] = make(module)
        trainer = self.paired_trainers[name]
        if trainer.module is not module:
            load_weights(trainer.module, module.state_dict())
        return trainer

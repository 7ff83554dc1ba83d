"""`TrainerPool`: trainers that are kept, so that a captured step serves every training of its kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from driftfit.models.torch.lessons import Lesson
from driftfit.models.torch.lockstep import Lockstep, can_stack, fitting_slots
from driftfit.models.torch.samples import Samples, formed
from driftfit.models.torch.training import Recipe, Trainer
from driftfit.models.torch.turns import Turns

__all__ = ["TrainerPool", "load_weights"]


class _HasModule(Protocol):
    module: nn.Module


AnyTrainer = TypeVar("AnyTrainer", bound=_HasModule)


@dataclass(frozen=True, eq=False)
class _Training:
    """One training that somebody waits for."""

    module: nn.Module
    recipe: Recipe
    lesson: Lesson
    n_classes: int

    @property
    def kind(self) -> Hashable:
        """Trainings of one kind can go in lockstep."""
        return self.recipe, self.lesson.labels.ndim, _architecture(self.module)


class TrainerPool:
    """Trainers of one family of networks, built by one function, by what and how they train.

    A trainer keeps the module it was made for and trains it in place; weights are loaded into it
    before every training. On a GPU its captured steps then serve all trainings of one shape.

    Examples
    --------
    >>> from driftfit.models.torch.training import Recipe, Trainer
    >>> pool, one, two = TrainerPool(), nn.Linear(1, 2), nn.Linear(1, 2)
    >>> first = pool.get("linear", one, lambda own: Trainer(own, Recipe()))
    >>> pool.get("linear", two, lambda own: Trainer(own, Recipe())) is first
    True
    >>> torch.equal(first.module.weight, two.weight), first.module is one
    (True, False)
    """

    def __init__(self) -> None:
        self._trainers: dict[Hashable, Any] = {}
        self._company: _Company | None = None

    def get(self, key: Hashable, module: nn.Module, make: Callable[[nn.Module], AnyTrainer]) -> AnyTrainer:
        """The trainer of a key, loaded with the weights of ``module``, which stays as it is."""
        trainer = self.kept((key, _architecture(module)), lambda: make(deepcopy(module)))
        load_weights(trainer.module, module.state_dict())
        return trainer

    def kept(self, place: Hashable, make: Callable[[], AnyTrainer]) -> AnyTrainer:
        """What is kept at a place, made where there is nothing yet."""
        if place not in self._trainers:
            self._trainers[place] = make()
        trainer: AnyTrainer = self._trainers[place]
        return trainer

    def trained(self, module: nn.Module, recipe: Recipe, lesson: Lesson, n_classes: int) -> nn.Module:
        """A copy of the module, trained; in company with others that wait for theirs, where there are some."""
        training = _Training(module, recipe, lesson, n_classes)
        if self._company is not None and self._company.turns.inside:
            return self._company.turns.ask(training)
        return self.trained_alone(training)

    def trained_alone(self, training: _Training) -> nn.Module:
        own = training.lesson
        trainer = self.get(
            training.recipe,
            training.module,
            lambda module: Trainer(module, training.recipe, n_classes=training.n_classes),
        )
        trainer.learn(own)
        return deepcopy(trainer.module)

    def placed(self, samples: Samples) -> Samples:
        """Samples as a training reads them: formed beforehand, but in company, where the memory is everybody's."""
        if self._company is None:
            return formed(samples)
        return samples.select(torch.arange(len(samples), device=samples.device))

    def together(
        self, tasks: Sequence[Callable[[], Any]], most: int | None = None
    ) -> Iterator[tuple[int, Any, BaseException | None]]:
        """Run functions in turns, their trainings in lockstep; number, result and exception of each as they end.

        Only trainings that ask this pool are put together, each as if it were alone up to rounding.

        Parameters
        ----------
        tasks : sequence of callable
        most : int, optional
            Functions under way at a time, at most.
        """
        company = _Company(self, min(len(tasks), most or len(tasks)))
        self._company = company
        try:
            yield from company.turns.run(tasks, most)
        finally:
            self._company = None

    def __getstate__(self) -> dict[str, Any]:
        # Captured steps and the state of optimisers are no part of a saved or copied model.
        return {"_trainers": {}, "_company": None}


class _Company:
    """Serves the trainings of functions that run in turns."""

    def __init__(self, pool: TrainerPool, size: int) -> None:
        self.pool, self.size = pool, size
        self.turns: Turns[_Training, nn.Module] = Turns(self._serve)
        self.alone: list[_Training] = []
        self.queues: dict[Hashable, list[_Training]] = {}
        self.locksteps: dict[Hashable, Lockstep] = {}
        self.under_way: dict[int, _Training] = {}

    def _serve(self, new: list[_Training]) -> list[tuple[_Training, nn.Module]]:
        for training in new:
            if can_stack(training.module, training.recipe, training.lesson.samples.sample_shape):
                self.queues.setdefault(training.kind, []).append(training)
            else:
                self.alone.append(training)
        if self.alone:
            alone, self.alone = self.alone, []
            return [(training, self.pool.trained_alone(training)) for training in alone]
        kind = max(self.queues, key=self._n_open)
        lockstep = self._lockstep(kind)
        while self.queues[kind] and lockstep.room:
            training = self.queues[kind].pop(0)
            self.under_way[id(training.lesson)] = training
            lockstep.begin(training.module, training.lesson)
        return [(self.under_way.pop(id(lesson)), network) for lesson, network in lockstep.advance()]

    def _n_open(self, kind: Hashable) -> int:
        started = self.locksteps.get(kind)
        return len(self.queues[kind]) + (0 if started is None else len(started.members))

    def _lockstep(self, kind: Hashable) -> Lockstep:
        if kind not in self.locksteps:
            first = self.queues[kind][0]
            own = self.pool.kept(
                ("lockstep", kind),
                lambda: Lockstep(first.module, first.recipe, fitting_slots(first.module, first.recipe, self.size)),
            )
            # Whatever another company left behind when it broke off.
            own.clear()
            self.locksteps[kind] = own
        return self.locksteps[kind]


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

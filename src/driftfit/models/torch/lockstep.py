"""`Lockstep`: trainings of one kind, step by step together, each as if it were alone."""

from __future__ import annotations

from collections.abc import Callable, Generator
from copy import deepcopy
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.models.torch.adam import FusedAdam, has_own_kernel
from driftfit.models.torch.desks import Desk, Epoch
from driftfit.models.torch.draws import Draws
from driftfit.models.torch.lessons import Lesson, batches_of
from driftfit.models.torch.samples import dtype_of
from driftfit.models.torch.stacks import Batches, Stack, plain_layers
from driftfit.models.torch.steps import Steps, is_adam, random_state, set_random_state
from driftfit.models.torch.training import Recipe, seeded

__all__ = ["Lockstep", "can_stack", "fitting_slots"]

# Numbers of slots for which a step is captured; others compute some slots that nobody reads.
_WIDTHS = (1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 25, 32)
# Bytes of a stack, at most.
_STACK_BYTES = 2**32


def can_stack(module: nn.Module, recipe: Recipe, sample_shape: tuple[int, ...]) -> bool:
    """Whether trainings of this kind can go in lockstep: plain steps of Adam on batches of vectors.

    >>> can_stack(nn.Linear(4, 2), Recipe(), (4,)), can_stack(nn.Linear(4, 2), Recipe(rho=0.1), (4,))
    (True, False)
    """
    plain = recipe.rho == 0 and recipe.mixup is None and (recipe.batch_size or 0) > 1
    flattened = any(isinstance(layer, nn.Flatten) for layer in module.modules())
    vectors = _n_inputs(module) == prod(sample_shape) and (flattened or len(sample_shape) == 1)
    return plain and vectors and is_adam(recipe.optimiser(list(module.parameters())))


def fitting_slots(module: nn.Module, recipe: Recipe, wanted: int) -> int:
    """Slots for so many trainings, or as many as there is room for.

    >>> fitting_slots(nn.Linear(4, 2), Recipe(), 9)
    10
    """
    # Weights, gradients and the two moments of each slot, and its batch.
    own = sum(parameter.nbytes for parameter in module.parameters())
    batch = 4 * int(recipe.batch_size or 0) * (_n_inputs(module) or 0)
    most = max(1, _STACK_BYTES // (4 * own + batch))
    return next((width for width in _WIDTHS if width >= min(wanted, most)), _WIDTHS[-1])


def _n_inputs(module: nn.Module) -> int | None:
    """Features of a sample; None for a network that no stack computes."""
    layers = plain_layers(module)
    first = None if layers is None else layers[0][1]
    return first.in_features if isinstance(first, nn.Linear) else None


@dataclass(eq=False)
class _Member:
    """One training on its way; its slot is its place among the members."""

    lesson: Lesson
    passes: Generator[Tensor, None, int]
    # State of the random numbers that this training alone draws from.
    drawn: Tensor | None = None
    # Batches of the epoch that are left.
    left: int = 0


class _StackedSteps(Steps):
    """Steps of the first slots together; the optimiser has a state for each slot."""

    module: Stack
    # Puts the inputs of so many slots together, where that belongs to the step.
    serve: Callable[[int], None] | None = None

    def __init__(self, stack: Stack, loss: Callable[..., Tensor], recipe: Recipe, capture: bool | None) -> None:
        super().__init__(stack, loss, recipe.optimiser, capture=capture)
        # State of the optimiser for parameters that a kernel moves in all slots at once, by their names.
        self._stacked: dict[str, dict[str, Tensor]] = {}
        for number, (name, values) in enumerate(stack.trained()):
            if isinstance(self.optimiser, FusedAdam) and has_own_kernel(values[0]):
                moments = {key: torch.zeros_like(values) for key in ("exp_avg", "exp_avg_sq")}
                self._stacked[name] = state = {"step": torch.zeros(stack.slots, device=self.device), **moments}
                for slot in range(stack.slots):
                    own = stack.parameters_of(slot)[number]
                    self.optimiser.state[own] = {key: value[slot] for key, value in state.items()}

    def update(self, *inputs: Tensor | None) -> None:
        slots = len(inputs[0])  # type: ignore[arg-type]
        if self.serve is not None:
            with torch.no_grad():
                self.serve(slots)
        gradients = torch.autograd.grad(self.loss(*inputs), self.module.leaves(slots))
        names = [name for name, _ in self.module.trained()]
        self._move({name: own for name, own in zip(names, gradients, strict=True) if name in self._stacked})
        left = (None if name in self._stacked else own for name, own in zip(names, gradients, strict=True))
        self.module.hand_out(list(left))
        self.optimiser.step()

    @torch.no_grad()
    def _move(self, gradients: dict[str, Tensor]) -> None:
        """The optimiser's step for parameters that are moved in all slots at once."""
        if not gradients:
            return
        from driftfit.models.torch.stacked_adam import adam_step  # only where there is Triton

        values, options = dict(self.module.trained()), self.optimiser.param_groups[0]
        for name, own in gradients.items():
            adam_step(values[name], own, self._stacked[name], options["lr"], options["weight_decay"])

    def inputs_of_capture(self, inputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        # They are always the same tensors.
        return inputs

    @torch.no_grad()
    def begin_slot(self, slot: int) -> None:
        """Adam begins with zeros everywhere; captured steps keep pointing to these tensors."""
        for value in self._states(slot):
            value.zero_()

    @torch.no_grad()
    def move(self, start: int, end: int) -> None:
        """Copy a slot, network and optimiser, to another."""
        self.module.move(start, end)
        for value, own in zip(self._states(end), self._states(start), strict=True):
            value.copy_(own)

    def _states(self, slot: int) -> list[Tensor]:
        return [value for own in self.module.parameters_of(slot) for value in self.optimiser.state[own].values()]


class Lockstep:
    """Trains networks of one architecture by one recipe, several at a time.

    Each keeps its own samples, labels, weights, order of batches, dropout, number of steps and early stopping, and
    ends with the weights that `Trainer` would give it alone, up to rounding. One that is done leaves its slot to
    another, at any step.

    Parameters
    ----------
    module : nn.Module
        A network of the architecture.
    recipe : Recipe
        One that `can_stack` takes.
    slots : int
        Trainings at a time, at most.
    capture : bool or None
        Whether to capture the step; None: on CUDA.
    """

    def __init__(self, module: nn.Module, recipe: Recipe, slots: int, *, capture: bool | None = None) -> None:
        self.module, self.recipe = deepcopy(module), recipe
        self.stack = Stack(module, slots)
        self.steps = _StackedSteps(self.stack, self._loss, recipe, capture)
        self.members: list[_Member] = []
        self._desk: Desk | None = None
        length, drops = int(recipe.batch_size or 0), any(isinstance(layer, nn.Dropout) for layer in module.modules())
        self._drawing = Draws(lambda sizes: self.stack.noises(sizes, length), capture=self.steps.capture and drops)

    @property
    def room(self) -> int:
        """How many more trainings can begin."""
        return self.stack.slots - len(self.members)

    def begin(self, module: nn.Module, lesson: Lesson) -> None:
        """Let a training begin with the weights of ``module``, which stays as it is."""
        slot, member = len(self.members), _Member(lesson, lesson.passes(self.module, self.recipe.early_stopping))
        self.stack.load(slot, module)
        self.steps.begin_slot(slot)
        self.members.append(member)
        self._lay_out(slot, next(member.passes), first=True)

    def advance(self) -> list[tuple[Lesson, nn.Module]]:
        """Take steps until some training is done; returns each that is with its network."""
        done: list[tuple[Lesson, nn.Module]] = []
        while self.members and not done:
            self._take(min(member.left for member in self.members))
            # From the end: the last training takes the slot of one that is done.
            for slot in reversed(range(len(self.members))):
                member = self.members[slot]
                if not member.left and (network := self._next_epoch(slot)) is not None:
                    done.append((member.lesson, network))
                    self._free(slot)
        return done

    def clear(self) -> None:
        """Leave all trainings that have begun."""
        self.members.clear()
        for slot in range(self.stack.slots if self._desk is not None else 0):
            self.desk.clear(slot)

    def _take(self, n_steps: int) -> None:
        """Steps of every member."""
        desk, members = self.desk, len(self.members)
        width = self._width(members)
        inputs = desk.first(width).tensors()
        for _ in range(n_steps):
            if self.steps.serve is None:
                desk.serve(members, width)
            self.steps.take(*inputs)
        for member in self.members:
            member.left -= n_steps

    def _next_epoch(self, slot: int) -> nn.Module | None:
        """Lay out the next epoch of a training; its network where there is none."""
        member, watched = self.members[slot], self.recipe.early_stopping is not None
        if watched:
            self.stack.unload(slot, self.module)
        places = next(member.passes, None)
        if places is None:
            if not watched:
                self.stack.unload(slot, self.module)
            return deepcopy(self.module)
        self._lay_out(slot, places)
        return None

    def _free(self, slot: int) -> None:
        last = self.members.pop()
        if slot < len(self.members):
            self.members[slot] = last
            self.steps.move(len(self.members), slot)
            self.desk.move(len(self.members), slot)
        self.desk.clear(len(self.members))

    def _lay_out(self, slot: int, places: Tensor, *, first: bool = False) -> None:
        """The batches of an epoch, for the slot to read."""
        member = self.members[slot]
        lesson, dtype = member.lesson, dtype_of(self.module)
        parts = batches_of(len(places), self.recipe.batch_size)
        sizes = [part.stop - part.start for part in parts]
        places = places[: parts[-1].stop]
        ones = torch.ones(len(places), dtype=dtype, device=places.device)
        there = self._filled_up(ones, len(parts))
        weights = ones if lesson.weights is None else lesson.weights.index_select(0, places)
        epoch = Epoch(
            self._filled_up(places, len(parts)),
            self._filled_up(lesson.labels.index_select(0, places), len(parts)),
            self._filled_up(weights, len(parts)) / there.sum(1, keepdim=True),
            there,
            self._noises(member, sizes),
            sizes,
        )
        if self._desk is None:
            self._desk = desk = Desk(self.stack, epoch)
            if desk.forms_at_once:
                self.steps.serve, self.steps.beside = lambda width: desk.serve(width, width), (desk.next,)
        if first:
            self.desk.put_down(slot, lesson.samples.select(lesson.rows))
        if self.desk.capacity < len(parts):
            # Captured steps read what is about to be replaced.
            self.steps.forget()
        self.desk.lay_out(slot, epoch)
        member.left = len(parts)

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            raise RuntimeError("no training has begun")
        return self._desk

    def _filled_up(self, values: Tensor, n_batches: int) -> Tensor:
        """Values in the order of an epoch, one row for each batch, zeros behind the last."""
        size = int(self.recipe.batch_size or 0)
        whole = values.new_zeros((n_batches * size, *values.shape[1:]))
        whole[: len(values)] = values
        return whole.view(n_batches, size, *values.shape[1:])

    def _noises(self, member: _Member, sizes: list[int]) -> list[Tensor]:
        """What dropout keeps in each batch: the very samples that the training would keep alone."""
        device = self.steps.device
        with seeded(member.lesson.seed, device):
            if member.drawn is not None:
                set_random_state(device, member.drawn)
            noises = self._drawing(tuple(sizes))
            member.drawn = random_state(device)
        return noises

    def _width(self, members: int) -> int:
        """Slots to compute: on a GPU one of few numbers, each captured once."""
        if not self.steps.capture:
            return members
        return next((width for width in _WIDTHS if members <= width <= self.stack.slots), self.stack.slots)

    def _loss(self, *inputs: Tensor) -> Tensor:
        batches = Batches.of(inputs)
        scores: Tensor = self.stack(batches)
        losses = cross_entropy(scores.flatten(0, 1), batches.labels.flatten(0, 1), reduction="none")
        return losses @ batches.weights.flatten()

"""The one training loop for torch modules: data on the device, the step captured once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from gradapt.errors import InputError
from gradapt.learners.torch_samples import Samples
from gradapt.learners.torch_steps import OptimiserFactory, Steps
from gradapt.learners.torch_stopping import EarlyStopping, Stopper, loss_of

__all__ = ["Adam", "EarlyStopping", "OptimiserFactory", "Recipe", "Trainer", "seeded"]


@dataclass(frozen=True)
class Adam:
    """Factory of Adam optimisers, in one kernel and capturable on CUDA.

    >>> Adam(lr=0.01)([nn.Parameter(torch.zeros(1))]).defaults["lr"]
    0.01
    """

    lr: float = 1e-4
    weight_decay: float = 1e-4

    def __call__(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        parameters = list(parameters)
        on_cuda = bool(parameters) and parameters[0].is_cuda
        options: dict[str, Any] = {"fused": True, "capturable": True} if on_cuda else {}
        return torch.optim.Adam(parameters, lr=self.lr, weight_decay=self.weight_decay, **options)


@dataclass(frozen=True)
class Recipe:
    """How a module is trained.

    Attributes
    ----------
    epochs : int
    batch_size : int or None
        None: all samples at once.
    optimiser : callable
        From parameters to an optimiser; a new one for every training.
    early_stopping : EarlyStopping or None
    """

    epochs: int = 5
    batch_size: int | None = 128
    optimiser: OptimiserFactory = field(default_factory=Adam)
    early_stopping: EarlyStopping | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, got {self.epochs!r}")
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, or None for all samples, got {self.batch_size!r}")


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for a while and leave its random state as it was found."""
    devices = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


class Trainer:
    """Trains one module again and again, each time with a new optimiser.

    On CUDA the step (forward, backward, update) is captured as a graph for each batch
    size and replayed, so that launches do not dominate; the capture is kept between
    trainings, whose weights are loaded in place.

    Parameters
    ----------
    module : nn.Module
        Trained in place.
    recipe : Recipe
    capture : bool or None
        Whether to capture the step; None: on CUDA.
    """

    def __init__(self, module: nn.Module, recipe: Recipe, *, capture: bool | None = None) -> None:
        self.module = module
        self.recipe = recipe
        self.steps = Steps(module, self._loss, recipe.optimiser, capture=capture)
        self.device, self.capture = self.steps.device, self.steps.capture

    def train(
        self,
        samples: Samples,
        rows: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        seed: int = 0,
        epochs: int | None = None,
    ) -> int:
        """Train on some rows of the samples; returns the number of epochs.

        Parameters
        ----------
        samples : Samples
        rows : int tensor
            Which samples to train on.
        labels : tensor
            Class numbers, or class shares of shape (len(rows), K), in the order of ``rows``.
        weights : float tensor, optional
            In the order of ``rows``; scaled to mean 1.
        seed : int
            Decides the order of the batches and what dropout drops.
        epochs : int, optional
            Other than the recipe's.
        """
        self.steps.begin()
        if weights is not None:
            weights = weights * (len(weights) / weights.sum())
        n_epochs = self.recipe.epochs if epochs is None else epochs
        # Orders come from the CPU, so that they are the same on every device.
        order = torch.Generator().manual_seed(seed)
        with seeded(seed, self.device):
            stopper = Stopper.of(self.recipe.early_stopping, len(rows), order, self.device)
            for epoch in range(1, n_epochs + 1):
                self.module.train()
                self._epoch(samples, rows, labels, weights, stopper.shuffled(order))
                if stopper.should_stop(self.module, samples, rows, labels, weights):
                    return epoch
            stopper.restore(self.module)
        return n_epochs

    def _epoch(self, samples: Samples, rows: Tensor, labels: Tensor, weights: Tensor | None, places: Tensor) -> None:
        size = self.recipe.batch_size or len(places)
        places = places.to(self.device)
        chosen, targets = rows.index_select(0, places), labels.index_select(0, places)
        shares = None if weights is None else weights.index_select(0, places)
        for start in range(0, len(places), size):
            part = slice(start, start + size)
            if len(chosen[part]) == 1 and len(places) > 1:
                continue  # BatchNorm cannot learn from a single sample
            batch = samples.take(chosen[part])
            self.steps.take(batch, targets[part], None if shares is None else shares[part])

    def _loss(self, batch: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
        return loss_of(self.module(batch), labels, weights)

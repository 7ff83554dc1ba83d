"""The one training loop for torch modules: data on the device, the step captured once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
import torch
from torch import Tensor, nn

from driftfit.errors import InputError
from driftfit.models.networks.half_convolutions import with_half_convolutions
from driftfit.models.torch.adam import FusedAdam
from driftfit.models.torch.lessons import Lesson, batches_of
from driftfit.models.torch.mixup import mixed
from driftfit.models.torch.samples import Samples, dtype_of
from driftfit.models.torch.steps import Optimiser, OptimiserFactory, Steps
from driftfit.models.torch.stopping import EarlyStopping, loss_of
from driftfit.seeds import derive_seed

__all__ = ["Adam", "EarlyStopping", "OptimiserFactory", "Recipe", "Trainer", "seeded"]


@dataclass(frozen=True)
class Adam:
    """Factory of Adam optimisers, in one kernel and capturable on CUDA.

    >>> Adam(lr=0.01)([nn.Parameter(torch.zeros(1))]).defaults["lr"]
    0.01
    """

    lr: float = 1e-4
    weight_decay: float = 1e-4

    def __call__(self, parameters: Iterable[nn.Parameter]) -> Optimiser:
        parameters = list(parameters)
        if parameters and parameters[0].is_cuda:
            return FusedAdam(parameters, self.lr, self.weight_decay)
        return torch.optim.Adam(parameters, lr=self.lr, weight_decay=self.weight_decay)


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
    rho : float
        Radius of sharpness-aware minimisation (`Steps`); 0: plain steps.
    mixup : float or None
        Parameter of the Beta distribution by which each sample of a batch is mixed with another one, labels and
        all (Zhang et al. 2018), anew in each epoch; None: samples as they are.
    """

    epochs: int = 5
    batch_size: int | None = 128
    optimiser: OptimiserFactory = field(default_factory=Adam)
    early_stopping: EarlyStopping | None = None
    rho: float = 0.0
    mixup: float | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.rho) and self.rho >= 0):
            raise InputError(f"rho must be a finite number >= 0 (0: plain steps), got {self.rho!r}")
        if self.mixup is not None and not (isfinite(self.mixup) and self.mixup > 0):
            raise InputError(f"mixup must be a finite number > 0, or None for samples as they are, got {self.mixup!r}")
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
    n_classes : int, optional
        Columns of mixed labels; needed for mixup alone.
    """

    def __init__(
        self, module: nn.Module, recipe: Recipe, *, capture: bool | None = None, n_classes: int | None = None
    ) -> None:
        self.module = module
        self.network = with_half_convolutions(module)
        self.recipe = recipe
        self.steps = Steps(module, self._loss, recipe.optimiser, rho=recipe.rho, capture=capture)
        self.device, self.capture = self.steps.device, self.steps.capture
        self.n_classes = n_classes
        if recipe.mixup is not None and n_classes is None:
            raise InputError("mixup needs n_classes: mixed labels have a column for each class")

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
        return self.learn(
            Lesson(samples, rows, labels, weights, seed, self.recipe.epochs if epochs is None else epochs)
        )

    def learn(self, lesson: Lesson) -> int:
        """Train on a lesson; returns the number of epochs."""
        self.steps.begin()
        n_epochs = 0
        with seeded(lesson.seed, self.device):
            for places in lesson.passes(self.module, self.recipe.early_stopping):
                n_epochs += 1
                self.module.train()
                self._epoch(lesson, places, self._mixtures(len(places), derive_seed(lesson.seed, "mixup", n_epochs)))
        return n_epochs

    def _mixtures(self, n: int, seed: int) -> Tensor | None:
        """The share that each sample of an epoch keeps of itself; None where nothing is mixed."""
        if self.recipe.mixup is None:
            return None
        shares = np.random.default_rng(seed).beta(self.recipe.mixup, self.recipe.mixup, n)
        return torch.from_numpy(shares).to(self.device, dtype_of(self.module))

    def _epoch(self, lesson: Lesson, places: Tensor, mixtures: Tensor | None) -> None:
        chosen, targets = lesson.rows.index_select(0, places), lesson.labels.index_select(0, places)
        shares = None if lesson.weights is None else lesson.weights.index_select(0, places)
        for part in batches_of(len(places), self.recipe.batch_size):
            batch = lesson.samples.take(chosen[part]), targets[part], None if shares is None else shares[part]
            self.steps.take(*(batch if mixtures is None else mixed(*batch, mixtures[part], self.n_classes)))

    def _loss(self, batch: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
        return loss_of(self.network(batch), labels, weights)

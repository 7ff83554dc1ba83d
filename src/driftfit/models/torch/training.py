"""The one training loop for torch modules: recipes, mini-batches on the device, early stopping, mixup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from driftfit.errors import InputError
from driftfit.models.torch.samples import Samples, dtype_of
from driftfit.models.torch.steps import OptimiserFactory, Steps
from driftfit.progress import tell
from driftfit.seeds import derive_seed

# Held-out samples in one forward pass.
_HELD_PART = 2048


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
        if on_cuda:
            return torch.optim.Adam(parameters, self.lr, weight_decay=self.weight_decay, fused=True, capturable=True)
        return torch.optim.Adam(parameters, self.lr, weight_decay=self.weight_decay)


@dataclass(frozen=True)
class EarlyStopping:
    """Hold out a share of the training data; stop when its loss has not improved for a while.

    ``patience``: epochs without improvement before the best weights are put back. ``fraction``: share held out.
    """

    patience: int = 2
    fraction: float = 0.1


@dataclass(frozen=True)
class Recipe:
    """How a module is trained.

    ``batch_size``: None takes all samples at once. ``optimiser``: from parameters to an optimiser; a new one for every
    training. ``rho``: radius of sharpness-aware minimisation (`Steps`); 0: plain steps. ``mixup``: parameter of the
    Beta distribution by which each sample of a batch is mixed with another one, labels and all (Zhang et al. 2018),
    anew in each epoch; None: samples as they are.
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


class Trainer:
    """Trains one module again and again, each time with a new optimiser.

    ``module``: trained in place. ``capture``: whether to capture the step as a CUDA graph; None: on CUDA.
    ``n_classes``: columns of mixed labels; needed for mixup alone.
    """

    def __init__(
        self, module: nn.Module, recipe: Recipe, *, capture: bool | None = None, n_classes: int | None = None
    ) -> None:
        self.module, self.recipe, self.capture, self.n_classes = module, recipe, capture, n_classes
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

        ``rows``: which samples to train on. ``labels``: class numbers, or class shares of shape (len(rows), K), in the
        order of ``rows``. ``weights``: in the order of ``rows``; scaled to mean 1. ``seed``: decides the order of the
        batches and what dropout drops. ``epochs``: other than the recipe's.
        """
        if weights is not None:
            weights = weights * (len(weights) / weights.sum())
        steps = Steps(self.module, self._loss, self.recipe.optimiser, rho=self.recipe.rho, capture=self.capture)
        given = _Given(samples, rows, labels, weights)
        with seeded(seed, samples.device):
            # Orders come from the CPU, so that they are the same on every device.
            order = torch.Generator().manual_seed(seed)
            training, best = _held_out(self.recipe.early_stopping, given, order)
            n_epochs = self.recipe.epochs if epochs is None else epochs
            for epoch in range(1, n_epochs + 1):
                tell(f"training a network, epoch {epoch} of {n_epochs}")
                places = training[torch.randperm(len(training), generator=order)].to(samples.device)
                self.module.train()
                self._epoch(steps, given, places, self._mixtures(len(places), derive_seed(seed, "mixup", epoch)))
                if best is not None and best.is_past(self.module):
                    n_epochs = epoch
                    break
            if best is not None:
                best.restore(self.module)
        return n_epochs

    def _epoch(self, steps: Steps, given: _Given, places: Tensor, mixtures: Tensor | None) -> None:
        own = given.at(places)
        for part in _batches(len(places), self.recipe.batch_size):
            weights = None if own.weights is None else own.weights[part]
            batch = own.samples.take(own.rows[part]), own.labels[part], weights
            steps.take(*(batch if mixtures is None else mixed(*batch, mixtures[part], self.n_classes)))

    def _loss(self, batch: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
        return loss_of(self.module(batch), labels, weights)

    def _mixtures(self, n: int, seed: int) -> Tensor | None:
        """The share that each sample of an epoch keeps of itself; None where nothing is mixed."""
        if self.recipe.mixup is None:
            return None
        shares = np.random.default_rng(seed).beta(self.recipe.mixup, self.recipe.mixup, n)
        parameter = next(self.module.parameters())
        return torch.from_numpy(shares).to(parameter.device, dtype_of(self.module))


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for a while and leave its random state as it was found."""
    devices = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def loss_of(scores: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    """Cross-entropy of class numbers or class shares, weighed by weights of mean 1."""
    if weights is None:
        return cross_entropy(scores, labels)
    return (cross_entropy(scores, labels, reduction="none") * weights).mean()


def mixed(
    batch: Tensor, labels: Tensor, weights: Tensor | None, shares: Tensor, n_classes: int | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The batch mixed with itself, moved on by one place: it is in random order, so that is a random partner.

    ``weights``: a mixture weighs as much as its parts, and each label counts by its part of that. ``shares``: what each
    sample keeps of itself. ``n_classes``: columns for labels that are class numbers.

    >>> x, y = torch.tensor([[0.0], [4.0]]), torch.tensor([0, 1])
    >>> x, y, _ = mixed(x, y, None, torch.tensor([0.75, 0.5]), 2)
    >>> x.flatten().tolist(), y.tolist()
    ([1.0, 2.0], [[0.75, 0.25], [0.5, 0.5]])
    """
    wide = shares.reshape(-1, *[1] * (batch.ndim - 1))
    targets = labels if labels.ndim == 2 else one_hot(labels, -1 if n_classes is None else n_classes)
    targets = targets.to(shares.dtype)
    samples = torch.lerp(batch.roll(1, 0), batch, wide)
    own, other = shares, 1.0 - shares
    if weights is not None:
        own, other = own * weights, other * weights.roll(1, 0)
    total = own + other
    both = (own[:, None] * targets + other[:, None] * targets.roll(1, 0)) / total.clamp_min(1e-12)[:, None]
    return samples, both, None if weights is None else total


@dataclass(frozen=True, eq=False)
class _Given:
    """What a training sees; labels and weights in the order of the rows."""

    samples: Samples
    rows: Tensor
    labels: Tensor
    weights: Tensor | None

    def at(self, places: Tensor) -> _Given:
        weights = None if self.weights is None else self.weights.index_select(0, places)
        return _Given(self.samples, self.rows.index_select(0, places), self.labels.index_select(0, places), weights)


class _Best:
    """The best weights so far, by the loss on samples that are held out."""

    def __init__(self, held: _Given, patience: int) -> None:
        self.held, self.patience = held, patience
        self.loss, self.since = float("inf"), 0
        self.weights: dict[str, Tensor] | None = None

    @torch.no_grad()
    def is_past(self, module: nn.Module) -> bool:
        """Look at the module after an epoch; whether the best weights are too long ago."""
        module.eval()
        held, total = self.held, 0.0
        for part in torch.split(torch.arange(len(held.rows), device=held.rows.device), _HELD_PART):
            own = held.at(part)
            total += float(loss_of(module(own.samples.take(own.rows)), own.labels, own.weights)) * len(part)
        if total < self.loss:
            self.loss, self.since = total, 0
            self.weights = {name: value.clone() for name, value in module.state_dict().items()}
            return False
        self.since += 1
        return self.since >= self.patience

    def restore(self, module: nn.Module) -> None:
        if self.weights is not None:
            module.load_state_dict(self.weights)


def _held_out(rule: EarlyStopping | None, given: _Given, order: torch.Generator) -> tuple[Tensor, _Best | None]:
    """Places to train on, and what watches over the others, where some are held out."""
    n = len(given.rows)
    n_held = 0 if rule is None else int(n * rule.fraction)
    if rule is None or n_held < 1 or n - n_held < 2:
        return torch.arange(n), None
    places = torch.randperm(n, generator=order)
    return places[n_held:], _Best(given.at(places[:n_held].to(given.rows.device)), rule.patience)


def _batches(n: int, size: int | None) -> list[slice]:
    """Places of each batch among ``n`` samples; None: all at once.

    A batch of a single sample is left out, unless there is no other: normalisation layers cannot learn from it.

    >>> _batches(5, 2), _batches(1, 2)
    ([slice(0, 2, None), slice(2, 4, None)], [slice(0, 1, None)])
    """
    size = size or n
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    return [part for part in parts if part.stop - part.start > 1 or n == 1]

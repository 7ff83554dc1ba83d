"""`Lesson`: what one training sees, and in which order."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from driftfit.models.torch.samples import Samples
from driftfit.models.torch.stopping import EarlyStopping, Stopper

__all__ = ["Lesson", "batches_of"]


@dataclass(frozen=True, eq=False)
class Lesson:
    """Samples with their labels and the order they are seen in, whoever trains on them.

    Attributes
    ----------
    samples : Samples
    rows : int tensor
        Which samples to train on.
    labels : tensor
        Class numbers, or class shares of shape (len(rows), K), in the order of ``rows``.
    weights : float tensor or None
        In the order of ``rows``; scaled to mean 1.
    seed : int
        Decides the order of the batches and what dropout drops.
    epochs : int
    """

    samples: Samples
    rows: Tensor
    labels: Tensor
    weights: Tensor | None
    seed: int
    epochs: int

    def __post_init__(self) -> None:
        if self.weights is not None:
            scaled = self.weights * (len(self.weights) / self.weights.sum())
            object.__setattr__(self, "weights", scaled)

    def passes(self, module: nn.Module, rule: EarlyStopping | None) -> Generator[Tensor, None, int]:
        """The places of the rows in each epoch's order, until the last epoch or an early stop; returns their number.

        ``module`` must be what was trained, each time that the next epoch is asked for. A stop puts its best
        weights back.
        """
        # Orders come from the CPU, so that they are the same on every device.
        order = torch.Generator().manual_seed(self.seed)
        stopper = Stopper.of(rule, len(self.rows), order, self.samples.device)
        for epoch in range(1, self.epochs + 1):
            yield _sent(stopper.shuffled(order), self.samples.device)
            if stopper.should_stop(module, self.samples, self.rows, self.labels, self.weights):
                return epoch
        stopper.restore(module)
        return self.epochs


def _sent(values: Tensor, device: torch.device) -> Tensor:
    """The values on the device; on a GPU whatever was asked of it before may still be under way."""
    if device.type != "cuda":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)


def batches_of(n: int, size: int | None) -> list[slice]:
    """Places of each batch among ``n`` samples; None: all at once.

    A batch of a single sample is left out, unless there is no other: normalisation layers cannot learn from it.

    >>> batches_of(5, 2), batches_of(1, 2)
    ([slice(0, 2, None), slice(2, 4, None)], [slice(0, 1, None)])
    """
    size = size or n
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    return [part for part in parts if part.stop - part.start > 1 or n == 1]

"""Early stopping on a held-out share of the training data."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.models.torch.samples import Samples

__all__ = ["EarlyStopping", "Stopper", "loss_of"]


@dataclass(frozen=True)
class EarlyStopping:
    """Hold out a share of the training data; stop when its loss has not improved for a while.

    Attributes
    ----------
    patience : int
        Epochs without improvement before the best weights are put back.
    fraction : float
        Share held out.
    """

    patience: int = 2
    fraction: float = 0.1


def loss_of(scores: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    """Cross-entropy of class numbers or class shares, weighed by weights of mean 1."""
    if weights is None:
        return cross_entropy(scores, labels)
    return (cross_entropy(scores, labels, reduction="none") * weights).mean()


class Stopper:
    """Early stopping, or its absence."""

    def __init__(self, training: Tensor, held: Tensor | None, patience: int) -> None:
        self.training, self.held, self.patience = training, held, patience
        self.best_loss, self.since = float("inf"), 0
        self.best: dict[str, Tensor] | None = None

    @classmethod
    def of(cls, rule: EarlyStopping | None, n: int, order: torch.Generator, device: torch.device) -> Stopper:
        n_held = 0 if rule is None else int(n * rule.fraction)
        if rule is None or n_held < 1 or n - n_held < 2:
            return cls(torch.arange(n), None, 0)
        places = torch.randperm(n, generator=order)
        return cls(places[n_held:], places[:n_held].to(device), rule.patience)

    def shuffled(self, order: torch.Generator) -> Tensor:
        return self.training[torch.randperm(len(self.training), generator=order)]

    @torch.no_grad()
    def should_stop(
        self, module: nn.Module, samples: Samples, rows: Tensor, labels: Tensor, weights: Tensor | None
    ) -> bool:
        if self.held is None:
            return False
        module.eval()
        total = 0.0
        for part in torch.split(self.held, 2048):
            share = None if weights is None else weights[part]
            total += float(loss_of(module(samples.take(rows[part])), labels[part], share)) * len(part)
        if total < self.best_loss:
            self.best_loss, self.since = total, 0
            self.best = {name: value.clone() for name, value in module.state_dict().items()}
            return False
        self.since += 1
        if self.since < self.patience:
            return False
        self.restore(module)
        return True

    @torch.no_grad()
    def restore(self, module: nn.Module) -> None:
        if self.best is not None:
            for name, value in module.state_dict().items():
                value.copy_(self.best[name])

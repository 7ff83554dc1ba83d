"""Self-training on a device, step by step, with what is measured after each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from gradapt.learners.torch_samples import Samples, logits
from gradapt.learners.torch_training import Trainer
from gradapt.methods.baselines import PairedTrainer
from gradapt.paper.cells import Cell
from gradapt.paper.presets import Settings
from gradapt.seeds import derive_seed

__all__ = ["Judge", "Walk", "accuracy", "cell_seed", "load_weights", "self_train", "single_model"]


def cell_seed(cell: Cell) -> int:
    """The seed of a cell's own randomness, beyond what it shares with others."""
    return derive_seed(
        cell.seed, cell.method, cell.n_given, cell.n_generated, *([cell.variant] if cell.variant else [])
    )


def accuracy(guesses: Tensor, labels: Tensor) -> float:
    """In percent.

    >>> accuracy(torch.tensor([0, 1]), torch.tensor([0, 0]))
    50.0
    """
    return float((guesses == labels).double().mean()) * 100


def single_model(transductive: float | None, heldout: float | None) -> dict[str, Any]:
    """The result of a method with nothing to select from."""
    names = ("last", "selected", "label_selected")
    return {
        f"{side}_{name}": value
        for side, value in (("transductive", transductive), ("heldout", heldout))
        for name in names
    }


@torch.no_grad()
def load_weights(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy weights in place: captured training steps point to the module's own tensors."""
    for name, value in module.state_dict().items():
        value.copy_(weights[name])


def self_train(
    trainer: Trainer, samples: Samples, settings: Settings, seed: int, mass: Tensor | None = None
) -> dict[str, float]:
    """One step ``h' = ST(h, S)``: pseudo-label, drop the least confident, train on from the teacher."""
    scores = logits(trainer.module, samples)
    confidence = (scores.amax(1) - scores.amin(1)).double()
    threshold = torch.quantile(confidence, settings.drop_fraction)
    rows = torch.nonzero(confidence >= threshold).squeeze(1)
    labels = scores.argmax(1)[rows]
    epochs = 0
    # With one class left there is nothing to learn.
    if len(torch.unique(labels)) > 1:
        weights = None if mass is None else mass[rows].to(scores.dtype)
        epochs = trainer.train(samples, rows, labels, weights, seed=seed)
    return {"n_samples": len(samples), "kept": len(rows) / len(samples), "epochs": epochs}


@dataclass(frozen=True, eq=False)
class Judge:
    """The labelled data a model is measured on; no method sees their labels.

    Attributes
    ----------
    target : Samples
        The very samples that were adapted to.
    target_labels : int tensor
    heldout : Samples or None
        Fresh samples of the target.
    heldout_labels : int tensor or None
    """

    target: Samples
    target_labels: Tensor
    heldout: Samples | None
    heldout_labels: Tensor | None

    def measure(self, module: nn.Module) -> dict[str, float | None]:
        """Accuracies in percent, and a score that needs no labels.

        The score is the mutual information between sample and predicted class on the
        target: predictions should be sure one by one and varied as a whole.
        """
        scores = logits(module, self.target)
        shares = scores.double().softmax(1)
        whole = shares.mean(0)
        information = _entropy(whole) - _entropy(shares).mean()
        fresh: float | None = None
        if self.heldout is not None and self.heldout_labels is not None:
            fresh = accuracy(logits(module, self.heldout).argmax(1), self.heldout_labels)
        return {
            "transductive": accuracy(scores.argmax(1), self.target_labels),
            "heldout": fresh,
            "information": float(information),
        }


def _entropy(shares: Tensor) -> Tensor:
    return -(shares * shares.clamp(min=1e-12).log()).sum(-1)


@dataclass(eq=False)
class Walk:
    """A model led from domain to domain, measured after every step.

    Attributes
    ----------
    trainer : Trainer or PairedTrainer
        Holds the model, loaded with the weights to start from.
    settings : Settings
    judge : Judge
    seed : int
    steps : list of dict
        Measurements; the first is the model before any adaptation.
    """

    trainer: Trainer | PairedTrainer
    settings: Settings
    judge: Judge
    seed: int
    steps: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.steps.append(self.judge.measure(self.trainer.module))

    def step(self, samples: Samples, mass: Tensor | None = None) -> None:
        """Self-train on the next domain."""
        assert isinstance(self.trainer, Trainer)
        self._measured(self_train(self.trainer, samples, self.settings, self._next_seed(), mass))

    def paired_step(self, samples0: Samples, labels0: Tensor, samples1: Samples, epochs: int) -> None:
        """Train a baseline on a labelled and an unlabelled side."""
        assert isinstance(self.trainer, PairedTrainer)
        self.trainer.train(samples0, labels0, samples1, seed=self._next_seed(), epochs=epochs)
        self._measured({"n_samples": len(samples1), "epochs": epochs})

    def _next_seed(self) -> int:
        return derive_seed(self.seed, "refit", len(self.steps) - 1)

    def _measured(self, done: dict[str, float]) -> None:
        self.steps.append({**self.judge.measure(self.trainer.module), **done})

    def target_shares(self) -> Tensor:
        """Class probabilities of the model for the target, on the CPU."""
        return logits(self.trainer.module, self.judge.target).double().softmax(1).cpu()

    def result(self) -> dict[str, Any]:
        """Accuracies of the last, the label-free selected and the label-selected model, named so."""
        last = self.steps[-1]
        selected = max(self.steps, key=lambda step: step["information"])
        label_selected = max(self.steps, key=lambda step: step["transductive"])
        result: dict[str, Any] = {}
        for name, step in (("last", last), ("selected", selected), ("label_selected", label_selected)):
            result[f"transductive_{name}"] = step["transductive"]
            result[f"heldout_{name}"] = step["heldout"]
        result["transductive_before"] = self.steps[0]["transductive"]
        result["steps"] = self.steps
        return result

"""A torch module as a `Learner`."""

from __future__ import annotations

from collections import OrderedDict
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gradapt.errors import InputError
from gradapt.learners.torch_samples import Stored, as_tensor, dtype_of, encode, logits
from gradapt.learners.torch_training import Recipe, Trainer, seeded
from gradapt.networks import INPUT, split
from gradapt.seeds import derive_seed

__all__ = ["TorchLearner", "joined", "split_for_features"]


@dataclass(frozen=True, eq=False)
class TorchLearner:
    """A module with the recipe that trains it. Training returns a new learner.

    Attributes
    ----------
    build : callable
        From the shape of one sample and the number of classes to an untrained module.
    classes : array
    recipe, refit_recipe : Recipe
        For training from scratch and for going on from a teacher.
    device : torch.device
    seed : int
    encoder_layer : str
        Where `head` and `encode` cut the module.
    warm_start : bool
        Whether `refit` goes on from this learner's weights.
    owner : object
        The classifier this learner belongs to; its `estimator` is derived from it.
    module : nn.Module or None
        The trained module; None before training.
    step : int
        How often the module was refitted; gives each training its own random stream.
    """

    build: Any
    classes: NDArray[Any]
    recipe: Recipe
    refit_recipe: Recipe
    device: torch.device
    seed: int = 0
    encoder_layer: str = INPUT
    warm_start: bool = True
    owner: Any = None
    module: nn.Module | None = None
    step: int = 0

    takes_weights = True

    @property
    def estimator(self) -> Any:
        """The fitted classifier; before training, the one this learner came from."""
        if self.module is None:
            return self.owner
        return self.owner.with_module(self.trained, self.classes) if self.owner is not None else self.trained

    @property
    def trained(self) -> nn.Module:
        if self.module is None:
            raise InputError("this learner is not trained yet; call fit first")
        return self.module

    def fit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> TorchLearner:
        with seeded(derive_seed(self.seed, "weights"), torch.device("cpu")):
            module = self.build(tuple(samples.shape[1:]), len(self.classes)).to(self.device)
        x = as_tensor(samples, self.device, dtype_of(module))
        train(module, self.recipe, x, labels, weights, seed=derive_seed(self.seed, "fit"))
        return replace(self, module=module, step=0)

    def refit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> TorchLearner:
        if not self.warm_start:
            return replace(self.fit(samples, labels, weights), step=self.step + 1)
        module = deepcopy(self.trained)
        seed = derive_seed(self.seed, "refit", self.step)
        x = as_tensor(samples, self.device, dtype_of(module))
        train(module, self.refit_recipe, x, labels, weights, seed=seed)
        return replace(self, module=module, step=self.step + 1)

    def logits(self, samples: Any) -> NDArray[np.float64]:
        scores = logits(self.trained, self._stored(samples)).double().cpu().numpy()
        if not np.isfinite(scores).all():
            raise InputError("the network gave scores that are not finite; rescale the features or lower the step size")
        return np.asarray(scores)

    def encode(self, samples: Any) -> Any:
        if self._is_all_head():
            return samples if sp.issparse(samples) else np.asarray(samples)
        front, _ = split(self.trained, self.encoder_layer)
        return encode(front, self._stored(samples)).cpu().numpy()

    def head(self) -> TorchLearner:
        if self._is_all_head():
            return self
        _, back = split_for_features(self.trained, self.encoder_layer, self._sample_shape())
        return replace(self, module=back, encoder_layer=INPUT, owner=None, step=0)

    def with_head(self, head: TorchLearner) -> TorchLearner:
        if self._is_all_head():
            return replace(self, module=head.trained, step=head.step)
        module = joined(self.trained, self.encoder_layer, head.trained)
        return replace(self, module=module, step=head.step)

    def _is_all_head(self) -> bool:
        """Whether nothing is in front of the head, not even a flattening of images."""
        return self.encoder_layer == INPUT and len(self._sample_shape()) == 1

    def _stored(self, samples: Any) -> Stored:
        return Stored(as_tensor(samples, self.device, dtype_of(self.trained)))

    def _sample_shape(self) -> tuple[int, ...]:
        shape = getattr(self.trained, "sample_shape", None)
        if shape is None:
            raise InputError("the shape of the samples is unknown; train the learner with fit first")
        return tuple(shape)


def train(
    module: nn.Module,
    recipe: Recipe,
    samples: Tensor,
    labels: NDArray[Any],
    weights: NDArray[np.float64] | None,
    *,
    seed: int,
) -> int:
    """Train a module in place on all samples; returns the number of epochs."""
    codes = torch.as_tensor(np.ascontiguousarray(labels), device=samples.device)
    codes = codes.to(samples.dtype if codes.ndim == 2 else torch.int64)
    shares = None if weights is None else torch.as_tensor(weights, dtype=samples.dtype, device=samples.device)
    module.sample_shape = tuple(samples.shape[1:])  # type: ignore[assignment]
    rows = torch.arange(len(samples), device=samples.device)
    return Trainer(module, recipe).train(Stored(samples), rows, codes, shares, seed=seed)


def split_for_features(module: nn.Module, layer: str, sample_shape: tuple[int, ...]) -> tuple[nn.Module, nn.Module]:
    """Encoder and head, the head working on flattened features; the head has parameters of its own."""
    front, back = split(module, layer)
    parameter = next(module.parameters())
    with torch.no_grad():
        was_training = front.training
        probe = torch.zeros((1, *sample_shape), device=parameter.device, dtype=parameter.dtype)
        shape = tuple(front.eval()(probe).shape[1:])
        front.train(was_training)
    back = deepcopy(back)
    if len(shape) > 1:
        # Flattening is undone first, so that a head may begin with convolutions.
        back = nn.Sequential(OrderedDict(unflatten=nn.Unflatten(1, shape), head=back))
    back.sample_shape = (int(np.prod(shape)),)  # type: ignore[assignment]
    return front, back


def joined(module: nn.Module, layer: str, head: nn.Module) -> nn.Module:
    """A copy of the module whose head has the weights of ``head``; encoder weights stay."""
    whole = deepcopy(module)
    _, back = split(whole, layer)
    inner = head.get_submodule("head") if isinstance(getattr(head, "unflatten", None), nn.Unflatten) else head
    with torch.no_grad():
        for name, value in back.state_dict().items():
            value.copy_(inner.state_dict()[name])
    return whole

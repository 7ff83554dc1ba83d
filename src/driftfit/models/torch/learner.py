"""A torch module as a `Learner`."""

from __future__ import annotations

from collections import OrderedDict
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from driftfit.errors import InputError
from driftfit.models.networks import AUTO, INPUT, last_hidden_layer, split
from driftfit.models.torch.samples import Stored, as_rows, as_tensor, dtype_of, encode, formed, logits
from driftfit.models.torch.training import Recipe, Trainer, seeded
from driftfit.seeds import derive_seed


@dataclass(frozen=True, eq=False)
class TorchLearner:
    """A module with the recipe that trains it. Training returns a new learner.

    ``build``: from the shape of one sample and the number of classes to an untrained module. ``recipe`` and
    ``refit_recipe``: for training from scratch and for going on from a teacher. ``encoder_layer``: where `head` and
    `encode` cut the module (``"auto"``: nowhere, or see `cut_by_itself`). ``owner``: the classifier this
    learner belongs to; its `estimator` is derived from it. ``module``: the trained module; None before training.
    ``step``: how often the module was refitted; gives each training its own random stream. ``new_head``: a head that
    stands in for the module's own behind the encoder.
    """

    build: Any
    classes: NDArray[Any]
    recipe: Recipe
    refit_recipe: Recipe
    device: torch.device
    seed: int = 0
    encoder_layer: str = INPUT
    owner: Any = None
    module: nn.Module | None = None
    step: int = 0
    new_head: TorchLearner | None = None

    takes_weights = True

    @property
    def layer(self) -> str:
        """Where the module is cut."""
        return INPUT if self.encoder_layer == AUTO else self.encoder_layer

    def cut_by_itself(self) -> TorchLearner:
        """The same, cut in front of its last layer with weights where nobody said where."""
        layer = last_hidden_layer(self._body) if self.encoder_layer == AUTO else INPUT
        return self if layer == INPUT else replace(self, encoder_layer=layer)

    @property
    def estimator(self) -> Any:
        """The fitted classifier; before training, the one this learner came from."""
        if self.module is None:
            return self.owner
        return self.owner.with_module(self.trained, self.classes) if self.owner is not None else self.trained

    @cached_property
    def trained(self) -> nn.Module:
        """The trained module, encoder and head in one."""
        if self.new_head is None:
            return self._body
        return joined(self._body, self.layer, self.new_head.trained)

    def fit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> TorchLearner:
        with seeded(derive_seed(self.seed, "weights"), torch.device("cpu")):
            module = self.build(tuple(samples.shape[1:]), len(self.classes)).to(self.device)
        module.sample_shape = tuple(samples.shape[1:])
        trained = self._trained_copy(module, self.recipe, "fit", samples, labels, weights)
        return replace(self, module=trained, step=0, new_head=None)

    def fit_mixed(
        self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, alpha: float
    ) -> TorchLearner:
        """Train from scratch with mixup, mixtures drawn anew in each epoch; the recipe itself stays as it is."""
        mixing = replace(self, recipe=replace(self.recipe, mixup=alpha))
        return replace(mixing.fit(samples, labels, weights), recipe=self.recipe)

    def refit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> TorchLearner:
        trained = self._trained_copy(self.trained, self.refit_recipe, "refit", samples, labels, weights)
        return replace(self, module=trained, step=self.step + 1, new_head=None)

    def logits(self, samples: Any) -> NDArray[np.float64]:
        scores = logits(self.trained, as_rows(samples, self.device, dtype_of(self.trained))).double().cpu().numpy()
        if not np.isfinite(scores).all():
            raise InputError("the network gave scores that are not finite; rescale the features or lower the step size")
        return np.asarray(scores)

    def place(self, samples: Any) -> Any:
        """On the device, and formed where they lie on a geodesic and there is room for them."""
        rows = formed(as_rows(samples, self.device, dtype_of(self.trained)))
        return rows.values if isinstance(rows, Stored) else rows

    def encode(self, samples: Any) -> Tensor:
        """Features that the head works on, one row per sample, as a tensor on the learner's device."""
        if self._is_all_head():
            return as_tensor(samples, self.device, dtype_of(self._body))
        front, _ = split(self._body, self.layer)
        return encode(front, as_rows(samples, self.device, dtype_of(self._body)))

    def head(self) -> TorchLearner:
        if self.new_head is not None:
            return self.new_head
        if self._is_all_head():
            return self
        _, back = split_for_features(self._body, self.layer, self._sample_shape())
        return replace(self, module=back, encoder_layer=INPUT, owner=None, step=0)

    def with_head(self, head: TorchLearner) -> TorchLearner:
        if self._is_all_head():
            return replace(self, module=head.trained, step=head.step)
        return replace(self, new_head=head, step=head.step)

    @property
    def _body(self) -> nn.Module:
        if self.module is None:
            raise InputError("this learner is not trained yet; call fit first")
        return self.module

    def _trained_copy(
        self, module: nn.Module, recipe: Recipe, purpose: str, samples: Any, labels: Any, weights: Any
    ) -> nn.Module:
        """A copy of the module, trained on."""
        rows = formed(as_rows(samples, self.device, dtype_of(module)))
        codes = torch.as_tensor(np.ascontiguousarray(labels), device=self.device)
        codes = codes.to(dtype_of(module) if codes.ndim == 2 else torch.int64)
        shares = None if weights is None else torch.as_tensor(weights, dtype=dtype_of(module), device=self.device)
        seed = derive_seed(self.seed, "fit") if purpose == "fit" else derive_seed(self.seed, "refit", self.step)
        everything = torch.arange(len(rows), device=self.device)
        trainer = Trainer(deepcopy(module), recipe, n_classes=len(self.classes))
        trainer.train(rows, everything, codes, shares, seed=seed)
        return trainer.module

    def _is_all_head(self) -> bool:
        """Whether nothing is in front of the head, not even a flattening of images."""
        return self.layer == INPUT and len(self._sample_shape()) == 1

    def _sample_shape(self) -> tuple[int, ...]:
        shape = getattr(self._body, "sample_shape", None)
        if shape is None:
            raise InputError("the shape of the samples is unknown; train the learner with fit first")
        return tuple(shape)


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
